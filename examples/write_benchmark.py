# SPDX-License-Identifier: Apache-2.0
"""Writes of growing size between two hosts: goodput and messages a second, in virtual time."""

from __future__ import annotations

from typing import NamedTuple

from endpoint import verbs as mrc
from examples.qp_setup import Endpoint, connect, create, write
from examples.virtual_fabric import VirtualFabric

IN_FLIGHT = 16


class Row(NamedTuple):
    """One message size: bytes, writes, Gbit/s of payload, million writes a second."""

    size: int
    writes: int
    gbps: float
    mpps: float


def measure(world: VirtualFabric, a: Endpoint, b: Endpoint, size: int, writes: int) -> Row:
    """Keeps up to 16 writes posted until all are done."""
    start = world.plant.loop.now
    posted = done = 0

    def finished() -> bool:
        nonlocal posted, done
        for wc in mrc.mrc_poll_cq(a.cq, 64):
            assert wc.status is mrc.IBV_WC_SUCCESS, wc
            done += 1
        while posted < writes and posted - done < IN_FLIGHT:
            write(a, b.card, size, wr_id=posted)
            posted += 1
        return done == writes

    world.wait(finished)
    elapsed = world.plant.loop.now - start
    return Row(size, writes, 8 * size * writes / elapsed, 1000 * writes / elapsed)


def main(largest: int = 1 << 20, writes: int = 32, factor: int = 16) -> list[Row]:
    """Sweeps the size from 1 byte; prints and returns a row each."""
    world = VirtualFabric()
    a, b = create(world.devices[0], largest), create(world.devices[-1], largest)
    connect(a, b)
    measure(world, a, b, 1, 1)
    print(f"{'MsgSize':>9} {'TotalOps':>9} {'BW_avg(Gbps)':>13} {'MsgRate(Mpps)':>14}")
    rows = []
    size = 1
    while size <= largest:
        row = measure(world, a, b, size, writes)
        print(f"{row.size:>9} {row.writes:>9} {row.gbps:>13.3f} {row.mpps:>14.3f}")
        rows.append(row)
        size *= factor
    return rows


if __name__ == "__main__":
    main()
