# SPDX-License-Identifier: Apache-2.0
"""The image's scripts find a Python 3.11 to 3.13 and mend a base image, or end with one line."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "docker"

OLD, NEW, TOO_NEW = (3, 8, 10), (3, 12, 3), (3, 14, 0)


class Image:
    """A PATH with stand-ins for an image's programs; each call of one is a line in `calls`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "calls"
        self._log.touch()

    def put(self, name: str, shell: str = ":") -> None:
        program = self.folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >>{self._log}\n{shell}\n')
        program.chmod(0o755)

    def put_python(self, name: str, version: tuple[int, int, int]) -> None:
        """A Python that takes itself for this version."""
        start = f"import sys; sys.version_info = {version}; exec(sys.argv[1])"
        self.put(name, f'exec {sys.executable} -c "{start}" "$2"')

    def link(self, *names: str) -> None:
        """Programs of this machine."""
        for name in names:
            (self.folder / name).symlink_to(str(shutil.which(name)))

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(SCRIPTS / script)],
            env={"PATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def installed(self) -> list[str]:
        """Packages that apt-get was asked for."""
        lines = [line for line in self._log.read_text().splitlines() if "apt-get install" in line]
        assert all("--no-install-recommends" in line for line in lines)
        return [word for line in lines for word in line.split()[2:] if not word.startswith("-")]


@pytest.fixture
def image(tmp_path) -> Image:
    return Image(tmp_path)


# -- find-python.sh -----------------------------------------------------------------------------


def test_a_python_that_the_image_has_is_taken(image):
    image.put_python("python3", NEW)
    assert image.run("find-python.sh").stdout == f"{image.folder}/python3\n"
    assert image.installed == []


@pytest.mark.parametrize("version", [OLD, (3, 10, 12), TOO_NEW])
def test_one_of_another_version_is_not(image, version):
    image.put_python("python3", version)
    done = image.run("find-python.sh")
    assert (done.returncode, done.stdout) == (1, "")


def test_one_that_cannot_make_environments_is_not(image):
    image.put("python3.12", "exit 1")
    image.put_python("python3", NEW)
    assert image.run("find-python.sh").stdout == f"{image.folder}/python3\n"


def test_one_that_the_distribution_packages_is_installed(image):
    image.put_python("python3", OLD)
    image.put("apt-cache", '[ "$2 $3" = "python3.11 python3.11-venv" ]')
    image.put_python("later", (3, 11, 0))
    image.put("apt-get", f"PATH=/bin:/usr/bin; cp {image.folder}/later {image.folder}/python3.11")
    assert image.run("find-python.sh").stdout == f"{image.folder}/python3.11\n"
    assert image.installed == ["python3.11", "python3.11-venv"]


def test_uv_is_asked_where_nothing_is_packaged(image):
    image.put_python("python3", OLD)
    image.put("apt-cache", "exit 1")
    image.put_python("uv-python", NEW)
    image.put("uv", f'[ "$2" = find ] && echo {image.folder}/uv-python || echo downloading')
    assert image.run("find-python.sh").stdout == f"{image.folder}/uv-python\n"


def test_no_python_to_be_had_is_said_in_one_line(image):
    image.put("apt-cache", "exit 1")
    done = image.run("find-python.sh")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "no Python 3.11 to 3.13" in done.stderr and "(BASE)" in done.stderr


# -- mend-base.sh -------------------------------------------------------------------------------

PROGRAMS = ("p4c-bm2-ss", "simple_switch_grpc", "simple_switch_CLI")
MISSING = """
    case $1 in */p4c-bm2-ss) printf '\\tlibboost_iostreams.so.1.71.0 => not found\\n' ;; esac
    printf '\\tlibboost_program_options.so.1.71.0 => not found\\n'
    printf '\\tlibc.so.6 => /lib/libc.so.6 (0x1)\\n'"""


@pytest.fixture
def base(image) -> Image:
    """A base image in which all runs."""
    for program in PROGRAMS:
        image.put(program)
    image.put("ldd")
    image.put("apt-get")
    image.link("sed", "sort", "tr")
    return image


def test_a_good_base_needs_the_preprocessor_and_python_only(base):
    assert base.run("mend-base.sh").returncode == 0
    assert base.installed == ["cpp", "python3", "python3-six"]


def test_missing_boost_libraries_are_installed_by_their_names(base):
    base.put("ldd", MISSING)
    assert base.run("mend-base.sh").returncode == 0
    assert base.installed[:2] == ["libboost-iostreams1.71.0", "libboost-program-options1.71.0"]


def test_a_static_p4c_does_not_hide_what_bmv2_lacks(base):
    base.put("ldd", f"case $1 in */p4c-bm2-ss) exit 1 ;; esac\n{MISSING}")
    assert base.run("mend-base.sh").returncode == 0
    assert base.installed[0] == "libboost-program-options1.71.0"


def test_thrift_is_installed_where_the_command_line_of_bmv2_does_not_run_without(base):
    base.put("simple_switch_CLI", f"[ -e {base.folder}/thrift ]")
    base.put("apt-get", f'case $* in *python3-thrift) : >"{base.folder}/thrift" ;; esac')
    assert base.run("mend-base.sh").returncode == 0
    assert base.installed[-1] == "python3-thrift"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_is_missing_or_does_not_run_is_named(base, program):
    base.put(program, "exit 127")
    broken = base.run("mend-base.sh")
    assert broken.returncode == 1
    assert f"base image: {program} does not run" in broken.stderr.splitlines()
    (base.folder / program).unlink()
    missing = base.run("mend-base.sh")
    assert missing.returncode == 1
    assert f"base image: it has no {program}" in missing.stderr.splitlines()
