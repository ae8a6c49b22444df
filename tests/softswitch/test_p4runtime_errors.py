# SPDX-License-Identifier: Apache-2.0
"""Bad reads and writes get the canonical code of the specification, and change nothing."""

import grpc
import pytest
from p4.v1 import p4runtime_pb2 as p4
from p4.v1.p4data_pb2 import P4Data
from p4runtime_support import (
    IDS,
    BareClient,
    delete,
    insert,
    modify,
    objects_config,
    refusals,
    table_entry,
)


def entry(**fields):
    result = table_entry("exact_match", b"\x01", action="counted_forward", params=[b"\x02"])
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def with_part(part, message):
    """`message` with an empty sub-message set."""
    getattr(message, part).SetInParent()
    return message


def default(table, action=None, params=()):
    result = table_entry(table, action=action, params=params)
    result.is_default_action = True
    return result


def indexed(message, index):
    message.index.index = index
    return message


def masked(*matches, priority=1):
    return table_entry("masked", *matches, action="drop", priority=priority)


PORT = b"\x01"
CASES = {
    "unknown table": (insert(p4.TableEntry(table_id=1)), "NOT_FOUND", "no table with id 1"),
    "unknown action": (
        insert(table_entry("longest_prefix", None, action="paced")),
        "INVALID_ARGUMENT",
        "has no action with id",
    ),
    "no action": (insert(table_entry("exact_match", b"\1")), "INVALID_ARGUMENT", "needs an action"),
    "default-only action in an entry": (
        insert(table_entry("exact_match", b"\1", action="NoAction")),
        "PERMISSION_DENIED",
        "cannot be an entry's action",
    ),
    "table-only action as default": (
        modify(default("exact_match", action="drop")),
        "PERMISSION_DENIED",
        "cannot be the default action",
    ),
    "key too wide": (
        insert(table_entry("exact_match", b"\1" + bytes(6), action="drop")),
        "OUT_OF_RANGE",
        "field dst: bytestring 0x01000000000000 does not fit in 48 bits",
    ),
    "empty key": (
        insert(table_entry("exact_match", b"", action="drop")),
        "INVALID_ARGUMENT",
        "field dst: bytestring is empty",
    ),
    "missing exact key": (
        insert(table_entry("exact_match", None, action="drop")),
        "INVALID_ARGUMENT",
        "cannot be left out",
    ),
    "unknown field": (
        insert(table_entry("exact_match", b"\1", b"\2", action="drop")),
        "INVALID_ARGUMENT",
        "no match field with id 2",
    ),
    "wrong match kind": (
        insert(table_entry("exact_match", ("lpm", b"\0", 8), action="drop")),
        "INVALID_ARGUMENT",
        "takes exact, got lpm",
    ),
    "parameter too wide": (
        insert(table_entry("exact_match", b"\1", action="counted_forward", params=[b"\2\0"])),
        "OUT_OF_RANGE",
        "parameter port: bytestring 0x0200 does not fit in 9 bits",
    ),
    "missing parameter": (
        insert(table_entry("exact_match", b"\1", action="counted_forward")),
        "INVALID_ARGUMENT",
        "parameter port is missing",
    ),
    "extra parameter": (
        insert(table_entry("exact_match", b"\1", action="counted_forward", params=[b"\1", b"\1"])),
        "INVALID_ARGUMENT",
        "no parameter with id 2",
    ),
    "bits beyond the prefix": (
        insert(table_entry("longest_prefix", ("lpm", b"\x01", 8), action="drop")),
        "INVALID_ARGUMENT",
        "bits beyond its prefix",
    ),
    "prefix of length zero": (
        insert(table_entry("longest_prefix", ("lpm", b"\0", 0), action="drop")),
        "INVALID_ARGUMENT",
        "don't-care",
    ),
    "prefix too long": (
        insert(table_entry("longest_prefix", ("lpm", b"\0", 49), action="drop")),
        "INVALID_ARGUMENT",
        "outside 1..48",
    ),
    "zero mask": (
        insert(masked(("ternary", b"\0", b"\0"), PORT)),
        "INVALID_ARGUMENT",
        "don't-care",
    ),
    "value outside its mask": (
        insert(masked(("ternary", b"\3", b"\2"), PORT)),
        "INVALID_ARGUMENT",
        "bits outside its mask",
    ),
    "empty range": (
        insert(masked(None, PORT, ("range", b"\2", b"\1"))),
        "INVALID_ARGUMENT",
        "range 2..1 is empty",
    ),
    "full range": (
        insert(masked(None, PORT, ("range", b"\0", b"\xff" * 6))),
        "INVALID_ARGUMENT",
        "don't-care",
    ),
    "no priority": (
        insert(masked(None, PORT, priority=0)),
        "INVALID_ARGUMENT",
        "need a priority",
    ),
    "priority in an exact table": (insert(entry(priority=1)), "INVALID_ARGUMENT", "no priority"),
    "constant entry": (insert(entry(is_const=True)), "INVALID_ARGUMENT", "made constant"),
    "idle timeout": (insert(entry(idle_timeout_ns=1)), "INVALID_ARGUMENT", "idle timeouts"),
    "direct counter without one": (
        insert(with_part("counter_data", table_entry("longest_prefix", None, action="drop"))),
        "INVALID_ARGUMENT",
        "has no direct counter",
    ),
    "direct meter without one": (
        insert(with_part("meter_config", entry())),
        "INVALID_ARGUMENT",
        "has no direct meter",
    ),
    "modify what is not there": (modify(entry()), "NOT_FOUND", "no entry"),
    "delete what is not there": (delete(entry()), "NOT_FOUND", "no entry"),
    "insert into a constant table": (
        insert(table_entry("fixed", b"\1", action="forward", params=[b"\1"])),
        "PERMISSION_DENIED",
        "constant",
    ),
    "delete from a constant table": (
        delete(table_entry("fixed", b"\x08\0")),
        "PERMISSION_DENIED",
        "constant",
    ),
    "modify in a constant table": (
        modify(table_entry("fixed", b"\x08\0", action="forward", params=[b"\1"])),
        "PERMISSION_DENIED",
        "constant",
    ),
    "constant default": (
        modify(default("longest_prefix", "forward", [b"\1"])),
        "PERMISSION_DENIED",
        "the default entry is constant",
    ),
    "insert a default": (insert(default("masked", "drop")), "INVALID_ARGUMENT", "MODIFY only"),
    "delete a default": (delete(default("masked")), "INVALID_ARGUMENT", "MODIFY only"),
    "default with a key": (
        modify(entry(is_default_action=True)),
        "INVALID_ARGUMENT",
        "neither match fields",
    ),
    "unknown counter": (modify(p4.CounterEntry(counter_id=1)), "NOT_FOUND", "no counter"),
    "insert a counter": (
        insert(p4.CounterEntry(counter_id=IDS["seen"])),
        "INVALID_ARGUMENT",
        "MODIFY only, got INSERT",
    ),
    "counter index too high": (
        modify(indexed(p4.CounterEntry(counter_id=IDS["seen"]), 8)),
        "OUT_OF_RANGE",
        "index 8 is outside 0..7",
    ),
    "negative counter index": (
        modify(indexed(p4.CounterEntry(counter_id=IDS["seen"]), -1)),
        "INVALID_ARGUMENT",
        "negative",
    ),
    "negative counter value": (
        modify(p4.CounterEntry(counter_id=IDS["seen"], data=p4.CounterData(packet_count=-1))),
        "INVALID_ARGUMENT",
        "cannot be negative",
    ),
    "unknown register": (modify(p4.RegisterEntry(register_id=1)), "NOT_FOUND", "no register"),
    "register value too wide": (
        modify(p4.RegisterEntry(register_id=IDS["cells"], data=P4Data(bitstring=b"\x10\0"))),
        "OUT_OF_RANGE",
        "does not fit in 12 bits",
    ),
    "register value of another type": (
        modify(p4.RegisterEntry(register_id=IDS["cells"], data=P4Data(bool=True))),
        "INVALID_ARGUMENT",
        "takes a bitstring, got bool",
    ),
    "delete a register": (
        delete(p4.RegisterEntry(register_id=IDS["cells"])),
        "INVALID_ARGUMENT",
        "MODIFY only, got DELETE",
    ),
    "falling meter rates": (
        modify(p4.MeterEntry(meter_id=IDS["shaper"], config=p4.MeterConfig(cir=2, pir=1))),
        "INVALID_ARGUMENT",
        "above the peak rate",
    ),
    "meter counters by color": (
        modify(p4.MeterEntry(meter_id=IDS["shaper"], counter_data=p4.MeterCounterData())),
        "UNIMPLEMENTED",
        "counters by color",
    ),
    "direct counter of no entry": (
        modify(p4.DirectCounterEntry(table_entry=table_entry("exact_match", b"\x01"))),
        "NOT_FOUND",
        "no entry",
    ),
    "no entity": (p4.Update(type=p4.Update.INSERT), "INVALID_ARGUMENT", "has no entity"),
    "no type": (p4.Update(entity=insert(entry()).entity), "INVALID_ARGUMENT", "type of the update"),
    "multicast group": (
        insert(p4.PacketReplicationEngineEntry(multicast_group_entry=p4.MulticastGroupEntry())),
        "UNIMPLEMENTED",
        "packet_replication_engine_entry",
    ),
}


def state(client):
    return client.read(p4.TableEntry(), p4.CounterEntry(), p4.RegisterEntry(), p4.MeterEntry())


@pytest.mark.parametrize(("update", "code", "message"), CASES.values(), ids=CASES)
def test_refused_update_says_why_and_changes_nothing(primary, update, code, message):
    before = state(primary)
    with pytest.raises(grpc.RpcError) as failed:
        primary.write(update)
    ((found, text),) = refusals(failed.value)
    assert found == code
    assert message in text
    assert state(primary) == before


def test_second_insert_of_a_key_already_exists(primary):
    primary.write(insert(entry()))
    with pytest.raises(grpc.RpcError) as failed:
        primary.write(insert(entry()))
    assert refusals(failed.value)[0][0] == "ALREADY_EXISTS"


def test_full_table_exhausts_its_resource_and_the_rest_of_the_batch_is_done(primary):
    batch = [insert(table_entry("exact_match", bytes([i]), action="drop")) for i in range(6)]
    batch.append(insert(table_entry("longest_prefix", None, action="drop")))
    with pytest.raises(grpc.RpcError) as failed:
        primary.write(*batch)
    codes = [code for code, _ in refusals(failed.value)]
    assert codes == ["OK"] * 4 + ["RESOURCE_EXHAUSTED"] * 2 + ["OK"]
    assert "2 of 7 failed" in failed.value.details()
    assert len(primary.read(p4.TableEntry(table_id=IDS["exact_match"]))) == 4
    assert len(primary.read(p4.TableEntry(table_id=IDS["longest_prefix"]))) == 1


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (p4.TableEntry(table_id=1), "NOT_FOUND"),
        (table_entry("exact_match", b"\x01"), "NOT_FOUND"),
        (table_entry("exact_match", b""), "INVALID_ARGUMENT"),
        (indexed(p4.CounterEntry(counter_id=IDS["seen"]), 8), "OUT_OF_RANGE"),
        (p4.RegisterEntry(register_id=1), "NOT_FOUND"),
        (p4.DirectCounterEntry(table_entry=table_entry("fixed")), "INVALID_ARGUMENT"),
        (p4.ActionProfileMember(action_profile_id=1), "NOT_FOUND"),
        (p4.ExternEntry(), "UNIMPLEMENTED"),
    ],
)
def test_bad_request_of_a_read_is_named_and_the_others_are_answered(primary, request_, code):
    request = p4.ReadRequest(device_id=primary.device_id)
    for item in (p4.RegisterEntry(), request_):
        request.entities.add().CopyFrom(insert(item).entity)
    found = []
    with pytest.raises(grpc.RpcError) as failed:
        for response in primary.stub.Read(request, timeout=5):
            found += response.entities
    assert [c for c, _ in refusals(failed.value)] == ["OK", code]
    assert len(found) == 4


@pytest.mark.parametrize("atomicity", ["ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"])
def test_atomic_batches_are_not_offered(primary, atomicity):
    with pytest.raises(grpc.RpcError) as failed:
        primary.write(insert(entry()), atomicity=p4.WriteRequest.Atomicity.Value(atomicity))
    assert failed.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert primary.read(p4.TableEntry(table_id=IDS["exact_match"])) == []


def test_another_device_is_not_found(primary):
    primary.device_id = 8
    for call in (
        lambda: primary.write(insert(entry())),
        lambda: primary.read(p4.TableEntry()),
        lambda: primary.push(objects_config()),
        lambda: primary.stub.GetForwardingPipelineConfig(
            p4.GetForwardingPipelineConfigRequest(device_id=8)
        ),
    ):
        with pytest.raises(grpc.RpcError) as failed:
            call()
        assert failed.value.code() == grpc.StatusCode.NOT_FOUND


def test_reads_and_writes_need_a_pipeline(address):
    with BareClient(address) as client:
        client.arbitrate()
        for call in (lambda: client.write(insert(entry())), lambda: client.read(p4.TableEntry())):
            with pytest.raises(grpc.RpcError) as failed:
                call()
            assert failed.value.code() == grpc.StatusCode.FAILED_PRECONDITION


def test_only_the_primary_writes_and_everyone_reads(primary, address):
    with BareClient(address, election_id=0) as backup:
        assert backup.arbitrate() == ("ALREADY_EXISTS", 1)
        for call in (lambda: backup.write(insert(entry())), lambda: backup.push(objects_config())):
            with pytest.raises(grpc.RpcError) as failed:
                call()
            assert failed.value.code() == grpc.StatusCode.PERMISSION_DENIED
        assert backup.read(p4.TableEntry(table_id=IDS["exact_match"])) == []


def test_write_without_a_stream_is_denied(address):
    with BareClient(address) as client:
        with pytest.raises(grpc.RpcError) as failed:
            client.push(objects_config())
        assert failed.value.code() == grpc.StatusCode.PERMISSION_DENIED
