# SPDX-License-Identifier: Apache-2.0
"""A fabric in slow motion: rates that software can carry, and a scenario's times to match.

A processor moves some thousand packets a second where a switch moves a hundred million. So the
rates of a described fabric are divided and its delays multiplied; everything else (round trip,
bandwidth-delay product, thresholds, timers) follows from the description as it always does. A
scenario's times are multiplied by the ratio of the two base round trips: what lasts ten round
trips in virtual time lasts ten here, and as many packets pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from testbed.quantities import TimeNs
from testbed.scenario import EndpointOptions, Scenario
from topologies.fabric import Fabric
from topologies.model import TierDelays, TierRates

_TIMER_MOST = 24  # exponent of the retransmission timer


@dataclass(frozen=True, slots=True)
class SlowMotion:
    """`fabric` as it is built; `time_scale`: its time over the described fabric's, at least 1."""

    fabric: Fabric
    time_scale: float


def slow_motion(described: Fabric, nic_rate_bps: float, path_rtt_ns: int) -> SlowMotion:
    """The described fabric with NIC ports of `nic_rate_bps` bits per second.

    Rates are divided and delays multiplied by the same factor, so that everything counted in
    packets stays as it was. Software takes time of its own: `path_rtt_ns`, over the longest path
    and back, which delays must not be below.
    """
    spec = described.spec
    factor = described.nic_rate_bps / nic_rate_bps
    rates = TierRates(nic_t0=spec.rate_gbps.nic_t0 / factor, t0_t1=spec.rate_gbps.t0_t1 / factor)
    hops = 2 if spec.t0s == 1 else 4
    least_ns = math.ceil(path_rtt_ns / (2 * hops))
    delays = TierDelays(
        nic_t0=max(least_ns, round(spec.delay_ns.nic_t0 * factor)),
        t0_t1=max(least_ns, round(spec.delay_ns.t0_t1 * factor)),
    )
    fabric = Fabric(spec.model_copy(update={"rate_gbps": rates, "delay_ns": delays}))
    scale = fabric.base_rtt_ns() / described.base_rtt_ns()
    return SlowMotion(fabric, round(scale, 3))


def hold_ns(fabric: Fabric, path_rtt_ns: int) -> int:
    """How long hosts hold received frames back, so that the longest path takes as long as its
    links' delays say: interfaces of one machine have none.

    `path_rtt_ns`: what software takes there and back by itself.
    """
    delay = fabric.spec.delay_ns
    one_way_ns = 2 * delay.nic_t0 + (0 if fabric.spec.t0s == 1 else 2 * delay.t0_t1)
    return max(0, one_way_ns - path_rtt_ns // 2)


def scale_scenario(scenario: Scenario, time_scale: float) -> Scenario:
    """The scenario with every time multiplied; names, sizes, counts and shares stay."""
    scaled: Scenario = _scaled(scenario, time_scale)
    timeout = scaled.endpoint.timeout
    if timeout is None or time_scale <= 1:
        return scaled
    longer = min(_TIMER_MOST, timeout + math.ceil(math.log2(time_scale)))
    endpoint: EndpointOptions = scaled.endpoint.model_copy(update={"timeout": longer})
    return scaled.model_copy(update={"endpoint": endpoint})


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_scaled(item, factor) for item in value]
    if not isinstance(value, BaseModel):
        return value
    changes = {}
    for name, field in type(value).model_fields.items():
        part = getattr(value, name)
        if part is not None and _is_time(field):
            changes[name] = round(part * factor)
        else:
            changes[name] = _scaled(part, factor)
    return value.model_copy(update=changes)


_TIME_METADATA = get_args(TimeNs)[1:]


def _is_time(field: FieldInfo) -> bool:
    """Whether a field is declared as `TimeNs`, on its own or as one of several types."""
    parser = _TIME_METADATA[0]
    if parser in field.metadata:
        return True
    return any(parser in get_args(choice)[1:] for choice in get_args(field.annotation))
