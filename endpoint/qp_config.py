# SPDX-License-Identifier: Apache-2.0
"""Settings of a queue pair, and what two of them tell each other to connect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from endpoint import congestion
from endpoint.congestion import CongestionControl
from endpoint.messages import nominal_size
from endpoint.path_plan import PathPlan
from endpoint.readmit import ReadmitPolicy
from endpoint.responder import ResponderConfig
from endpoint.retry_timer import (
    EXPONENTIAL_RETRIES,
    MAX_LINEAR_RETRIES,
    RetryPolicy,
    default_exponent,
)
from endpoint.rtt import RttEstimator
from topologies import Fabric
from topologies.model import PATH_MTUS
from topologies.timing import data_frame_bytes, link_bytes


@dataclass(frozen=True, slots=True)
class QpConfig:
    """Settings of one queue pair; what is None follows from the fabric or is random.

    `first_psn` (24 bits) of its own packets. `evs`: active paths over all planes, at most all of
    them. `timeout`: exponent of the timer, 1.024 µs × 2**timeout, 0 to 24. `reorder_ns`: least
    allowance for reordering in loss rule (b), by default the time a queue at its trim threshold
    takes to drain. `base_rtt_ns`: round trip without queues. `congestion`: name of an algorithm
    (`endpoint.congestion.names()`); `congestion_config`: its own settings, if it has any. `plan`:
    the operator's paths, instead of all that the fabric has.
    `path_mtu`: payload bytes of its full packets, at most the fabric's. `dynamic_mpr`: whether its
    window follows the MPR that the peer's SACKs tell; else it stays at the one told at connection.
    """

    first_psn: int | None = None
    evs: int | None = None
    min_active: int | None = None
    readmit: ReadmitPolicy = field(default_factory=ReadmitPolicy)
    timeout: int | None = None
    linear_retries: int = MAX_LINEAR_RETRIES
    exponential_retries: int = EXPONENTIAL_RETRIES
    congestion: str = "window"
    congestion_config: Any | None = None
    trimmable: bool = True
    base_rtt_ns: int | None = None
    reorder_ns: int | None = None
    responder: ResponderConfig = field(default_factory=ResponderConfig)
    plan: PathPlan | None = None
    path_mtu: int | None = None
    dynamic_mpr: bool = True

    def mtu(self, fabric: Fabric) -> int:
        """Payload bytes of its full packets. ValueError for a `path_mtu` that does not exist."""
        most = fabric.spec.path_mtu
        mtu = most if self.path_mtu is None else self.path_mtu
        if mtu not in PATH_MTUS or mtu > most:
            known = ", ".join(str(known) for known in PATH_MTUS if known <= most)
            raise ValueError(f"path_mtu {mtu} is not one of {known}")
        return mtu

    def rtt(self, fabric: Fabric) -> RttEstimator:
        """A round-trip estimator that knows the fabric's base round trip and its reordering."""
        base_ns = self.base_rtt_ns or fabric.base_rtt_ns()
        if self.reorder_ns is not None:
            return RttEstimator(base_ns, self.reorder_ns)
        frame_bits = 8 * link_bytes(data_frame_bytes(fabric.spec.path_mtu))
        drain = fabric.thresholds_packets().trim * frame_bits * 1_000_000_000
        return RttEstimator(base_ns, drain // fabric.uplink_rate_bps)

    def retry(self, base_rtt_ns: int) -> RetryPolicy:
        """The retransmission timer and its retries."""
        exponent = default_exponent(base_rtt_ns) if self.timeout is None else self.timeout
        return RetryPolicy(exponent, self.linear_retries, self.exponential_retries)

    def congestion_control(
        self, fabric: Fabric, base_rtt_ns: int, *, same_t0: bool = False
    ) -> CongestionControl:
        """A fresh congestion control for one queue pair on all planes of its NIC; `same_t0`: the
        peer is under the same T0. ValueError for an unknown algorithm or settings not its own."""
        nearer = same_t0 and self.base_rtt_ns is None
        mtu = self.mtu(fabric)
        parameters = congestion.CongestionParameters(
            nominal_size(mtu, True, True),
            base_rtt_ns,
            fabric.spec.planes * fabric.nic_rate_bps,
            self.trimmable,
            mtu,
            fabric.base_rtt_ns(same_t0=True) if nearer else None,
        )
        return congestion.create(self.congestion, parameters, self.congestion_config)


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """What the two sides tell each other: NIC index (0-based), QPN and first PSN (24 bits);
    `mpr_units` is the window that the peer's responder grants at the start, 128 PSNs each."""

    host_index: int
    qpn: int
    psn: int
    address: bytes | None = None
    mpr_units: int = 8
