# SPDX-License-Identifier: Apache-2.0
"""`python -m endpoint.agent.proto.generate`: makes the committed stubs of `agent.proto`.

grpcio-tools wants another protobuf runtime than the one this project is bound to, so it never
becomes a dependency: it is installed into an environment that is thrown away. Stubs of versions
1.49 to 1.62 load under protobuf 3.20.3; later ones do not.
"""

import hashlib
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

REQUIREMENTS = ("grpcio-tools==1.62.3", "setuptools<80")  # the tools import pkg_resources
FOLDER = Path(__file__).parent
SOURCE = FOLDER / "agent.proto"
DIGEST = FOLDER / "agent.sha256"
_LICENSE = "# SPDX-License-Identifier: Apache-2.0\n"


def digest() -> str:
    """SHA-256 of the protocol's source, in hexadecimal."""
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()


def generate() -> None:
    """Writes the stubs and the digest of their source. Raises CalledProcessError.

    Needs a Python that grpcio-tools 1.62 has wheels for: 3.11 or 3.12.
    """
    root = FOLDER.parents[2]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = f"{folder}/bin/python"
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *REQUIREMENTS], check=True)
        subprocess.run(
            [
                python, "-m", "grpc_tools.protoc", "-I.",
                "--python_out=.", "--pyi_out=.", "--grpc_python_out=.",
                str(SOURCE.relative_to(root)),
            ],
            check=True,
            cwd=root,
        )  # fmt: skip
    for stub in FOLDER.glob("agent_pb2*.py*"):
        text = stub.read_text(encoding="utf-8")
        stub.write_text(_LICENSE + text.removeprefix(_LICENSE), encoding="utf-8")
    DIGEST.write_text(digest() + "\n", encoding="ascii")


if __name__ == "__main__":
    try:
        generate()
    except subprocess.CalledProcessError as error:
        sys.exit(f"make proto: {error}")
