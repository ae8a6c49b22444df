# SPDX-License-Identifier: Apache-2.0
"""Between its minimum and maximum ECN is drawn by chance: BMv2 and the embedded switch mark as
often as the occupancy says."""

from math import sqrt

import bmv2_process
import mrc_switch as mrc
import pytest
from bmv2_process import BATCH, CAPACITY, Bmv2
from soft_over_p4runtime import SoftOverP4Runtime

import p4src

pytestmark = [
    pytest.mark.bmv2,
    pytest.mark.skipif(
        not bmv2_process.cli_available(),
        reason="simple_switch_grpc and simple_switch_CLI are not on the PATH",
    ),
]
#: (minimum, maximum, occupancy). Where few packets lie between them, an error of one shows.
LEVELS = [(0, 2, 1), (20, 24, 21), (20, 24, 22), (20, 24, 23), (20, 80, 30), (20, 80, 50),
          (20, 80, 70), (1_000, 101_000, 26_000), (1_000, 101_000, 76_000)]  # fmt: skip
PORTS_A_LEVEL, ROUNDS = 5, 80
DRAWS = PORTS_A_LEVEL * ROUNDS
#: Standard deviations: by chance, some level fails once in 60,000 runs.
SIGMAS = 5
IN_PORT, FIRST_PORT, NEVER = 300, 1, 10_000_000
MARKER_PORTS = (400, 401, 402, 403)
MARKER = [
    (IN_PORT, bytes(mrc.packet(mrc.address(mrc.SID_UN, port), dscp=0, ecn=0)))
    for port in MARKER_PORTS
]
LEVEL_OF_PORT = {
    FIRST_PORT + number: LEVELS[number // PORTS_A_LEVEL]
    for number in range(len(LEVELS) * PORTS_A_LEVEL)
}


def switch_with_ports_at_each_level():
    switch = mrc.make_switch()
    for port, (minimum, maximum, _) in LEVEL_OF_PORT.items():
        profile = (NEVER, mrc.TRIM_LENGTH, mrc.TRIMMED, minimum, maximum)
        if port in (mrc.PORT_FIB, mrc.PORT_UA, mrc.PORT_ADJACENCY, mrc.PORT_NIC):
            switch.tables[mrc.PROFILE].modify((port,), mrc.SET_PROFILE, profile)
        else:
            switch.tables[mrc.PROFILE].insert((port,), mrc.SET_PROFILE, profile)
    for port in MARKER_PORTS:
        profile = (NEVER, mrc.TRIM_LENGTH, mrc.TRIMMED, NEVER, NEVER)
        switch.tables[mrc.PROFILE].insert((port,), mrc.SET_PROFILE, profile)
    for port in (*LEVEL_OF_PORT, *MARKER_PORTS):
        route = (mrc.address(0x2000 + port), 48)
        if port in MARKER_PORTS:
            route = (mrc.address(port), 48)
        switch.tables[mrc.FIB].insert((route,), mrc.FORWARD, (port, 1, 2))
    return switch


def packets():
    """One a port and round: the occupancy that each meets is the one that was set."""
    batch = [
        [
            (IN_PORT, bytes(mrc.packet(mrc.address(mrc.SID_UN, 0x2000 + p), ecn=ecn, payload=1)))
            for p in LEVEL_OF_PORT
        ]
        for ecn in (1, 2)
    ]
    return [packet for number in range(ROUNDS) for packet in batch[number % 2]]


def marked(results):
    """Packets marked at each level."""
    found = dict.fromkeys(LEVELS, 0)
    for port, frame in results:
        found[LEVEL_OF_PORT[port]] += frame[15] >> 4 & 3 == 3
    return found


def test_frequencies_of_marks():
    tables = switch_with_ports_at_each_level()
    program = p4src.JSON.read_bytes(), p4src.P4INFO.read_text()
    occupancy = {port: level[2] for port, level in LEVEL_OF_PORT.items()}
    assert len(occupancy) <= BATCH
    with Bmv2(*program) as bmv2, SoftOverP4Runtime(*program, CAPACITY) as soft:
        bmv2.copy_tables(tables)
        soft.copy_tables(tables)
        soft.write_registers("enqueued", occupancy)
        bmv2.commands(*(f"register_write enqueued {p} {cell}" for p, cell in occupancy.items()))
        sent = packets()
        theirs = marked(bmv2.send(sent, MARKER, len(occupancy)))
        ours = marked(soft.send(sent, len(occupancy)))
        for switch, counts in ((bmv2, theirs), (soft, ours)):
            counters = switch.counters()["MrcIngress.queueing.marked"]
            assert sum(count for count, _ in counters) == sum(counts.values())
    for level in LEVELS:
        minimum, maximum, occupied = level
        share = (occupied - minimum) / (maximum - minimum)
        deviation = sqrt(DRAWS * share * (1 - share))
        for counts in (theirs, ours):
            assert abs(counts[level] - DRAWS * share) < SIGMAS * deviation, (level, counts)
        assert abs(theirs[level] - ours[level]) < SIGMAS * sqrt(2) * deviation, level
