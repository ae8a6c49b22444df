#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Print the path of a Python 3.11 to 3.13 that can make virtual environments. Taken in this order:
# what the image has, what its distribution packages (Ubuntu 22.04: 3.11; 24.04: 3.12; Debian 12:
# 3.11; Debian 13: 3.13), what uv installs, where the image has uv (Ubuntu 20.04 packages none).
set -eu

suits() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
        2>/dev/null
}

found() {
    for name in python3.12 python3.11 python3.13 python3; do
        if path=$(command -v "$name") && suits "$path"; then
            echo "$path"
            return 0
        fi
    done
    return 1
}

packaged() {
    for version in 3.12 3.11 3.13; do
        # venv and ensurepip are in a package of their own.
        if apt-cache show "python$version" "python$version-venv" >/dev/null 2>&1; then
            apt-get install -y -qq --no-install-recommends \
                "python$version" "python$version-venv" >/dev/null
            found && return 0
        fi
    done
    return 1
}

with_uv() {
    command -v uv >/dev/null || return 1
    export UV_PYTHON_INSTALL_DIR=/opt/python
    uv python install 3.12 >&2
    path=$(uv python find --no-project 3.12) && suits "$path" && echo "$path"
}

found || packaged || with_uv || {
    . /etc/os-release
    echo "no Python 3.11 to 3.13 in this image, and none packaged for ${PRETTY_NAME:-it}:" \
        "choose another base image (BASE)" >&2
    exit 1
}
