# SPDX-License-Identifier: Apache-2.0
"""The ``pipelines`` section of a BMv2 JSON: tables, conditionals and action calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from softswitch.errors import ProgramError
from softswitch.model import (
    Action,
    ActionCall,
    Conditional,
    ConstEntry,
    DefaultEntry,
    Header,
    Json,
    MatchField,
    Node,
    Pipeline,
    TableDef,
)

if TYPE_CHECKING:
    from softswitch.loader import Names

MATCH_KINDS = ("exact", "lpm", "ternary", "range", "valid")
#: BMv2 orders constant entries by ascending priority, P4Runtime by descending.
BMV2_MAX_PRIORITY = (1 << 31) - 1


def pipelines(
    root: Json, headers: dict[str, Header], actions: dict[int, Action], names: Names
) -> dict[str, Pipeline]:
    """``ingress`` and ``egress``; raises :class:`ProgramError` when one is missing."""
    result = {}
    for i, item in enumerate(root.get("pipelines", [])):
        place = f"$.pipelines[{i}]"
        nodes: dict[str, Node] = {}
        if item.get("action_profiles"):
            raise ProgramError(f"{place}.action_profiles[0]", "action profiles are not supported")
        for j, table in enumerate(item.get("tables", [])):
            node = _table(table, f"{place}.tables[{j}]", headers, actions, names)
            nodes[node.name] = node
        for j, cond in enumerate(item.get("conditionals", [])):
            where = f"{place}.conditionals[{j}]"
            nodes[cond["name"]] = Conditional(
                cond["name"], where, cond["expression"], cond["true_next"], cond["false_next"]
            )
        for j, call in enumerate(item.get("action_calls", [])):
            where = f"{place}.action_calls[{j}]"
            nodes[call["name"]] = ActionCall(
                call["name"], where, _action(actions, call["action_id"], where), call["next_node"]
            )
        result[item["name"]] = Pipeline(item["name"], item.get("init_table"), nodes)
    for name in ("ingress", "egress"):
        if name not in result:
            raise ProgramError("$.pipelines", f"pipeline {name!r} is missing")
    return result


def _action(actions: dict[int, Action], action_id: int, place: str) -> Action:
    if action_id not in actions:
        raise ProgramError(place, f"unknown action id {action_id}")
    return actions[action_id]


def _table(
    item: Json, place: str, headers: dict[str, Header], actions: dict[int, Action], names: Names
) -> TableDef:
    name = item["name"]
    if item.get("type", "simple") != "simple":
        raise ProgramError(place, f"table type {item['type']!r} is not supported")
    if item.get("support_timeout"):
        raise ProgramError(place, "entry timeouts are not supported")
    offered = _offered_actions(item, place, actions)
    key = tuple(
        _match_field(k, f"{place}.key[{i}]", headers) for i, k in enumerate(item.get("key", []))
    )
    following: dict[str, str | None] = item.get("next_tables") or {}
    by_hit = "__HIT__" in following or "__MISS__" in following
    base = item.get("base_default_next")
    return TableDef(
        name=name,
        var=names.fresh(name.rpartition(".")[2]),
        place=place,
        kind=item.get("match_type", "exact"),
        size=item.get("max_size", 1024),
        key=key,
        actions=offered,
        next_nodes=tuple(following.get(a.name, base) for a in offered),
        by_hit=by_hit,
        hit_next=following.get("__HIT__", base),
        miss_next=following.get("__MISS__", base),
        default=_default_entry(item, place, offered),
        entries=tuple(
            _const_entry(e, f"{place}.entries[{i}]", key, offered)
            for i, e in enumerate(item.get("entries", []))
        ),
        with_counters=bool(item.get("with_counters")),
        direct_meter=item.get("direct_meters"),
    )


def _offered_actions(item: Json, place: str, actions: dict[int, Action]) -> tuple[Action, ...]:
    if "action_ids" in item:
        return tuple(_action(actions, i, place) for i in item["action_ids"])
    by_name = {a.name: a for a in actions.values()}
    for name in item.get("actions", []):
        if name not in by_name:
            raise ProgramError(place, f"unknown action {name!r}")
    return tuple(by_name[name] for name in item.get("actions", []))


def _match_field(item: Json, place: str, headers: dict[str, Header]) -> MatchField:
    kind = item["match_type"]
    if kind not in MATCH_KINDS:
        raise ProgramError(place, f"match type {kind!r} is not supported")
    target = item["target"]
    header_name = target if kind == "valid" else target[0]
    if header_name not in headers:
        raise ProgramError(place, f"unknown header {header_name!r}")
    if kind == "valid" or target[1] == "$valid$":
        width, target = 1, [header_name, "$valid$"]
        kind = "exact" if kind == "valid" else kind
    else:
        found = next((f for f in headers[header_name].fields if f.name == target[1]), None)
        if found is None:
            raise ProgramError(place, f"unknown field {target[0]}.{target[1]}")
        width = found.width
    mask = item.get("mask")
    return MatchField(
        name=item.get("name") or ".".join(target),
        kind=kind,
        width=width,
        target=target,
        mask=None if mask is None else int(mask, 16),
    )


def _index_of(offered: tuple[Action, ...], action_id: int, place: str) -> int:
    for index, action in enumerate(offered):
        if action.id == action_id:
            return index
    raise ProgramError(place, f"action id {action_id} is none of the table's actions")


def _action_data(raw: list[Any], action: Action, place: str) -> tuple[int, ...]:
    if len(raw) != len(action.parameters):
        raise ProgramError(
            place, f"action {action.name} takes {len(action.parameters)} values, not {len(raw)}"
        )
    return tuple(int(value, 16) for value in raw)


def _default_entry(item: Json, place: str, offered: tuple[Action, ...]) -> DefaultEntry:
    entry = item.get("default_entry")
    if entry is None:
        raise ProgramError(place, "a table without default_entry is not supported")
    index = _index_of(offered, entry["action_id"], f"{place}.default_entry")
    data = _action_data(entry.get("action_data", []), offered[index], f"{place}.default_entry")
    return DefaultEntry(index, data, bool(entry.get("action_const")))


def _const_entry(
    item: Json, place: str, key: tuple[MatchField, ...], offered: tuple[Action, ...]
) -> ConstEntry:
    index = _index_of(offered, item["action_entry"]["action_id"], place)
    data = _action_data(item["action_entry"]["action_data"], offered[index], place)
    if len(item["match_key"]) != len(key):
        raise ProgramError(place, f"{len(key)} match values are needed")
    values = tuple(_const_match(m, place) for m in item["match_key"])
    return ConstEntry(values, index, data, BMV2_MAX_PRIORITY - item.get("priority", 0))


def _const_match(item: Json, place: str) -> Any:
    kind = item["match_type"]
    if kind == "exact":
        return int(item["key"], 16)
    if kind == "valid":
        return int(bool(item["key"]))
    if kind == "lpm":
        return int(item["key"], 16), item["prefix_length"]
    if kind == "ternary":
        return int(item["key"], 16), int(item["mask"], 16)
    if kind == "range":
        return int(item["start"], 16), int(item["end"], 16)
    raise ProgramError(place, f"match type {kind!r} is not supported")
