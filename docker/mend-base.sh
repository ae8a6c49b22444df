#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make p4c and BMv2 of the base image run. Its build removes packages behind itself, and took what
# they need with them in some releases: Python 3 (p4c issue 2438), a Boost library (p4c issue 5593).
# Ends with one line for the first program that still does not run.
set -eu

PROGRAMS="p4c-bm2-ss simple_switch_grpc simple_switch_CLI"

install() {
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

fail() {
    echo "base image: $*" >&2
    exit 1
}

# libboost_iostreams.so.1.74.0 is in the package libboost-iostreams1.74.0.
boost_packages() {
    for program in p4c-bm2-ss simple_switch_grpc; do
        # A static program has none, and ldd fails on it: the other one is still to be looked at.
        ldd "$(command -v "$program")" 2>/dev/null || true
    done | sed -n 's/^[[:space:]]*libboost_\([a-z_]*\)\.so\.\([0-9.]*\) => not found$/libboost-\1\2/p' |
        tr _ - | sort -u
}

for program in $PROGRAMS; do
    command -v "$program" >/dev/null || fail "it has no $program"
done

packages=$(boost_packages)
# shellcheck disable=SC2086 # a list of packages
[ -z "$packages" ] || install $packages

# p4c calls the C preprocessor; BMv2's command line is in Python (thrift needs six).
install cpp python3 python3-six
simple_switch_CLI --help >/dev/null 2>&1 || install python3-thrift

p4c-bm2-ss --version >&2 || fail "p4c-bm2-ss does not run"
simple_switch_grpc --version >&2 || fail "simple_switch_grpc does not run"
simple_switch_CLI --help >/dev/null || fail "simple_switch_CLI does not run"
