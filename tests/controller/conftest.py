# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the installation tests: switches of a small fabric behind P4Runtime servers."""

import contextlib

import pytest
from install_support import Installation, compiled_pipeline

from topologies import load


@pytest.fixture(scope="session")
def pipeline():
    """The compiled MRC program."""
    return compiled_pipeline()


@pytest.fixture(scope="session")
def fabric():
    return load("tiny")


@pytest.fixture
def installation(fabric, pipeline):
    """A switch without a program for every switch of the fabric, each with a server of its own."""
    with contextlib.ExitStack() as stack:
        yield Installation(fabric, pipeline, stack)
