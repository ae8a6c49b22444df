# SPDX-License-Identifier: Apache-2.0
"""`mrc topo tables`: how many entries each switch has, the proof of its SIDs, or one's entries."""

from __future__ import annotations

from collections.abc import Iterator

from rich.markup import escape

from controller.limits import not_installable
from controller.tables import TABLES, entry_counts, fabric_entry_count, switch_entries
from testbed.cli.output import BadInput, console, print_json, table
from topologies import Fabric
from topologies.proof import SidCollisionError, SidProof, prove_unique

_MOST_SWITCHES = 64
"""Above this many, switches of one tier and plane share a row: they have as many entries."""


def show_fabric(fabric: Fabric, as_json: bool) -> None:
    """Entries per switch and table, and the proof."""
    try:
        proof = prove_unique(fabric)
    except SidCollisionError as error:
        raise BadInput(f"{fabric.name}: {error}") from error
    if as_json:
        switches = (switch.name for switch in fabric.switches())
        print_json(
            {
                "fabric": fabric.name,
                "switches": {name: _short(entry_counts(fabric, name)) for name in switches},
                "entries": fabric_entry_count(fabric),
                "unique_usids": _proof_counts(proof),
                "not_installable": not_installable(fabric),
            }
        )
        return
    out = console()
    rows = table(f"Entries per switch of {escape(fabric.name)}")
    rows.add_column("switch")
    for name in [*(name.rpartition(".")[2] for name in TABLES), "sum"]:
        rows.add_column(name, justify="right")
    for label, counts in _rows(fabric):
        numbers = [counts[name] for name in TABLES]
        rows.add_row(label, *(f"{value:,}" for value in [*numbers, sum(numbers)]))
    out.print(rows)
    out.print(f"\n{fabric_entry_count(fabric):,} entries on {fabric.switch_count:,} switches")
    for line in _proof_lines(proof):
        out.print(line)
    reason = not_installable(fabric)
    if reason is not None:
        out.print(f"note: {escape(reason)}")


def _rows(fabric: Fabric) -> Iterator[tuple[str, dict[str, int]]]:
    if fabric.switch_count <= _MOST_SWITCHES:
        for switch in fabric.switches():
            yield switch.name, entry_counts(fabric, switch.name)
        return
    for plane in range(fabric.spec.planes):
        for tier, count in ((0, fabric.spec.t0s), (1, fabric.spec.t1s)):
            first = fabric.switch_at(plane, tier, 0).name
            last = fabric.switch_at(plane, tier, count - 1).name
            yield f"{first} … {last} ({count} alike)", entry_counts(fabric, first)


def show_switch(fabric: Fabric, name: str, as_json: bool) -> None:
    """Every entry of one switch."""
    entries = list(switch_entries(fabric, name))
    if as_json:
        print_json(
            [
                {
                    "table": entry.table,
                    "match": [list(m) if isinstance(m, tuple) else m for m in entry.match],
                    "action": entry.action,
                    "params": list(entry.params),
                }
                for entry in entries
            ]
        )
        return
    out = console()
    for entry in entries:
        out.print(escape(str(entry)), soft_wrap=True)
    out.print(f"{len(entries):,} entries on {name}")


def _short(counts: dict[str, int]) -> dict[str, int]:
    return {name.rpartition(".")[2]: count for name, count in counts.items()}


def _proof_counts(proof: SidProof) -> dict[str, int]:
    return {
        "switches_in_the_fabric": proof.switch_usids,
        "nics_within_their_t0_and_plane": proof.nic_usids,
        "nic_scopes": proof.nic_scopes,
        "looked_up_within_a_plane": proof.plane_usids,
        "plane_scopes": proof.plane_scopes,
    }


def _proof_lines(proof: SidProof) -> Iterator[str]:
    yield "Every uSID computed and checked; none is zero, and unique are"
    yield f"  {proof.switch_usids:,} of T0s and T1s in the whole fabric,"
    yield f"  {proof.nic_usids:,} of NICs, each within its T0 and plane,"
    yield f"  {proof.plane_usids:,} that switches look up, each within its plane."
