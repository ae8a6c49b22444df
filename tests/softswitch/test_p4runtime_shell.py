# SPDX-License-Identifier: Apache-2.0
"""p4runtime-shell's own client drives the service, from handshake to error details."""

import pytest
from google.protobuf import text_format
from p4.v1 import p4runtime_pb2 as p4
from p4runtime_sh.context import Context, P4RuntimeEntity
from p4runtime_sh.p4runtime import P4RuntimeClient, P4RuntimeException, P4RuntimeWriteException
from p4runtime_support import DEVICE_ID, IDS, P4INFO, PROGRAMS, insert, modify, table_entry


@pytest.fixture
def connect(address):
    """Opens clients with an election id; all are torn down, their threads with them."""
    clients = []

    def open_client(election_id):
        client = P4RuntimeClient(DEVICE_ID, address, (0, election_id))
        clients.append(client)
        return client

    yield open_client
    for client in clients:
        client.tear_down()
        client.stream_recv_thread.join(5)
        assert not client.stream_recv_thread.is_alive()


@pytest.fixture
def client(connect):
    """The primary, with the program pushed."""
    client = connect(1)
    client.set_fwd_pipe_config(
        str(PROGRAMS / "p4runtime_objects.p4info.txt"), str(PROGRAMS / "p4runtime_objects.json")
    )
    return client


def read(client, message):
    found = []
    for response in client.read_one(insert(message).entity):
        found += response.entities
    return [getattr(entity, entity.WhichOneof("entity")) for entity in found]


def test_client_reads_the_version_and_the_pushed_p4info(client):
    assert client.api_version() == "1.4.1"
    assert text_format.MessageToString(client.get_p4info()) == text_format.MessageToString(P4INFO)
    context = Context()
    context.set_p4info(client.get_p4info())
    assert context.get_table_id("exact_match") == IDS["exact_match"]
    assert P4RuntimeEntity.table_entry.name == insert(p4.TableEntry()).entity.WhichOneof("entity")


def test_entry_is_written_and_read_back(client):
    entry = table_entry("exact_match", b"\x01", action="counted_forward", params=[b"\x02"])
    client.write_update(insert(entry))
    assert read(client, p4.TableEntry(table_id=entry.table_id)) == [entry]


def test_counters_are_written_and_read_back(client):
    counter = p4.CounterEntry(counter_id=IDS["seen"], data=p4.CounterData(packet_count=3))
    client.write_update(modify(counter))
    assert [c.data.packet_count for c in read(client, counter)] == [3] * 8


def test_client_reads_each_error_of_a_batch(client):
    twice = insert(table_entry("longest_prefix", None, action="drop"))
    client.write_update(twice)
    bad = insert(table_entry("exact_match", b"", action="drop"))
    # No update of the batch may succeed: this client never gets past an error with code OK.
    with pytest.raises(P4RuntimeWriteException) as failed:
        client.write(p4.WriteRequest(updates=[bad, twice]))
    assert [index for index, _ in failed.value.errors] == [0, 1]
    assert "At index 0: INVALID_ARGUMENT, 'table TestIngress.exact_match" in str(failed.value)
    assert "At index 1: ALREADY_EXISTS" in str(failed.value)


def test_backup_is_told_and_cannot_push(connect, client, capsys):
    backup = connect(0)
    assert "You are not the primary client" in capsys.readouterr().out
    with pytest.raises(P4RuntimeException, match="PERMISSION_DENIED"):
        backup.set_fwd_pipe_config(
            str(PROGRAMS / "p4runtime_objects.p4info.txt"),
            str(PROGRAMS / "p4runtime_objects.json"),
        )
