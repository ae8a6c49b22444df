# SPDX-License-Identifier: Apache-2.0
"""The stream of a controller: arbitration over gRPC, errors on the stream, its end, its limit."""

import grpc
import pytest
from p4.v1 import p4runtime_pb2 as p4
from p4runtime_support import BareClient, insert, objects_config, table_entry

from softswitch.server import STREAMS_PER_DEVICE, P4RuntimeServer, ServerError


def end_of(client):
    """Code and details with which the server ends the stream."""
    with pytest.raises(grpc.RpcError) as failed:
        while True:
            client.receive()
    client._stream = None
    return failed.value.code(), failed.value.details()


def test_capabilities_name_the_version_of_the_api(address):
    with BareClient(address) as client:
        response = client.stub.Capabilities(p4.CapabilitiesRequest(), timeout=5)
    assert response.p4runtime_api_version == "1.4.1"


def test_takeover_is_told_to_both_and_the_old_primary_is_cut_off(address):
    entry = table_entry("longest_prefix", None, action="drop")
    with BareClient(address, 1) as old, BareClient(address, 2) as new:
        assert old.arbitrate() == ("OK", 1)
        old.push(objects_config())
        assert new.arbitrate() == ("OK", 2)
        assert old.notification() == ("ALREADY_EXISTS", 2)
        with pytest.raises(grpc.RpcError) as failed:
            old.write(insert(entry))
        assert failed.value.code() == grpc.StatusCode.PERMISSION_DENIED
        new.write(insert(entry))


def test_backup_hears_that_the_primary_is_gone_and_takes_over(address):
    with BareClient(address, 1) as backup, BareClient(address, 2) as primary:
        primary.arbitrate()
        assert backup.arbitrate() == ("ALREADY_EXISTS", 2)
        primary.hang_up()
        assert backup.notification() == ("NOT_FOUND", 2)
        backup.election_id = 2
        assert backup.arbitrate() == ("OK", 2)


def test_cancelled_stream_frees_its_election_id(address):
    with BareClient(address, 1) as first:
        first.arbitrate()
        with BareClient(address, None) as observer:
            observer.arbitrate()
            first._stream.cancel()
            first._stream = None
            assert observer.notification() == ("NOT_FOUND", 1)
            with BareClient(address, 1) as second:
                assert second.arbitrate() == ("OK", 1)


def test_election_id_of_a_live_controller_ends_the_stream(address):
    with BareClient(address, 1) as first, BareClient(address, 1) as second:
        first.arbitrate()
        second.send(p4.StreamMessageRequest(arbitration=second.sign(p4.MasterArbitrationUpdate())))
        code, details = end_of(second)
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert "already used" in details
        first.push(objects_config())


def test_unknown_device_ends_the_stream(address):
    with BareClient(address, device_id=99) as client:
        client.send(p4.StreamMessageRequest(arbitration=client.sign(p4.MasterArbitrationUpdate())))
        assert end_of(client) == (grpc.StatusCode.NOT_FOUND, "no device with id 99")


def test_stream_cannot_change_its_device(address):
    with BareClient(address) as client:
        client.arbitrate()
        client.device_id = 8
        client.send(p4.StreamMessageRequest(arbitration=client.sign(p4.MasterArbitrationUpdate())))
        assert end_of(client)[0] == grpc.StatusCode.FAILED_PRECONDITION


def test_role_has_a_primary_of_its_own(address):
    with BareClient(address, 5) as default, BareClient(address, 1) as watcher:
        default.arbitrate()
        watcher.role = "watcher"
        assert watcher.arbitrate() == ("OK", 1)
        watcher.push(objects_config())
        watcher.role = "nobody"
        with pytest.raises(grpc.RpcError) as failed:
            watcher.push(objects_config())
        assert failed.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("election_id", "request_", "code", "detail"),
    [
        (1, p4.StreamMessageRequest(packet=p4.PacketOut(payload=b"x")), 12, "packet_out"),
        (0, p4.StreamMessageRequest(packet=p4.PacketOut(payload=b"x")), 7, "packet_out"),
        (
            1,
            p4.StreamMessageRequest(digest_ack=p4.DigestListAck(digest_id=3)),
            3,
            "digest_list_ack",
        ),
        (1, p4.StreamMessageRequest(), 3, None),
    ],
)
def test_other_messages_get_an_error_and_the_stream_goes_on(
    address, election_id, request_, code, detail
):
    with BareClient(address, 1) as primary, BareClient(address, election_id) as client:
        if election_id != 1:
            primary.arbitrate()
        client.arbitrate()
        client.send(request_)
        error = client.receive().error
        assert error.canonical_code == code
        assert error.WhichOneof("details") == detail
        assert client.arbitrate()[0] in ("OK", "ALREADY_EXISTS")


def test_streams_beyond_the_limit_are_refused_and_calls_still_served(address):
    clients = [BareClient(address, number) for number in range(STREAMS_PER_DEVICE)]
    try:
        for client in clients:
            client.arbitrate()
        with BareClient(address, 1000) as extra:
            extra.send(p4.StreamMessageRequest())
            assert end_of(extra)[0] == grpc.StatusCode.RESOURCE_EXHAUSTED
            extra.stub.Capabilities(p4.CapabilitiesRequest(), timeout=5)
    finally:
        for client in clients:
            client.__exit__()


def test_stopping_server_ends_open_streams(device):
    server = P4RuntimeServer("127.0.0.1:0", [device])
    server.start()
    with BareClient(server.address) as client:
        client.arbitrate()
        server.stop(grace_s=0)
        assert end_of(client)[0] in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


def test_port_in_use_is_refused(address):
    with pytest.raises(ServerError, match=address):
        P4RuntimeServer(address, [])
