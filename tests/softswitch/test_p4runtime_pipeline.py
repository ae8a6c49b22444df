# SPDX-License-Identifier: Apache-2.0
"""Pushing, saving, reconciling and reading back the forwarding pipeline config."""

import json
import random

import grpc
import pytest
from p4.v1 import p4runtime_pb2 as p4
from p4.v1.p4data_pb2 import P4Data
from p4runtime_support import (
    IDS,
    BareClient,
    SetPipeline,
    insert,
    modify,
    objects_config,
    table_entry,
)

from softswitch.p4rt.device import Device
from softswitch.server import P4RuntimeServer
from softswitch.switch import Switch

Get = p4.GetForwardingPipelineConfigRequest
ENTRY = table_entry("exact_match", b"\x01", action="counted_forward", params=[b"\x02"])
ANY = p4.TableEntry(table_id=IDS["exact_match"])


@pytest.fixture
def client(address):
    """A primary controller of a device without a pipeline."""
    with BareClient(address) as client:
        client.arbitrate()
        yield client


def config_of(client, response_type=Get.ALL):
    request = Get(device_id=client.device_id, response_type=response_type)
    return client.stub.GetForwardingPipelineConfig(request, timeout=5)


def without_table_size(config):
    """The same program with one table half as large: another digest, other limits."""
    program = json.loads(config.p4_device_config)
    for pipeline in program["pipelines"]:
        for table in pipeline["tables"]:
            if table["name"] == "TestIngress.exact_match":
                table["max_size"] = 2
    config.p4_device_config = json.dumps(program).encode()
    config.cookie.cookie = 0x5678
    return config


def code_of(failed):
    return failed.value.code()


def test_device_without_a_pipeline_answers_without_a_config(client):
    assert not config_of(client).HasField("config")


def test_pushed_config_reads_back_whole(client):
    client.push(objects_config())
    assert config_of(client).config == objects_config()


@pytest.mark.parametrize(
    ("response_type", "fields"),
    [
        (Get.COOKIE_ONLY, {"cookie"}),
        (Get.P4INFO_AND_COOKIE, {"p4info", "cookie"}),
        (Get.DEVICE_CONFIG_AND_COOKIE, {"p4_device_config", "cookie"}),
    ],
)
def test_response_type_selects_the_fields(client, response_type, fields):
    client.push(objects_config())
    config = config_of(client, response_type).config
    assert {field.name for field, _ in config.ListFields()} == fields
    assert config.cookie.cookie == 0x1234


def test_verify_changes_nothing(client, device):
    client.push(objects_config(), SetPipeline.VERIFY)
    assert not config_of(client).HasField("config")
    assert device.switch is None


def test_second_commit_empties_the_tables(client):
    client.push(objects_config())
    client.write(insert(ENTRY))
    client.push(objects_config())
    assert client.read(ANY) == []


def test_reconcile_of_the_same_program_keeps_switch_and_state(client, device):
    client.push(objects_config())
    noted = table_entry("longest_prefix", None, action="drop")
    noted.metadata = b"note"
    client.write(insert(ENTRY), insert(noted))
    switch = device.switch
    client.push(objects_config(cookie=9), SetPipeline.RECONCILE_AND_COMMIT)
    assert device.switch is switch
    assert client.read(ANY) == [ENTRY]
    assert client.read(p4.TableEntry(table_id=noted.table_id)) == [noted]
    assert config_of(client).config.cookie.cookie == 9


def test_reconcile_of_another_program_carries_entries_counters_and_registers(client, device):
    client.push(objects_config())
    register = p4.RegisterEntry(register_id=IDS["cells"], data=P4Data(bitstring=b"\x07"))
    register.index.index = 3
    counter = p4.CounterEntry(counter_id=IDS["seen"], data=p4.CounterData(packet_count=4))
    counter.index.index = 1
    default = table_entry("masked", action="drop")
    default.is_default_action = True
    client.write(insert(ENTRY), modify(register), modify(counter), modify(default))
    switch = device.switch
    client.push(without_table_size(objects_config()), SetPipeline.RECONCILE_AND_COMMIT)
    assert device.switch is not switch
    assert client.read(ANY) == [ENTRY]
    assert client.read(register) == [register]
    assert client.read(counter) == [counter]
    asked = p4.TableEntry(table_id=IDS["masked"], is_default_action=True)
    assert client.read(asked) == [default]


def test_reconcile_fails_whole_when_the_state_does_not_fit(client, device):
    client.push(objects_config())
    entries = [table_entry("exact_match", bytes([i]), action="drop") for i in range(3)]
    client.write(*map(insert, entries))
    switch = device.switch
    with pytest.raises(grpc.RpcError, match="cannot be kept") as failed:
        client.push(without_table_size(objects_config()), SetPipeline.RECONCILE_AND_COMMIT)
    assert code_of(failed) == grpc.StatusCode.INVALID_ARGUMENT
    assert device.switch is switch
    assert client.read(ANY) == entries
    assert config_of(client).config.cookie.cookie == 0x1234


def test_reconcile_without_a_pipeline_commits(client):
    client.push(objects_config(), SetPipeline.RECONCILE_AND_COMMIT)
    assert client.read(ANY) == []


def test_saved_config_takes_writes_but_forwards_only_when_committed(client, device):
    client.push(objects_config())
    client.write(insert(ENTRY))
    forwarding = device.switch
    client.push(without_table_size(objects_config()), SetPipeline.VERIFY_AND_SAVE)
    assert client.read(ANY) == []
    other = table_entry("exact_match", b"\x09", action="drop")
    client.write(insert(other))
    assert device.switch is forwarding
    assert len(forwarding.tables["TestIngress.exact_match"]) == 1
    client.push(action=SetPipeline.COMMIT)
    assert device.switch is not forwarding
    assert client.read(ANY) == [other]


def test_commit_needs_a_saved_config_and_takes_none(client):
    with pytest.raises(grpc.RpcError) as failed:
        client.push(action=SetPipeline.COMMIT)
    assert code_of(failed) == grpc.StatusCode.NOT_FOUND
    with pytest.raises(grpc.RpcError) as failed:
        client.push(objects_config(), action=SetPipeline.COMMIT)
    assert code_of(failed) == grpc.StatusCode.INVALID_ARGUMENT


def broken(**changes):
    config = objects_config()
    for name, value in changes.items():
        setattr(config, name, value)
    return config


def other_p4info(change):
    config = objects_config()
    change(config.p4info)
    return config


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        (None, "INVALID_ARGUMENT", "needs a config"),
        (broken(p4_device_config=b""), "INVALID_ARGUMENT", "no p4_device_config"),
        (broken(p4_device_config=b"{"), "INVALID_ARGUMENT", "p4_device_config"),
        (
            other_p4info(lambda p: setattr(p.tables[0].preamble, "name", "In.other")),
            "INVALID_ARGUMENT",
            "In.other",
        ),
        (
            other_p4info(lambda p: setattr(p.tables[0].match_fields[0], "bitwidth", 47)),
            "INVALID_ARGUMENT",
            "match fields",
        ),
        (
            other_p4info(lambda p: setattr(p.counters[0], "size", 9)),
            "INVALID_ARGUMENT",
            "differ in size",
        ),
        (
            other_p4info(lambda p: p.digests.add().preamble.MergeFrom(p.tables[0].preamble)),
            "UNIMPLEMENTED",
            "digest",
        ),
    ],
)
def test_config_that_cannot_be_realised_is_refused_and_the_old_one_stays(
    client, config, code, message
):
    client.push(objects_config())
    client.write(insert(ENTRY))
    with pytest.raises(grpc.RpcError) as failed:
        client.push(config)
    assert code_of(failed).name == code
    assert message in failed.value.details()
    assert client.read(ANY) == [ENTRY]


def test_unset_action_is_refused(client):
    with pytest.raises(grpc.RpcError) as failed:
        client.push(objects_config(), SetPipeline.UNSPECIFIED)
    assert code_of(failed) == grpc.StatusCode.INVALID_ARGUMENT


def test_data_plane_is_handed_each_switch_that_takes_over():
    handed = []
    device = Device(7, lambda p: Switch(p, rng=random.Random(1)), on_commit=handed.append)
    with P4RuntimeServer("127.0.0.1:0", [device]) as server, BareClient(server.address) as client:
        client.arbitrate()
        client.push(objects_config())
        client.push(objects_config(), SetPipeline.RECONCILE_AND_COMMIT)
        client.push(objects_config())
    assert len(handed) == 2
    assert handed[-1] is device.switch
