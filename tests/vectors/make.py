# SPDX-License-Identifier: Apache-2.0
"""Write the golden packets: python tests/vectors/make.py"""

from vector_files import HERE, files

if __name__ == "__main__":
    for name, contents in files():
        (HERE / name).write_bytes(contents)
        print(f"{len(contents):8} {name}")
