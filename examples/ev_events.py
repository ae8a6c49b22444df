# SPDX-License-Identifier: Apache-2.0
"""EV events: a switch port goes dark, and the controller hears which EVs died and came back."""

from __future__ import annotations

from endpoint import control as ctl
from endpoint import verbs as mrc
from examples.explicit_evs import SRV6_FIELDS, set_explicit, set_format, srv6_evs
from examples.qp_setup import connect, create, write
from examples.virtual_fabric import VirtualFabric
from testbed.virtual.link import Condition

FAULT = 0


def main() -> list[ctl.mrc_ctl_ev_event]:
    """Silences one T0-T1 link under load; prints and returns the events."""
    world = VirtualFabric()
    last = len(world.devices) - 1
    a, b = create(world.devices[0]), create(world.devices[last])
    features = ctl.mrc_ctl_query_device(a.device).opt_attr
    assert features & ctl.MRC_CTL_OPT_CAP_EV_EVENT
    set_format(a.context, 14, ctl.MRC_CTL_EV_FMT_MODE_SRV6, SRV6_FIELDS)
    set_explicit(a.context, 1, 14, srv6_evs(world.fabric, 0, last))
    ev_cq = ctl.mrc_ctl_create_ev_event_cq(a.context, cqe=128)
    connect(a, b, ev_profile_id=1)

    def send() -> None:
        write(a, b.card, len(a.buffer), wr_id=1)
        world.wait(lambda: bool(mrc.mrc_poll_cq(a.cq, 1)))

    send()
    wire = world.plant.wires["p0t0a-p0t1a"]
    for direction in wire.directions:
        world.plant.losses.begin(FAULT, world.plant.loop.now)
        direction.add(Condition(FAULT, "link silent"))
    send()
    for direction in wire.directions:
        direction.remove(FAULT)
    world.run(5_000_000)
    events = ctl.mrc_ctl_poll_ev_event(ev_cq, 128)
    for event in events:
        address = event.ev.val[:16].hex(":", 2)
        print(f"{address} on port {event.ev.port}: {event.state.name}, {event.drop_count} dropped")
    return events


if __name__ == "__main__":
    main()
