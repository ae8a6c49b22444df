# SPDX-License-Identifier: Apache-2.0
"""Forwarding is the program's own: changes to its JSON or its tables change what comes out."""

import mrc_switch as mrc
from mrc_switch import address, drops, forward, make_switch, mrc_program, packet
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether


def without_body(*names):
    def change(document):
        changed = [a for a in document["actions"] if a["name"] in names]
        assert changed
        for action in changed:
            action["primitives"] = []

    return change


def test_un_made_a_no_op_no_longer_forwards():
    switch = make_switch(mrc_program(without_body(mrc.UN)))
    assert forward(switch, packet()) is None
    assert drops(switch) == {"no route": 1}
    # With a route for the unshifted address it leaves, and still carries the switch's own SID.
    route = address(mrc.SID_UN)
    switch.tables[mrc.FIB].insert(((route, 48),), mrc.FORWARD, (mrc.PORT_FIB, 1, 2))
    _, _, data = forward(switch, packet())
    assert Ether(data)[IPv6].dst == packet()[IPv6].dst


def test_forward_made_a_no_op_drops():
    switch = make_switch(mrc_program(without_body(mrc.FORWARD)))
    assert forward(switch, packet()) is None
    assert drops(switch) == {"no profile": 1}


def test_hop_limit_constant_is_read_from_the_json():
    def change(document):
        found = []

        def walk(node):
            if isinstance(node, dict):
                if node.get("op") == "<=" and node["left"]["value"] == ["ipv6", "hop_limit"]:
                    node["right"]["value"] = "0x20"
                    found.append(node)
                for value in node.values():
                    walk(value)
            elif isinstance(node, list):
                for value in node:
                    walk(value)

        walk(document["pipelines"])
        assert found

    switch = make_switch(mrc_program(change))
    assert forward(switch, packet(hop_limit=32)) is None
    assert forward(switch, packet(hop_limit=33)) is not None


def test_threshold_zero_cuts_every_trimmable_packet():
    switch = make_switch()
    profile = (0, mrc.TRIM_LENGTH, mrc.TRIMMED, mrc.ECN_MIN, mrc.ECN_MAX)
    switch.tables[mrc.PROFILE].modify((mrc.PORT_FIB,), mrc.SET_PROFILE, profile)
    for _ in range(20):
        port, priority, data = forward(switch, packet(payload=2000))
        assert (port, priority, len(data)) == (mrc.PORT_FIB, mrc.TRIMMED_QUEUE, mrc.TRIM_LENGTH)


def test_a_deleted_fib_entry_shows_as_no_route():
    switch = make_switch()
    assert forward(switch, packet()) is not None
    switch.tables[mrc.FIB].delete(((mrc.sid_key(mrc.SID_NEXT) << 80, 48),))
    assert forward(switch, packet()) is None
    assert drops(switch) == {"no route": 1}


def test_a_modified_entry_counts_from_the_next_packet():
    switch = make_switch()
    forward(switch, packet())
    key = ((mrc.sid_key(mrc.SID_NEXT) << 80, 48),)
    switch.tables[mrc.FIB].modify(key, mrc.FORWARD, (mrc.PORT_UA, 1, 2))
    assert forward(switch, packet())[0] == mrc.PORT_UA
