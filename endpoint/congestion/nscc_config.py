# SPDX-License-Identifier: Apache-2.0
"""Settings of NSCC under the names of the OCP control API, and how they follow from the network.

The scaling is relative to a reference network of 100 Gb/s and 12 µs: factor a compares
bandwidth-delay products, factor b the target delay with the reference round trip. Sources:
Ultra Ethernet 1.0, section 3.6.13, and the parameters that its group's simulator (uet-htsim)
prints for the same network; names and units: `mrc_ctl.h` 1.0.1.
"""

from dataclasses import dataclass, fields

from endpoint.congestion.interface import CongestionParameters

REFERENCE_RATE_BPS = 100_000_000_000
REFERENCE_RTT_NS = 12_000
REFERENCE_BDP = REFERENCE_RATE_BPS * REFERENCE_RTT_NS // 8_000_000_000

_FAIR_PACKETS = 5.0  # fair increase in a window's time, at a = 1
_PROPORTIONAL_PACKETS = 4.0  # the same for the proportional increase with an empty queue, b = 1
_STEADY_PACKETS = 0.15  # added in every adjust period
_FAST_SHARE = 0.25  # of the bytes received, while the queue is empty
_ADJUST_PACKETS = 8
_QA_TARGETS = 4
_SILENT_FAIR_PART = 5
_EMPTY_NS = 1_000
_EMPTY_PART = REFERENCE_RTT_NS // _EMPTY_NS


@dataclass(frozen=True, slots=True)
class NsccConfig:
    """What an operator sets; None follows from the network (`resolve`).

    base_rtt: round trip without queues, ns. target_delay: queueing delay to aim at, ns.
    eta: bytes added in every adjust period. fi: bytes of fair increase in the time of a window.
    fi_scale: bytes of window for each byte received over a path without queues.
    gamma: gain of the decrease, 0 to 1. max_md_jump: the least factor of one decrease, 0 to 1.
    max_cwnd: start and maximum window, bytes. qa_gate: quick-adapt works below
    max_cwnd / 2^qa_gate bytes in its period, 0 to 31. qa_threshold: delay that triggers it, ns.
    adjust_bytes_threshold (bytes), adjust_period_threshold (ns): increases are applied when
    more than so many bytes were received or so much time has passed. disable_qa: no quick-adapt.

    Not the API's: delay_weight, weight of a sample in the mean delay, above 0 to 1; and
    silent_last_hop, see `endpoint.congestion.nscc`.
    """

    base_rtt: int | None = None
    target_delay: int | None = None
    eta: float | None = None
    fi: float | None = None
    fi_scale: float | None = None
    gamma: float = 0.8
    max_md_jump: float = 0.5
    max_cwnd: int | None = None
    qa_gate: int = 3
    qa_threshold: int | None = None
    adjust_bytes_threshold: int | None = None
    adjust_period_threshold: int | None = None
    disable_qa: bool = False
    delay_weight: float = 0.0125
    silent_last_hop: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value < 0:
                raise ValueError(f"nscc: {field.name} {value} is negative")
        for name in ("base_rtt", "target_delay", "max_cwnd", "adjust_period_threshold"):
            if getattr(self, name) == 0:
                raise ValueError(f"nscc: {name} must be above 0")
        for name in ("gamma", "max_md_jump", "delay_weight"):
            if getattr(self, name) > 1:
                raise ValueError(f"nscc: {name} {getattr(self, name)} is above 1")
        if self.delay_weight == 0:
            raise ValueError("nscc: delay_weight must be above 0")
        if self.qa_gate > 31:
            raise ValueError(f"nscc: qa_gate {self.qa_gate} is above 31")


@dataclass(frozen=True, slots=True)
class NsccValues:
    """`NsccConfig` with everything filled in; `peer_rtt` is the empty round trip to this peer.

    alpha: bytes of proportional increase for each ns below the target, in the time of a window.
    fair: bytes of fair increase in the time of a window, as it is used: `fi`, or a fifth of it
    where the last hop is silent. empty_delay: delay in ns below which a path counts as without
    queue. min_cwnd: one packet.
    """

    base_rtt: int
    peer_rtt: int
    target_delay: int
    alpha: float
    eta: float
    fi: float
    fair: float
    fi_scale: float
    gamma: float
    max_md_jump: float
    min_cwnd: int
    max_cwnd: int
    qa_gate: int
    qa_threshold: int
    adjust_bytes_threshold: int
    adjust_period_threshold: int
    disable_qa: bool
    delay_weight: float
    silent_last_hop: bool
    empty_delay: int


def resolve(parameters: CongestionParameters, config: NsccConfig | None = None) -> NsccValues:
    """The settings for one queue pair: what `config` says, and the rest from the network."""
    config = config or NsccConfig()
    base_rtt = config.base_rtt or parameters.base_rtt_ns
    peer_rtt = min(base_rtt, parameters.peer_rtt_ns or base_rtt)
    share = (75, 100) if parameters.trimming else (1, 1)
    target = config.target_delay or base_rtt * share[0] // share[1]
    rate_bps = parameters.link_rate_bps
    factor_a = rate_bps * base_rtt / 8_000_000_000 / REFERENCE_BDP
    factor_b = target / REFERENCE_RTT_NS
    packet = parameters.payload or parameters.mtu
    mtu = parameters.mtu
    # **decision** A near peer's window turns over more often, and would grow more often too.
    near = (peer_rtt + target) / (base_rtt + target)
    fi = _given(config.fi, _FAIR_PACKETS * packet * factor_a) * near
    peer_bdp = rate_bps * peer_rtt // 8_000_000_000
    return NsccValues(
        base_rtt=base_rtt,
        peer_rtt=peer_rtt,
        target_delay=target,
        alpha=_PROPORTIONAL_PACKETS * packet * factor_a * factor_b / target * near,
        eta=_given(config.eta, _STEADY_PACKETS * packet * factor_a) * near,
        fi=fi,
        fair=fi / _SILENT_FAIR_PART if config.silent_last_hop else fi,
        fi_scale=_given(config.fi_scale, _FAST_SHARE * factor_a),
        gamma=config.gamma,
        max_md_jump=config.max_md_jump,
        min_cwnd=mtu,
        max_cwnd=max(mtu, config.max_cwnd or peer_bdp * 3 // 2),
        qa_gate=config.qa_gate,
        qa_threshold=int(_given(config.qa_threshold, _QA_TARGETS * target)),
        adjust_bytes_threshold=int(_given(config.adjust_bytes_threshold, _ADJUST_PACKETS * mtu)),
        adjust_period_threshold=config.adjust_period_threshold or base_rtt,
        disable_qa=config.disable_qa,
        delay_weight=config.delay_weight,
        silent_last_hop=config.silent_last_hop,
        empty_delay=max(_EMPTY_NS, base_rtt // _EMPTY_PART),
    )


def _given(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
