# SPDX-License-Identifier: Apache-2.0
"""Proves that no mixture of faults ever makes memory silently wrong, or touches what is outside.

Every frame, data and control, may be lost, delayed beyond others, sent twice, cut, put under
another class, or have any bits of its headers flipped, before or after the cut. What has no ICRC
to protect it (outer header, flow label, hop limit, every field of a cut packet) is hit as well.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from engine_lab import Lab, Sent, fabric_with, marked, trimmed, with_class
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from endpoint.events import WorkStatus
from endpoint.queue_pair import QpConfig, QpState
from endpoint.responder import ResponderConfig

GUARD = 512


@dataclass(frozen=True)
class Faults:
    """Shares (0 to 1) of frames hit, the spread of delays in ns, and when the network heals."""

    lose: float = 0.0
    repeat: float = 0.0
    cut: float = 0.0
    flip: float = 0.0
    mark: float = 0.0
    reclass: float = 0.0
    spread: int = 0
    heals: bool = True


shares = st.sampled_from([0.0, 0.0, 0.02, 0.1, 0.3])
faults = st.builds(
    Faults,
    lose=shares,
    repeat=shares,
    cut=shares,
    flip=shares,
    mark=shares,
    reclass=shares,
    spread=st.sampled_from([0, 1_000, 8_000, 60_000]),
    heals=st.booleans(),
)


class Network:
    """Applies faults to every frame of a lab."""

    def __init__(self, lab: Lab, faults: Faults, seed: int) -> None:
        self.lab = lab
        self.faults = faults
        self.rng = random.Random(seed)

    def __call__(self, sent: Sent) -> list[tuple[int, bytes]] | None:
        f, rng = self.faults, self.rng
        if f.heals and sent.now > 3_000_000:
            return None
        if rng.random() < f.lose:
            return []
        copies = 1 + (rng.random() < f.repeat) + (rng.random() < f.repeat)
        return [
            (self.lab.delay + rng.randrange(f.spread + 1), self.spoil(sent.frame))
            for _ in range(copies)
        ]

    def spoil(self, frame: bytes) -> bytes:
        f, rng = self.faults, self.rng
        if rng.random() < f.flip:
            frame = self.flip(frame)
        if rng.random() < f.cut:
            frame = trimmed(self.lab.fabric, frame, last_hop=rng.random() < 0.5)
            if rng.random() < f.flip:
                frame = self.flip(frame)
        if rng.random() < f.reclass:
            dscp = self.lab.fabric.dscp
            frame = with_class(
                frame, rng.choice([dscp.trimmed, dscp.trimmed_lasthop, 4, 0, 46, 63])
            )
        if rng.random() < f.mark:
            frame = marked(frame)
        return frame

    def flip(self, frame: bytes) -> bytes:
        """Flips one to four bits, mostly in the headers."""
        rng = self.rng
        out = bytearray(frame)
        reach = min(len(out), 150) if rng.random() < 0.9 else len(out)
        for _ in range(rng.randint(1, 4)):
            out[rng.randrange(reach)] ^= 1 << rng.randrange(8)
        return bytes(out)


@settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    faults=faults,
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(0, 12_000), min_size=1, max_size=6),
    first_psn=st.sampled_from([0, 5_000, 0xFFFFF0]),
    mpr_units=st.sampled_from([1, 8]),
)
@example(Faults(lose=0.1, repeat=0.1, cut=0.1, flip=0.1, spread=8_000), 1, [9_000] * 5, 0xFFFFF8, 1)
@example(Faults(flip=0.3, cut=0.3, reclass=0.3, heals=False), 2, [12_000] * 4, 0, 8)
@example(Faults(lose=0.9, heals=False), 3, [5_000, 0, 1], 0, 8)
def test_memory_equals_what_was_sent_or_the_queue_pair_says_that_it_failed(
    faults: Faults, seed: int, sizes: list[int], first_psn: int, mpr_units: int
) -> None:
    lab = Lab(fabric_with(path_mtu=256), line=100, room=8)
    lab.keep = False
    config = QpConfig(
        first_psn=first_psn,
        timeout=6,
        linear_retries=7,
        exponential_retries=6,
        responder=ResponderConfig(mpr_units=mpr_units, max_wimm=1),
    )
    qa, qb = lab.pair(config=config)
    lab.rule(Network(lab, faults, seed))
    rng = random.Random(seed)
    memory = bytearray(b"\xaa" * (2 * GUARD + sum(sizes)))
    inside = memoryview(memory)[GUARD:-GUARD] if sizes else memoryview(memory)
    region = lab.nics[4].register_memory(inside)
    sources, at = [], 0
    for wr_id, size in enumerate(sizes):
        data = rng.randbytes(size)
        imm = wr_id if wr_id % 2 else None
        if imm is not None:
            qb.post_recv(wr_id, 0)
        qa.post_write(wr_id, data, region.va + at, region.rkey, imm, now_ns=0)
        sources.append((at, data))
        at += size
    received = [wr_id for wr_id in range(len(sizes)) if wr_id % 2]
    lab.run(
        until=60_000_000,
        done=lambda: (
            len(lab.completions[0]) == len(sizes)
            and (len(lab.completions[4]) == len(received) or qa.state is QpState.ERROR)
        ),
    )

    assert memory[:GUARD] == memory[-GUARD:] == b"\xaa" * GUARD
    sent = lab.completions[0]
    assert [c.wr_id for c in sent] == list(range(len(sizes)))
    assert qa.state is QpState.ERROR or all(c.status is WorkStatus.SUCCESS for c in sent)
    arrived = lab.completions[4]
    assert [(c.wr_id, c.imm, c.byte_len) for c in arrived] == [
        (i, i, sizes[i]) for i in received[: len(arrived)]
    ]
    proven = {c.wr_id for c in sent if c.status is WorkStatus.SUCCESS}
    proven |= {i for c in arrived for i in range(c.wr_id + 1)}
    for wr_id in proven:
        start, data = sources[wr_id]
        assert bytes(inside[start : start + len(data)]) == data
    assert qb.state is QpState.RTS  # no corruption ever looked like a forbidden access
    if faults.heals and qa.state is QpState.RTS:
        assert len(arrived) == len(received)


def test_the_receiver_fails_when_the_sender_cannot_know() -> None:
    """A network that dies for good: the sender ends in ERROR, the receiver holds no wrong byte."""
    lab = Lab(fabric_with(path_mtu=256), line=100)
    config = QpConfig(timeout=6, linear_retries=2, exponential_retries=2)
    qa, qb = lab.pair(config=config)
    region = lab.region(4, 200_000)
    data = random.Random(1).randbytes(200_000)
    qb.post_recv(1)
    qa.post_write(0, data, region.va, region.rkey, imm=1, now_ns=0)
    lab.rule(lambda sent: [] if sent.now > 12_000 else None)
    lab.run(until=5_000_000)
    assert qa.state is QpState.ERROR
    assert [c.status for c in lab.completions[0]] == [WorkStatus.RETRY_EXCEEDED]
    assert lab.completions[4] == []
    wrong = [
        i
        for i in range(0, 200_000, 256)
        if bytes(region.buffer[i : i + 256]) not in (data[i : i + 256], bytes(256)[: 200_000 - i])
    ]
    assert wrong == []
