# SPDX-License-Identifier: Apache-2.0
"""The fabric description: what a topology file may say, with ranges, and why one is refused."""

from __future__ import annotations

from ipaddress import IPv6Network
from itertools import pairwise
from typing import Annotated

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    ValidationInfo,
    field_validator,
    model_validator,
)

from topologies import sids

_Int = Annotated[int, Strict()]
_Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
_RateGbps = Annotated[_Number, Field(ge=1e-6, le=3200)]
_DelayNs = Annotated[_Int, Field(ge=0, le=1_000_000_000)]
_Dscp = Annotated[_Int, Field(ge=0, le=63)]
_BdpMultiple = Annotated[_Number, Field(gt=0, le=100)]

PATH_MTUS = (256, 512, 1024, 2048, 4096)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TierRates(_Part):
    """Link rates in Gb/s per direction, 0.000001 to 3200."""

    nic_t0: _RateGbps = 100.0
    t0_t1: _RateGbps = 100.0


class TierDelays(_Part):
    """One-way link delays in ns, 0 to 1,000,000,000."""

    nic_t0: _DelayNs = 500
    t0_t1: _DelayNs = 500


class DscpMap(_Part):
    """Outer DSCP (0..63) of each traffic class; the values are the operator's, all different."""

    no_trim: _Dscp = 0
    trimmable: _Dscp = 4
    trimmable_retx: _Dscp = 8
    trimmed: _Dscp = 12
    trimmed_lasthop: _Dscp = 16
    control: _Dscp = 46

    @model_validator(mode="after")
    def _all_different(self) -> DscpMap:
        owner: dict[int, str] = {}
        for name, value in self:
            if value in owner:
                raise ValueError(f"{owner[value]} and {name} are both {value}; give each its own")
            owner[value] = name
        return self


class ThresholdMultiples(_Part):
    """Queue thresholds as multiples (above 0, at most 100) of the plane's BDP (UEC 1.0)."""

    ecn_min: _BdpMultiple = 0.2
    ecn_max: _BdpMultiple = 0.8
    trim: _BdpMultiple = 1.0
    trim_last_hop: _BdpMultiple = 1.5
    control_drop: _BdpMultiple = 1.0
    trimmed_drop: _BdpMultiple = 1.0

    @model_validator(mode="after")
    def _in_order(self) -> ThresholdMultiples:
        order = ("ecn_min", "ecn_max", "trim", "trim_last_hop")
        for lower, upper in pairwise(order):
            low, high = getattr(self, lower), getattr(self, upper)
            if low >= high:
                raise ValueError(f"{lower} ({low:g}) must be below {upper} ({high:g})")
        return self


class FabricSpec(_Part):
    """A two-tier multi-plane Clos fabric. Every field has a default except the dimensions.

    planes 1..8; t0s and t1s a plane; nics_per_t0; path_mtu in payload bytes; sid_block an IPv6
    /32; nic_prefix an IPv6 /64 outside it; trim_length in bytes from the Ethernet header.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
    planes: _Int
    t0s: _Int
    t1s: _Int
    nics_per_t0: _Int
    t0_uplinks: _Int | None = None
    rate_gbps: TierRates = TierRates()
    delay_ns: TierDelays = TierDelays()
    path_mtu: _Int = 4096
    sid_block: IPv6Network = IPv6Network("5f00::/32")
    nic_prefix: IPv6Network = IPv6Network("fd4d:5243::/64")
    dscp: DscpMap = DscpMap()
    thresholds: ThresholdMultiples = ThresholdMultiples()
    trim_length: Annotated[_Int, Field(ge=122, le=256)] = 142

    @field_validator("planes")
    @classmethod
    def _planes_fit(cls, value: int) -> int:
        return _within(value, sids.MAX_PLANES, "a uSID's 3 plane bits number 8 planes")

    @field_validator("t0s", "nics_per_t0")
    @classmethod
    def _indexes_fit(cls, value: int) -> int:
        return _within(value, sids.MAX_INDEX, "uSID overflow: indexes and ports are 11 bits")

    @field_validator("t1s")
    @classmethod
    def _uplinks_fit(cls, value: int) -> int:
        return _within(value, sids.MAX_UPLINKS, "an EV's 8 uplink bits number 256 T1s a plane")

    @field_validator("t0_uplinks")
    @classmethod
    def _one_uplink_per_t1(cls, value: int | None, info: ValidationInfo) -> int | None:
        t1s = info.data.get("t1s")
        if value is None or t1s is None or value == t1s:
            return value
        if value > t1s:
            raise ValueError(
                f"{value} uplinks to {t1s} T1s make parallel links between the same two switches, "
                f"which share one uSID and cannot be told apart; use t1s: {value}"
            )
        raise ValueError(f"{value} uplinks do not reach all {t1s} T1s; every T0 has one to each")

    @field_validator("path_mtu")
    @classmethod
    def _mtu_is_known(cls, value: int) -> int:
        if value not in PATH_MTUS:
            raise ValueError(f"must be one of {', '.join(map(str, PATH_MTUS))} bytes of payload")
        return value

    @field_validator("sid_block")
    @classmethod
    def _block_is_usable(cls, value: IPv6Network) -> IPv6Network:
        return _unicast(value, sids.BLOCK_BITS, "F3216 has a 32-bit block")

    @field_validator("nic_prefix")
    @classmethod
    def _prefix_is_usable(cls, value: IPv6Network, info: ValidationInfo) -> IPv6Network:
        block = info.data.get("sid_block")
        if block is not None and value.overlaps(block):
            raise ValueError(f"{value} lies within sid_block {block}: NIC addresses are no SIDs")
        return _unicast(value, 64, "a NIC's address is this prefix and its number")

    @model_validator(mode="after")
    def _ports_fit(self) -> FabricSpec:
        ports = self.nics_per_t0 + self.t1s
        if ports > sids.MAX_INDEX:
            raise ValueError(
                f"nics_per_t0: uSID overflow: {self.nics_per_t0} downlinks and {self.t1s} uplinks "
                f"are {ports} ports; an adjacency's uSID numbers at most {sids.MAX_INDEX}"
            )
        return self


def _within(value: int, limit: int, why: str) -> int:
    if not 1 <= value <= limit:
        raise ValueError(f"must be 1..{limit} ({why})")
    return value


def _unicast(value: IPv6Network, prefix_len: int, why: str) -> IPv6Network:
    if value.prefixlen != prefix_len:
        raise ValueError(f"must be a /{prefix_len} ({why})")
    if value.is_multicast or value.is_link_local or int(value.network_address) >> 96 == 0:
        raise ValueError("must be unicast, and neither link-local nor within ::/32")
    return value
