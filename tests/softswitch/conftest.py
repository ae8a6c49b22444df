# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the P4Runtime tests: a server with one device, and its primary controller."""

import pytest
from p4runtime_support import BareClient, make_device, objects_config

from softswitch.server import P4RuntimeServer


@pytest.fixture
def device():
    """A device without a pipeline."""
    return make_device()


@pytest.fixture
def address(device):
    """Where the server of `device` listens."""
    with P4RuntimeServer("127.0.0.1:0", [device]) as server:
        yield server.address


@pytest.fixture
def primary(address):
    """The primary controller, with the program of `p4runtime_objects.p4` pushed."""
    with BareClient(address) as client:
        assert client.arbitrate() == ("OK", 1)
        client.push(objects_config())
        yield client
