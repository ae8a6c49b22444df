# SPDX-License-Identifier: Apache-2.0
"""BMv2 JSON to :class:`softswitch.model.ProgramModel`; refuses by name what is not supported."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from typing import Any

from softswitch import loader_tables
from softswitch.errors import ProgramError
from softswitch.model import (
    Action,
    ArrayDef,
    Calculation,
    Checksum,
    Field,
    Header,
    Json,
    Parameter,
    ParseState,
    ProgramModel,
    Transition,
)

#: Sections that must be empty: constructs of v1model that the switch does not run.
REFUSED_SECTIONS = {
    "header_stacks": "header stacks",
    "header_unions": "header unions",
    "header_union_stacks": "header union stacks",
    "parse_vsets": "parser value sets",
    "learn_lists": "digests",
    "extern_instances": "extern instances",
}


#: Parameters of the generated functions.
RESERVED = ("frame", "port", "now_us", "packet", "deq_qdepth", "ingress", "egress", "bind")


class Names:
    """Python identifiers for P4 names, unique within one program."""

    def __init__(self) -> None:
        self._taken = set(RESERVED) | set(dir(builtins))

    def fresh(self, *parts: str) -> str:
        text = re.sub(r"\W+|_+", "_", "_".join(parts)).strip("_").lower() or "x"
        if text[0].isdigit() or keyword.iskeyword(text) or text.startswith("arg_"):
            text = "x_" + text
        name, count = text, 2
        while name in self._taken:
            name, count = f"{text}_{count}", count + 1
        self._taken.add(name)
        return name


def hex_value(text: Any, place: str) -> int:
    """Value of a JSON hexstr such as ``0x86dd`` or ``-0x1``."""
    try:
        return int(text, 16)
    except (TypeError, ValueError):
        raise ProgramError(place, f"{text!r} is no hexadecimal string") from None


def get(element: Json, key: str, place: str) -> Any:
    """``element[key]``, or a :class:`ProgramError` that names the place."""
    if not isinstance(element, dict) or key not in element:
        raise ProgramError(place, f"attribute {key!r} is missing")
    return element[key]


def load_model(json_bytes: bytes) -> ProgramModel:
    """Parse the JSON that p4c writes for ``simple_switch``.

    Raises :class:`ProgramError` naming the construct and its place in the JSON.
    """
    try:
        root = json.loads(json_bytes)
    except ValueError as error:
        raise ProgramError("$", f"not JSON: {error}") from None
    if not isinstance(root, dict):
        raise ProgramError("$", "not a JSON object")
    version = root.get("__meta__", {}).get("version", [2, 0])
    if version[0] != 2:
        raise ProgramError("$.__meta__.version", f"format version {version[0]} is not supported")
    for section, title in REFUSED_SECTIONS.items():
        if root.get(section):
            raise ProgramError(f"$.{section}[0]", f"{title} are not supported")

    names = Names()
    headers = _headers(root, names)
    actions = _actions(root)
    counters = _arrays(root, "counter_arrays", names)
    registers = _arrays(root, "register_arrays", names)
    meters = _arrays(root, "meter_arrays", names)
    pipelines = loader_tables.pipelines(root, headers, actions, names)
    init_state, states = _parser(root)
    return ProgramModel(
        headers=headers,
        errors=dict(root.get("errors", [])),
        init_state=init_state,
        states=states,
        ingress=pipelines["ingress"],
        egress=pipelines["egress"],
        deparser=_deparser(root, headers),
        actions=actions,
        counters=counters,
        registers=registers,
        meters=meters,
        calculations=_calculations(root),
        checksums=_checksums(root),
        aliases={name: (target[0], target[1]) for name, target in root.get("field_aliases", [])},
    )


def _headers(root: Json, names: Names) -> dict[str, Header]:
    types: dict[str, tuple[list[list[Any]], str]] = {}
    for i, item in enumerate(get(root, "header_types", "$")):
        place = f"$.header_types[{i}]"
        types[get(item, "name", place)] = (get(item, "fields", place), place)
    headers = {}
    for i, item in enumerate(get(root, "headers", "$")):
        place = f"$.headers[{i}]"
        type_name = get(item, "header_type", place)
        if type_name not in types:
            raise ProgramError(place, f"unknown header type {type_name!r}")
        headers[item["name"]] = _header(item, *types[type_name], names)
    return headers


def _header(item: Json, raw: list[list[Any]], type_place: str, names: Names) -> Header:
    total = 0
    for j, (_, width, *_rest) in enumerate(raw):
        if width == "*":
            raise ProgramError(
                f"{type_place}.fields[{j}]", "variable-length fields (varbit) are not supported"
            )
        total += width
    metadata = bool(item.get("metadata", False))
    if not metadata and total % 8:
        raise ProgramError(type_place, f"header of {total} bits is no whole number of bytes")
    fields = []
    shift = total
    # "scalars" holds p4c's temporaries: their own names say enough.
    prefix = "" if item["name"].startswith("scalars") else item["name"]
    for name, width, *rest in raw:
        shift -= width
        var = names.fresh(prefix, name)
        fields.append(Field(item["name"], name, width, bool(rest and rest[0]), shift, var))
    return Header(item["name"], names.fresh(item["name"]), metadata, tuple(fields))


def _actions(root: Json) -> dict[int, Action]:
    actions = {}
    for i, item in enumerate(get(root, "actions", "$")):
        place = f"$.actions[{i}]"
        parameters = tuple(
            Parameter(p["name"], p["bitwidth"]) for p in get(item, "runtime_data", place)
        )
        actions[get(item, "id", place)] = Action(
            item["name"], item["id"], place, parameters, tuple(get(item, "primitives", place))
        )
    return actions


def _arrays(root: Json, section: str, names: Names) -> dict[str, ArrayDef]:
    arrays = {}
    for i, item in enumerate(root.get(section, [])):
        place = f"$.{section}[{i}]"
        target = item.get("result_target")
        arrays[get(item, "name", place)] = ArrayDef(
            name=item["name"],
            var=names.fresh(item["name"].rpartition(".")[2]),
            size=item.get("size", 0) if item.get("is_direct") else get(item, "size", place),
            width=item.get("bitwidth", 0),
            direct_table=item.get("binding") if item.get("is_direct") else None,
            meter_unit=item.get("type", ""),
            rate_count=item.get("rate_count", 0),
            result_target=(target[0], target[1]) if target else None,
        )
    return arrays


def _parser(root: Json) -> tuple[str | None, dict[str, ParseState]]:
    parsers = get(root, "parsers", "$")
    if len(parsers) != 1:
        raise ProgramError("$.parsers", f"one parser is needed, {len(parsers)} found")
    states = {}
    for i, item in enumerate(parsers[0]["parse_states"]):
        place = f"$.parsers[0].parse_states[{i}]"
        transitions = tuple(
            _transition(t, f"{place}.transitions[{j}]")
            for j, t in enumerate(get(item, "transitions", place))
        )
        states[get(item, "name", place)] = ParseState(
            item["name"],
            place,
            tuple(get(item, "parser_ops", place)),
            tuple(get(item, "transition_key", place)),
            transitions,
        )
    return parsers[0].get("init_state"), states


def _transition(item: Json, place: str) -> Transition:
    kind = item.get("type") or ("default" if item.get("value") in (None, "default") else "hexstr")
    if kind == "default":
        return Transition(None, None, item.get("next_state"))
    if kind != "hexstr":
        raise ProgramError(place, f"transition type {kind!r} is not supported")
    mask = item.get("mask")
    return Transition(
        hex_value(item["value"], place),
        None if mask is None else hex_value(mask, place),
        item.get("next_state"),
    )


def _deparser(root: Json, headers: dict[str, Header]) -> tuple[str, ...]:
    deparsers = get(root, "deparsers", "$")
    if len(deparsers) != 1:
        raise ProgramError("$.deparsers", f"one deparser is needed, {len(deparsers)} found")
    if deparsers[0].get("primitives"):
        raise ProgramError("$.deparsers[0].primitives[0]", "deparser primitives are not supported")
    order = tuple(get(deparsers[0], "order", "$.deparsers[0]"))
    for name in order:
        if name not in headers:
            raise ProgramError("$.deparsers[0].order", f"unknown header {name!r}")
    return order


def _calculations(root: Json) -> dict[str, Calculation]:
    result = {}
    for i, item in enumerate(root.get("calculations", [])):
        place = f"$.calculations[{i}]"
        result[get(item, "name", place)] = Calculation(
            item["name"], place, get(item, "algo", place), tuple(get(item, "input", place))
        )
    return result


def _checksums(root: Json) -> tuple[Checksum, ...]:
    result = []
    for i, item in enumerate(root.get("checksums", [])):
        place = f"$.checksums[{i}]"
        if item.get("type") != "generic":
            raise ProgramError(place, f"checksum type {item.get('type')!r} is not supported")
        target = get(item, "target", place)
        result.append(
            Checksum(
                name=item["name"],
                place=place,
                target=(target[0], target[1]),
                calculation=get(item, "calculation", place),
                condition=item.get("if_cond"),
                verify=item.get("verify", True),
                update=item.get("update", True),
            )
        )
    return tuple(result)
