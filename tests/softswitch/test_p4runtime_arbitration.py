# SPDX-License-Identifier: Apache-2.0
"""Arbitration elects, notifies and refuses controllers as the P4Runtime specification says."""

import grpc
import pytest
from google.rpc import code_pb2
from p4.v1 import p4runtime_pb2

from softswitch.p4rt.arbitration import Arbitration
from softswitch.p4rt.errors import RpcError

DEVICE = 7


class Recorder:
    """A controller that keeps (status code, election id or None) of every notification."""

    def __init__(self):
        self.told = []

    def send(self, message):
        update = message.arbitration
        assert update.device_id == DEVICE
        number = update.election_id.high << 64 | update.election_id.low
        known = update.HasField("election_id")
        self.told.append((code_pb2.Code.Name(update.status.code), number if known else None))


def claim(arbitration, controller, election_id, role=""):
    update = p4runtime_pb2.MasterArbitrationUpdate(device_id=DEVICE)
    if election_id is not None:
        update.election_id.high = election_id >> 64
        update.election_id.low = election_id & (1 << 64) - 1
    if role:
        update.role.name = role
    arbitration.update(controller, update)


@pytest.fixture
def arbitration():
    return Arbitration(DEVICE)


def test_first_controller_becomes_primary_and_lower_ones_backups(arbitration):
    first, second = Recorder(), Recorder()
    claim(arbitration, first, 5)
    claim(arbitration, second, 4)
    assert first.told == [("OK", 5)]
    assert second.told == [("ALREADY_EXISTS", 5)]


def test_higher_election_id_takes_over_and_all_are_told(arbitration):
    first, second, third = Recorder(), Recorder(), Recorder()
    claim(arbitration, first, 5)
    claim(arbitration, second, 4)
    claim(arbitration, third, 1 << 70)
    assert first.told[-1] == second.told[-1] == ("ALREADY_EXISTS", 1 << 70)
    assert third.told == [("OK", 1 << 70)]
    arbitration.require_primary("", 1 << 70)
    with pytest.raises(RpcError) as refused:
        arbitration.require_primary("", 5)
    assert refused.value.code == grpc.StatusCode.PERMISSION_DENIED


def test_no_backup_is_promoted_when_the_primary_leaves(arbitration):
    first, second = Recorder(), Recorder()
    claim(arbitration, first, 5)
    claim(arbitration, second, 4)
    arbitration.remove(first)
    assert second.told[-1] == ("NOT_FOUND", 5)
    with pytest.raises(RpcError, match="no primary"):
        arbitration.require_primary("", 4)


def test_after_the_primary_left_its_election_id_is_enough(arbitration):
    first, second = Recorder(), Recorder()
    claim(arbitration, first, 5)
    arbitration.remove(first)
    claim(arbitration, second, 4)
    assert second.told == [("NOT_FOUND", 5)]
    claim(arbitration, second, 5)
    assert second.told[-1] == ("OK", 5)


def test_primary_that_lowers_its_election_id_becomes_backup(arbitration):
    first, second = Recorder(), Recorder()
    claim(arbitration, first, 5)
    claim(arbitration, second, 4)
    claim(arbitration, first, 3)
    assert first.told[-1] == second.told[-1] == ("NOT_FOUND", 5)


def test_unset_election_id_never_leads_but_zero_may(arbitration):
    observer, zero = Recorder(), Recorder()
    claim(arbitration, observer, None)
    assert observer.told == [("NOT_FOUND", None)]
    claim(arbitration, zero, 0)
    assert zero.told == [("OK", 0)]
    assert observer.told[-1] == ("ALREADY_EXISTS", 0)


def test_election_id_of_a_live_controller_is_refused(arbitration):
    first, second = Recorder(), Recorder()
    claim(arbitration, first, 5)
    with pytest.raises(RpcError, match="5 is already used") as refused:
        claim(arbitration, second, 5)
    assert refused.value.code == grpc.StatusCode.INVALID_ARGUMENT
    claim(arbitration, first, 5)  # its own id is no conflict
    assert first.told == [("OK", 5), ("OK", 5)]


def test_roles_elect_independently(arbitration):
    all_access, monitor = Recorder(), Recorder()
    claim(arbitration, all_access, 9)
    claim(arbitration, monitor, 1, role="monitor")
    assert monitor.told == [("OK", 1)]
    arbitration.require_primary("monitor", 1)
    arbitration.require_primary("", 9)
    with pytest.raises(RpcError) as refused:
        arbitration.require_primary("nobody", 1)
    assert refused.value.code == grpc.StatusCode.NOT_FOUND


def test_stream_keeps_its_role(arbitration):
    controller = Recorder()
    claim(arbitration, controller, 1, role="a")
    with pytest.raises(RpcError) as refused:
        claim(arbitration, controller, 1, role="b")
    assert refused.value.code == grpc.StatusCode.FAILED_PRECONDITION


def test_role_configuration_is_refused(arbitration):
    update = p4runtime_pb2.MasterArbitrationUpdate(device_id=DEVICE)
    update.role.name = "a"
    update.role.config.type_url = "type.example/scheme"
    with pytest.raises(RpcError, match="role configurations") as refused:
        arbitration.update(Recorder(), update)
    assert refused.value.code == grpc.StatusCode.INVALID_ARGUMENT


def test_write_without_election_id_is_denied(arbitration):
    claim(arbitration, Recorder(), 0)
    with pytest.raises(RpcError) as refused:
        arbitration.require_primary("", None)
    assert refused.value.code == grpc.StatusCode.PERMISSION_DENIED
