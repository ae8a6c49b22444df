# SPDX-License-Identifier: Apache-2.0
"""Drives a P4Runtime server with finsy, in finsy's own environment, and prints what it saw.

Usage: finsy_client.py ADDRESS DEVICE_ID P4INFO JSON. One JSON object on standard output.
"""

import asyncio
import json
import sys
from pathlib import Path

import finsy as fy
from finsy.p4client import P4ClientError

ENTRIES = [
    fy.P4TableEntry(
        "exact_match", match=fy.Match(dst=0x102), action=fy.Action("counted_forward", port=5)
    ),
    fy.P4TableEntry(
        "longest_prefix", match=fy.Match(src=(0xAB << 40, 8)), action=fy.Action("drop")
    ),
    fy.P4TableEntry("longest_prefix", action=fy.Action("forward", port=511)),
    fy.P4TableEntry(
        "masked",
        match=fy.Match(type=(0x800, 0xFF00), port=3, dst=(1, 255)),
        action=fy.Action("forward", port=2),
        priority=10,
    ),
]


async def entries(switch, table: str = "") -> list[str]:
    found = [e async for e in switch.read(fy.P4TableEntry(table)) if not e.is_const]
    return sorted(repr((e.table_id, e.match, e.action, e.priority)) for e in found)


async def errors_of_a_batch(switch) -> dict[int, str]:
    """Code of each refused update: the first is a new entry, the second is there already."""
    new = fy.P4TableEntry(
        "exact_match", match=fy.Match(dst=1), action=fy.Action("counted_forward", port=1)
    )
    try:
        await switch.insert([new, ENTRIES[0]])
    except P4ClientError as error:
        return {index: detail.canonical_code.name for index, detail in error.details.items()}
    return {}


async def drive(switch) -> dict:
    seen = {
        "primary": switch.is_primary,
        "version": str(switch.p4runtime_version),
        "tables": sorted(table.alias for table in switch.p4info.tables),
    }
    await switch.delete_all()
    seen["empty"] = await entries(switch)
    await switch.insert(ENTRIES)
    seen["written"] = sorted(repr((e.table_id, e.match, e.action, e.priority)) for e in ENTRIES)
    seen["read"] = await entries(switch)
    seen["errors"] = await errors_of_a_batch(switch)
    default = fy.P4TableEntry("masked", action=fy.Action("drop"), is_default_action=True)
    await switch.modify([default])
    asked = fy.P4TableEntry("masked", is_default_action=True)
    seen["default"] = [e.action.name async for e in switch.read(asked)]
    await switch.modify(
        [fy.P4CounterEntry("seen", index=3, data=fy.P4CounterData(byte_count=70, packet_count=7))]
    )
    counters = [c async for c in switch.read(fy.P4CounterEntry("seen"))]
    seen["counters"] = [[c.index, c.packet_count, c.byte_count] for c in counters]
    await switch.modify([fy.P4RegisterEntry("cells", index=1, data=0xABC)])
    seen["registers"] = [r.data async for r in switch.read(fy.P4RegisterEntry("cells"))]
    await switch.delete_all()
    seen["deleted"] = await entries(switch)
    seen["reset"] = [e.action.name async for e in switch.read(asked)]
    return seen


async def main(address: str, device_id: str, p4info: str, program: str) -> None:
    options = fy.SwitchOptions(
        p4info=Path(p4info), p4blob=Path(program), device_id=int(device_id), fail_fast=True
    )
    async with fy.Switch("sw", address, options) as switch:
        seen = await drive(switch)
        async with fy.Switch("backup", address, options) as backup:
            seen["second"] = [backup.is_primary, backup.election_id < switch.election_id]
    # The pipeline is there already: a new session finds its cookie and does not push it again.
    async with fy.Switch("again", address, options) as switch:
        seen["again"] = switch.is_primary
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
