# SPDX-License-Identifier: Apache-2.0
"""Judges a result by its scenario's expectations: one `Check` for each that was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from testbed.map_checks import map_checks
from testbed.quantities import format_time
from testbed.results import Check, RunResult
from testbed.scenario import Expectations

_MISSING = "could not be measured"


def judge(result: RunResult, expect: Expectations) -> list[Check]:
    """Every check, passed or not, in a fixed order.

    A check that finds nothing to measure has failed: an expectation must never hold because the
    run was too short to test it.
    """
    return [
        *_integrity(result, expect),
        *_quiet(result, expect),
        *_rates(result, expect),
        *map_checks(result.map, expect),
    ]


def _integrity(result: RunResult, expect: Expectations) -> Iterator[Check]:
    if expect.all_bytes_verified:
        # Messages too: one without bytes has arrived only when it has completed.
        complete = all(f.messages_completed == f.messages_posted > 0 for f in result.flows)
        right = result.bytes_verified == result.bytes_posted and not result.bytes_wrong
        ok = bool(result.flows) and complete and right
        measured = f"{result.bytes_verified} of {result.bytes_posted} B"
        if result.bytes_wrong:
            measured += f", {result.bytes_wrong} B wrong"
        if not complete:
            measured += ", not every message complete"
        yield Check(name="all_bytes_verified", ok=ok, wanted="every byte", measured=measured)
    if expect.no_qp_error:
        failed = [f"{flow.name}: {flow.error}" for flow in result.flows if flow.error]
        yield Check(
            name="no_qp_error",
            ok=not failed,
            wanted="no QP in ERROR",
            measured="; ".join(failed[:4]) or "none",
        )


def _quiet(result: RunResult, expect: Expectations) -> Iterator[Check]:
    packets = result.packets
    if expect.min_trimmed_share is not None or expect.max_trimmed_share is not None:
        share = packets.trimmed / max(1, packets.data_sent)
        if expect.min_trimmed_share is not None:
            yield _at_least("min_trimmed_share", share, expect.min_trimmed_share)
        if expect.max_trimmed_share is not None:
            yield _at_most("max_trimmed_share", share, expect.max_trimmed_share)
    retired = sum(1 for change in result.ev_changes if change.new == "assumed_bad")
    if expect.no_ev_assumed_bad:
        yield _none("no_ev_assumed_bad", retired, "EVs retired")
    if expect.min_evs_assumed_bad is not None:
        yield _at_least("min_evs_assumed_bad", retired, expect.min_evs_assumed_bad)
    if expect.no_timer_fired:
        yield _none("no_timer_fired", packets.timers_fired, "timers")
    if expect.no_congestion_drops:
        yield _none("no_congestion_drops", packets.congestion_drops, "packets")
    if expect.queues_balanced:
        uneven = [q for q in result.queues if q.enqueued != q.dequeued + q.lost_in_stop]
        lost = sum(q.enqueued - q.dequeued - q.lost_in_stop for q in uneven)
        yield Check(
            name="queues_balanced",
            ok=not uneven and bool(result.queues),
            wanted="enqueued − dequeued = 0 for every port and class",
            measured=f"{len(uneven)} of {len(result.queues)} differ, by {lost} packets"
            if uneven
            else f"0 in all {len(result.queues)}",
        )


def _rates(result: RunResult, expect: Expectations) -> Iterator[Check]:
    if expect.victim_share is not None:
        yield _worst("victim_share", [result.victim_share], expect.victim_share)
    if expect.fair_share is not None:
        yield _worst("fair_share", [result.fair_share], expect.fair_share)
    if expect.jain_index is not None:
        yield _worst("jain_index", [result.jain_index], expect.jain_index)
    if expect.queue_p99_below is not None:
        yield _queues_below(result, expect.queue_p99_below)
    if expect.goodput_share is not None:
        shares = [item.share for item in result.maxflow[:1]]
        yield _worst("goodput_share", shares, expect.goodput_share)
    if expect.goodput_after is not None:
        shares = [fault.goodput_after_share for fault in result.faults]
        yield _worst("goodput_after", shares, expect.goodput_after)
    if expect.goodput_mended is not None:
        shares = [f.goodput_mended_share for f in result.faults if f.end_ns is not None]
        yield _worst("goodput_mended", shares, expect.goodput_mended)
    if expect.last_packet_rtts is not None:
        rtts = [fault.worst_last_packet_rtts for fault in result.faults]
        known = [value for value in rtts if value is not None]
        worst = max(known) if known else None
        yield Check(
            name="last_packet_rtts",
            ok=worst is not None and worst <= expect.last_packet_rtts,
            wanted=f"at most {expect.last_packet_rtts:g} RTTs",
            measured=_MISSING if worst is None else f"at most {worst:g} RTTs",
        )
    if expect.recovered_within is not None:
        yield _recovered(result, expect.recovered_within)
    if expect.port_utilisation is not None:
        yield _worst(
            "port_utilisation", [p.busy_share for p in result.port_use], expect.port_utilisation
        )


def _queues_below(result: RunResult, wanted: float) -> Check:
    measured = [q for q in result.queue_depths if q.samples]
    worst = max(measured, key=lambda q: q.p99 / q.trim_at, default=None)
    return Check(
        name="queue_p99_below",
        ok=worst is not None and worst.p99 < wanted * worst.trim_at,
        wanted=f"99 % below {wanted:g} of the trim threshold",
        measured=_MISSING
        if worst is None
        else f"{worst.p99} of {worst.trim_at} packets at {worst.switch} port {worst.port}",
    )


def _recovered(result: RunResult, limit_ns: int) -> Check:
    struck = [fault for fault in result.faults if fault.data_packets_lost]
    missing = sum(fault.unrecovered for fault in struck)
    slowest = max((fault.recovered_us or 0.0 for fault in struck), default=None)
    if slowest is None:
        measured = "nothing was lost"
    elif missing:
        measured = f"{missing} packets never placed"
    else:
        measured = format_time(round(slowest * 1000))
    return Check(
        name="recovered_within",
        ok=slowest is not None and not missing and slowest * 1000 <= limit_ns,
        wanted=format_time(limit_ns),
        measured=measured,
    )


def _worst(name: str, values: Iterable[float | None], wanted: float) -> Check:
    """Every value must be there, and the least of them be at least ``wanted``."""
    values = list(values)
    known = [value for value in values if value is not None]
    complete = bool(known) and len(known) == len(values)
    return Check(
        name=name,
        ok=complete and min(known) >= wanted,
        wanted=f"at least {wanted:g}",
        measured=f"{min(known):.4f}" if complete else _MISSING,
    )


def _at_least(name: str, value: float, wanted: float) -> Check:
    return Check(
        name=name, ok=value >= wanted, wanted=f"at least {wanted:g}", measured=f"{value:.4g}"
    )


def _at_most(name: str, value: float, wanted: float) -> Check:
    return Check(
        name=name, ok=value <= wanted, wanted=f"at most {wanted:g}", measured=f"{value:.4g}"
    )


def _none(name: str, count: int, what: str) -> Check:
    return Check(name=name, ok=count == 0, wanted=f"no {what}", measured=f"{count} {what}")
