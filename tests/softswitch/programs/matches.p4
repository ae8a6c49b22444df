// SPDX-License-Identifier: Apache-2.0
// Every match kind, direct counters and meters, indirect meters, constant entries, action_run.
#include <core.p4>
#include <v1model.p4>

header key_t {
    bit<8> kind;
    bit<8> a;
    bit<16> b;
    bit<32> c;
    bit<8> color;
    bit<8> chosen;
    bit<16> hash;
}
header option_t { bit<8> value; }

struct headers_t { key_t key; option_t option; }
struct metadata_t { bit<2> color; bit<2> port_color; bit<8> chosen; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.key);
        transition select(hdr.key.kind) {
            0x80 &&& 0x80: parse_option;
            default: accept;
        }
    }
    state parse_option { packet.extract(hdr.option); transition accept; }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) ternary_hits;
    direct_meter<bit<2>>(MeterType.bytes) exact_meter;
    meter(4, MeterType.packets) port_meter;
    counter(4, CounterType.packets_and_bytes) small;

    action choose(bit<8> value) { meta.chosen = value; }
    action choose_counted(bit<8> value) { meta.chosen = value; ternary_hits.count(); }
    action choose_metered(bit<8> value) { meta.chosen = value; exact_meter.read(meta.color); }
    action refuse() { mark_to_drop(sm); }

    table exact_pair {
        key = { hdr.key.a: exact; hdr.key.b: exact; }
        actions = { choose_metered; NoAction; }
        meters = exact_meter;
        size = 4;
        default_action = NoAction();
    }
    table prefixes {
        key = { hdr.key.c: lpm; }
        actions = { choose; refuse; NoAction; }
        size = 256;
        default_action = NoAction();
    }
    table prefix_in_group {
        key = { hdr.key.a: exact; hdr.key.c: lpm; }
        actions = { choose; NoAction; }
        default_action = choose(99);
    }
    table masks {
        key = { hdr.key.b: ternary; hdr.key.a: ternary; }
        actions = { choose_counted; NoAction; }
        counters = ternary_hits;
        size = 64;
        default_action = NoAction();
    }
    table ranges {
        key = { hdr.key.b: range; hdr.key.a: exact; hdr.option.isValid(): exact; }
        actions = { choose; refuse; NoAction; }
        default_action = NoAction();
    }
    table fixed {
        key = { hdr.key.b: ternary; }
        actions = { choose; }
        default_action = choose(7);
        const entries = {
            0x1000 &&& 0xF000: choose(1);
            0x1200 &&& 0xFF00: choose(2);
            _: choose(3);
        }
    }
    table keyless {
        actions = { choose; refuse; NoAction; }
        default_action = choose(50);
    }

    apply {
        sm.egress_spec = 2;
        small.count((bit<32>)hdr.key.a);
        if (hdr.key.kind[6:0] == 0) {
            exact_pair.apply();
        } else if (hdr.key.kind[6:0] == 1) {
            if (prefixes.apply().hit) { meta.chosen = meta.chosen + 100; } else { meta.chosen = 200; }
        } else if (hdr.key.kind[6:0] == 2) {
            prefix_in_group.apply();
        } else if (hdr.key.kind[6:0] == 3) {
            if (masks.apply().miss) { meta.chosen = 201; }
        } else if (hdr.key.kind[6:0] == 4) {
            switch (ranges.apply().action_run) {
                choose: { hdr.key.hash = 1; }
                refuse: { hdr.key.hash = 2; small.count(3); }
                default: { hdr.key.hash = 3; }
            }
            meta.chosen = meta.chosen + 1;
        } else if (hdr.key.kind[6:0] == 5) {
            fixed.apply();
        } else if (hdr.key.kind[6:0] == 6) {
            keyless.apply();
        } else if (hdr.key.kind[6:0] == 7) {
            port_meter.execute_meter((bit<32>)hdr.key.a, meta.port_color);
        }
        hdr.key.chosen = meta.chosen;
        hdr.key.color = 4w0 ++ meta.port_color ++ meta.color;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.key); packet.emit(hdr.option); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
