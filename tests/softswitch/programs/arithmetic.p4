// SPDX-License-Identifier: Apache-2.0
// A calculator: op, two operands and a width-crossing result in the packet. Covers wrapping,
// signed and saturating arithmetic, shifts, slices, concatenation, and nested conditions in actions.
#include <core.p4>
#include <v1model.p4>

header calc_t {
    bit<8> op;
    bit<16> a;
    bit<16> b;
    bit<16> r;
    bit<4> n;
    bit<12> m;
    int<8> s;
    int<8> t;
    bit<48> wide;
}

struct headers_t { calc_t calc; }
struct metadata_t { bit<5> five; bit<1> flag; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.calc); transition accept; }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action add() { hdr.calc.r = hdr.calc.a + hdr.calc.b; hdr.calc.m = hdr.calc.m + 12w4095; }
    action sub() { hdr.calc.r = hdr.calc.a - hdr.calc.b; hdr.calc.n = hdr.calc.n - 1; }
    action mul() { hdr.calc.r = hdr.calc.a * hdr.calc.b; hdr.calc.n = hdr.calc.n * 7; }
    action logic() {
        hdr.calc.r = (hdr.calc.a & 0x0FF0) | (hdr.calc.b ^ 0xF00F);
        hdr.calc.m = ~hdr.calc.m;
    }
    action shift_left() { hdr.calc.r = hdr.calc.a << (bit<8>)hdr.calc.b[7:0]; }
    action shift_right() { hdr.calc.r = hdr.calc.a >> (bit<8>)hdr.calc.b[7:0]; }
    action saturate() { hdr.calc.r = hdr.calc.a |+| hdr.calc.b; hdr.calc.s = hdr.calc.s |+| hdr.calc.t; }
    action saturate_down() { hdr.calc.r = hdr.calc.a |-| hdr.calc.b; hdr.calc.s = hdr.calc.s |-| hdr.calc.t; }
    action signed_ops() {
        hdr.calc.s = hdr.calc.s - hdr.calc.t;
        hdr.calc.t = -hdr.calc.t;
        hdr.calc.r = (bit<16>)(bit<8>)(hdr.calc.s >> 2);
    }
    action slices() {
        hdr.calc.r = hdr.calc.a[3:0] ++ hdr.calc.b[15:8] ++ hdr.calc.n;
        hdr.calc.wide = hdr.calc.wide[15:0] ++ hdr.calc.wide[47:16];
        hdr.calc.m[7:4] = hdr.calc.a[15:12];
    }
    action compare() {
        meta.five = 0;
        if (hdr.calc.a < hdr.calc.b && hdr.calc.s >= hdr.calc.t) { meta.five = 1; } else { meta.five = 16; }
        hdr.calc.r = (bit<16>)meta.five;
    }
    action choose() {
        hdr.calc.r = (hdr.calc.a > hdr.calc.b ? hdr.calc.a : hdr.calc.b) + (bit<16>)(bit<1>)(hdr.calc.s == hdr.calc.t);
    }
    action unknown() { mark_to_drop(sm); }

    table ops {
        key = { hdr.calc.op: exact; }
        actions = { add; sub; mul; logic; shift_left; shift_right; saturate; saturate_down;
                    signed_ops; slices; compare; choose; unknown; }
        const default_action = unknown();
        const entries = {
            0: add(); 1: sub(); 2: mul(); 3: logic(); 4: shift_left(); 5: shift_right();
            6: saturate(); 7: saturate_down(); 8: signed_ops(); 9: slices(); 10: compare(); 11: choose();
        }
    }

    apply {
        sm.egress_spec = 1;
        ops.apply();
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.calc); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
