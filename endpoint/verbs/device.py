# SPDX-License-Identifier: Apache-2.0
"""The device: one NIC in its world, its ports and memory, and what all its contexts share.

It takes the NIC's completions and events and hands them on, so a NIC has one device and nobody
else polls it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from endpoint.api_error import MrcError
from endpoint.events import Completion, Event
from endpoint.memory import Access
from endpoint.nic import Nic
from endpoint.profiles.store import ProfileStore
from endpoint.verbs.driver import Driver
from endpoint.verbs.ibv import (
    IBV_PORT_ACTIVE,
    IBV_PORT_DOWN,
    ibv_access_flags,
    ibv_mr,
    ibv_mtu,
    ibv_port_attr,
)
from endpoint.verbs.objects import (
    MRC_DEVICE_CAP_DYNAMIC_MPR,
    MRC_DEVICE_CAP_TRIM_NACK,
    MRC_PROTOCOL_VERSION_1,
    mrc_device_attr,
    mrc_mpr_attr,
    mrc_qp_limits,
    mrc_wimm_attr,
)

if TYPE_CHECKING:
    from endpoint.verbs.context import mrc_context

MAX_WIMM = 0xFFFF
MAX_MPR = 0xFF
MAX_QP_HINTS = 1 << 16


class ibv_context:
    """An open device. `disabled`: mask of ports (bit = plane) that an operator took out.

    `carrier_up(port)` and `carrier_down(port)` are what the driver tells of its ports (0-based,
    as in the engine), so that a port is usable when it has carrier and is not disabled.
    """

    def __init__(self, nic: Nic, driver: Driver) -> None:
        self.nic = nic
        self.driver = driver
        self.profiles = ProfileStore(nic)
        self.disabled = 0
        self.carrier = nic.local_ports
        self.contexts: list[mrc_context] = []
        self.on_completion: dict[int, Callable[[Completion], None]] = {}
        """Who takes the completions of a QP, by its number."""
        self.on_event: list[Callable[[Event], None]] = []

    @property
    def now_ns(self) -> int:
        """The time."""
        return self.driver.now_ns()

    def harvest(self) -> None:
        """Hands on what the NIC has to tell; every call of the API that looks does this first."""
        for completion in self.nic.poll_completions():
            taker = self.on_completion.get(completion.qpn)
            if taker is not None:
                taker(completion)
        for event in self.nic.events():
            for listener in self.on_event:
                listener(event)

    # -- ports ----------------------------------------------------------------------------------

    def port(self, port_num: int) -> int:
        """The engine's number (from 0) of a port of the API (from 1). MrcError(EINVAL)."""
        if not 1 <= port_num <= self.nic.fabric.spec.planes:
            raise MrcError(errno.EINVAL, f"this device has no port {port_num}")
        return port_num - 1

    def carrier_down(self, port: int) -> None:
        """A port lost its carrier."""
        self.carrier &= ~(1 << port)
        self.apply_ports()

    def carrier_up(self, port: int) -> None:
        """A port has carrier again."""
        self.carrier |= 1 << port
        self.apply_ports()

    def apply_ports(self) -> None:
        """Tells the engine which ports are usable now."""
        usable = self.carrier & ~self.disabled
        changed = usable ^ self.nic.local_ports
        for port in range(self.nic.fabric.spec.planes):
            if changed >> port & 1:
                act = self.nic.port_up if usable >> port & 1 else self.nic.port_down
                act(port, self.now_ns)
        if changed:
            self.driver.kick()

    def host_of(self, gid: bytes) -> int:
        """The index of the NIC with an address. MrcError(EINVAL) when the fabric has none."""
        index = self.nic.fabric.index_of(gid)
        if index is None:
            raise MrcError(errno.EINVAL, f"no NIC of this fabric has the address {gid.hex()}")
        return index


def ibv_open_device(nic: Nic, driver: Driver) -> ibv_context:
    """Opens a NIC for the API."""
    return ibv_context(nic, driver)


def ibv_query_gid(context: ibv_context, port_num: int, index: int) -> bytes:
    """The NIC's own address: the same on every port (1-based), and the only one (index 0)."""
    context.port(port_num)
    if index != 0:
        raise MrcError(errno.EINVAL, f"GID index {index}: a NIC has one address")
    return context.nic.address


def ibv_query_port(context: ibv_context, port_num: int) -> ibv_port_attr:
    """State, MTU and rate of a port (1-based)."""
    nic = context.nic
    up = nic.local_ports >> context.port(port_num) & 1
    mtu = next(mtu for mtu in ibv_mtu if mtu.payload == nic.fabric.spec.path_mtu)
    return ibv_port_attr(IBV_PORT_ACTIVE if up else IBV_PORT_DOWN, mtu, nic.fabric.nic_rate_bps)


@dataclass(eq=False, slots=True)
class ibv_pd:
    """A protection domain: its memory regions are what its QPs may send from."""

    context: ibv_context
    regions: dict[int, ibv_mr]
    users: int = 0


def ibv_alloc_pd(context: ibv_context) -> ibv_pd:
    """A new protection domain."""
    return ibv_pd(context, {})


def ibv_dealloc_pd(pd: ibv_pd) -> None:
    """MrcError(EBUSY) while it has memory regions or QPs."""
    if pd.regions or pd.users:
        raise MrcError(errno.EBUSY, "the protection domain has memory regions or QPs")


def ibv_reg_mr(pd: ibv_pd, buffer: bytearray | memoryview, access: ibv_access_flags) -> ibv_mr:
    """Registers a contiguous buffer. MrcError(EINVAL) where it cannot be written as asked."""
    try:
        region = pd.context.nic.register_memory(buffer, Access(int(access)))
    except ValueError as error:
        raise MrcError(errno.EINVAL, str(error)) from error
    mr = ibv_mr(region.va, region.length, region.rkey, region.rkey, region)
    pd.regions[mr.lkey] = mr
    return mr


def ibv_dereg_mr(pd: ibv_pd, mr: ibv_mr) -> None:
    """Forgets a buffer: packets that name it from now on are violations."""
    if pd.regions.pop(mr.lkey, None) is None:
        raise MrcError(errno.EINVAL, f"lkey {mr.lkey:#x} is not registered")
    pd.context.nic.memory.deregister(mr.rkey)


def mrc_query_device_ex(
    context: ibv_context, mcontext: mrc_context | None = None
) -> tuple[mrc_device_attr, bool]:
    """What the device can do, and whether it does MRC at all (always)."""
    attr = mrc_device_attr(
        MRC_PROTOCOL_VERSION_1,
        mrc_wimm_attr(MAX_WIMM, MAX_WIMM),
        mrc_mpr_attr(MAX_MPR, 1),
        mrc_qp_limits(MAX_QP_HINTS),
        MRC_DEVICE_CAP_TRIM_NACK | MRC_DEVICE_CAP_DYNAMIC_MPR,
    )
    return attr, True


def mrc_query_device(context: ibv_context) -> tuple[mrc_device_attr, bool]:
    """As `mrc_query_device_ex`, for applications that know version 1.0.0 only."""
    return mrc_query_device_ex(context)
