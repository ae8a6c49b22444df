# SPDX-License-Identifier: Apache-2.0
"""Proves that values survive the way over the wire, that values and protocol have the same fields,
and that the committed stubs are those of the committed protocol."""

from dataclasses import fields

import pytest

from endpoint.agent import values
from endpoint.agent.convert import event_message, event_value, from_message, to_message
from endpoint.agent.proto import agent_pb2
from endpoint.agent.proto.generate import DIGEST, digest
from endpoint.events import (
    Completion,
    EvChanged,
    PortChanged,
    QpChanged,
    WorkOpcode,
    WorkStatus,
)

CAPABILITIES = values.Capabilities(1 << 30, 16, True, False, 2)
EXAMPLES = [
    values.AgentInfo("h1", 0, bytes(range(16)), 77, "tiny", 2, 4096, 5423, 1 << 62, "0.1.0"),
    values.Region(1, 1 << 63, 0xFFFFFFFF, 0, True, None),
    values.Region(1, 0, 1, 4096, False, "/dev/shm/x"),
    values.QpOptions(),
    values.QpOptions(first_psn=0, trimmable=False, congestion="window", loss_free_ns=0, timeout=20),
    CAPABILITIES,
    values.QpInfo(16, 0xFFFFFF, 3, bytes(16), 256, 8, CAPABILITIES),
    values.WriteWork(1 << 63, 1, 0, 5, 1 << 60, 7, None),
    values.WriteWork(1, 1, 0, 5, 1, 7, 0),
    values.QpStatistics(
        16, "rts", "", {"data_sent": 3, "zero": 0}, 1, 2, 3, 4, 5,
        values.Placement(9, 1, 8, (values.Gap(3, 2), values.Gap(6, 1))),
    ),
    values.PortStatistics(1, 1, 2, 3, 4, {"ENOBUFS": 4}, {}, 5, 6),
    values.Statistics(5, {"frames_sent": 1}, (), (values.PortStatistics(0),)),
    values.EvStatus(0xC0000001, 1, 2, "assumed_bad", False, 3, 4),
    values.PortStatus(0, "eth0", True, 9000, 10**11, 0, 2),
    values.ExerciseRequest(
        values.ExerciseKind.STREAM, (values.ExerciseLane(16, 1, 2, 3, 1 << 40, 5),), 0, 128, 9, 2
    ),
    values.ExerciseResult("", (1, 1, 1 << 60), (2, 3, 1 << 61), 1, 1 << 61, 3),
    Completion(16, 3, WorkOpcode.RECV_WRITE_IMM, WorkStatus.SUCCESS, 4, 0, 7),
    Completion(16, 3, WorkOpcode.WRITE, WorkStatus.RETRY_EXCEEDED, 0, None, 7),
]  # fmt: skip
EVENTS = [
    EvChanged(1, 16, 0xC0000001, 1, "good", "assumed_bad", "lost"),
    PortChanged(2, 1, False, True, bytes(16)),
    QpChanged(3, 16, "rts", "error", "retry exceeded"),
    values.FramesDropped(4, 1, "eth1", "socket", 12),
]


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: type(value).__name__)
def test_a_value_survives_the_wire(value: object) -> None:
    kind = getattr(agent_pb2, type(value).__name__)
    message = kind.FromString(to_message(value, kind).SerializeToString())
    assert from_message(message, type(value)) == value


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_survives_the_wire(event: values.AgentEvent) -> None:
    wire = event_message(event).SerializeToString()
    assert event_value(agent_pb2.Event.FromString(wire)) == event


@pytest.mark.parametrize("value", EXAMPLES + EVENTS, ids=lambda value: type(value).__name__)
def test_value_and_message_have_the_same_fields(value: object) -> None:
    descriptor = getattr(agent_pb2, type(value).__name__).DESCRIPTOR
    assert [item.name for item in descriptor.fields] == [item.name for item in fields(value)]  # type: ignore[arg-type]


def test_an_event_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        event_value(agent_pb2.Event())


def test_the_stubs_are_of_this_protocol() -> None:
    assert DIGEST.read_text(encoding="ascii").strip() == digest(), "run `make proto`"
