# SPDX-License-Identifier: Apache-2.0
"""Values to protobuf messages and back, by field name.

Runs in threads of the control service and in clients, never where packets pass: the protobuf
runtime may be pure Python.
"""

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from google.protobuf.message import Message

from endpoint.agent.proto import agent_pb2
from endpoint.agent.values import AgentEvent, FramesDropped
from endpoint.events import EvChanged, PortChanged, QpChanged

Value = TypeVar("Value")
Wire = TypeVar("Wire", bound=Message)

_EVENTS: dict[str, type] = {
    "ev": EvChanged,
    "port": PortChanged,
    "qp": QpChanged,
    "dropped": FramesDropped,
}
_EVENT_NAMES = {kind: name for name, kind in _EVENTS.items()}


def to_message(value: Any, message_type: type[Wire]) -> Wire:
    """The message with the fields of a dataclass value; those that are None stay unset."""
    return message_type(**_plain(value))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        plain = ((item.name, getattr(value, item.name)) for item in fields(value))
        return {name: _plain(part) for name, part in plain if part is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def from_message(message: Message, kind: type[Value]) -> Value:
    """The dataclass value with the fields of a message. ValueError for an unknown enum name."""
    return kind(
        **{
            name: _read(message, name, expected)
            for name, expected in _hints(cast(type, kind)).items()
        }
    )


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {item.name: hints[item.name] for item in fields(kind)}


def _read(message: Message, name: str, expected: Any) -> Any:
    if isinstance(expected, UnionType):  # X | None, the only unions in values
        if not message.HasField(name):
            return None
        expected = get_args(expected)[0]
    value = getattr(message, name)
    origin = get_origin(expected)
    if origin is tuple:
        part = get_args(expected)[0]
        return tuple(_take(item, part) for item in value)
    if origin is dict:
        return dict(value)
    return _take(value, expected)


def _take(value: Any, expected: Any) -> Any:
    if is_dataclass(expected):
        return from_message(value, cast(type, expected))
    if issubclass(expected, Enum):
        return expected(value)
    return value


def event_message(event: AgentEvent) -> agent_pb2.Event:
    """An event as a message."""
    return agent_pb2.Event(**{_EVENT_NAMES[type(event)]: _plain(event)})


def event_value(message: agent_pb2.Event) -> AgentEvent:
    """The event of a message. ValueError when it holds none that is known here."""
    name = message.WhichOneof("what")
    if name is None:
        raise ValueError("event: of a kind that this client does not know")
    return cast(AgentEvent, from_message(getattr(message, name), _EVENTS[name]))
