# SPDX-License-Identifier: Apache-2.0
"""Every computed entry has a place in the compiled program: names, kinds, widths, table sizes."""

from pathlib import Path

import pytest
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2

from controller import tables
from controller.limits import LAST_PORT
from topologies import Fabric, load
from topologies.clos import generate

P4INFO = Path(__file__).parents[2] / "p4src" / "compiled" / "mrc.p4info.txt"
KINDS = {p4info_pb2.MatchField.EXACT: int, p4info_pb2.MatchField.LPM: tuple}


@pytest.fixture(scope="module")
def p4info() -> p4info_pb2.P4Info:
    return text_format.Parse(P4INFO.read_text(), p4info_pb2.P4Info())


@pytest.mark.parametrize("preset", ["tiny", "demo", "eight-plane", "rack16"])
def test_every_entry_of_a_preset_fits(preset: str, p4info: p4info_pb2.P4Info) -> None:
    fabric = load(preset)
    known_tables = {table.preamble.name: table for table in p4info.tables}
    known_actions = {action.preamble.name: action for action in p4info.actions}
    assert set(tables.TABLES) == set(known_tables)
    for switch in fabric.switches():
        for entry in tables.switch_entries(fabric, switch.name):
            table, action = known_tables[entry.table], known_actions[entry.action]
            assert action.preamble.id in {ref.id for ref in table.action_refs}
            for field, key in zip(table.match_fields, entry.match, strict=True):
                assert isinstance(key, KINDS[field.match_type])
                value = key[0] if isinstance(key, tuple) else key
                assert 0 <= value < 1 << field.bitwidth
            for param, value in zip(action.params, entry.params, strict=True):
                assert 0 <= value < 1 << param.bitwidth


def test_the_largest_switch_that_can_be_installed_fills_no_table(
    p4info: p4info_pb2.P4Info,
) -> None:
    sizes = {table.preamble.name: table.size for table in p4info.tables}
    spec = generate("edge", planes=1, t0s=LAST_PORT, t1s=10, nics_per_t0=LAST_PORT - 10)
    for name in ("p0t0a", "p0t1a"):
        counts = tables.entry_counts(Fabric(spec), name)
        assert all(counts[table] <= sizes[table] for table in tables.TABLES)
