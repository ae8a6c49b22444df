// SPDX-License-Identifier: Apache-2.0
// Headers that are read but never changed, between others that are; one that only leaves.
#include <core.p4>
#include <v1model.p4>

header first_t { bit<16> a; bit<16> b; bit<12> c; bit<4> d; }
header second_t { bit<8> next; bit<24> value; }
header third_t { bit<32> a; bit<32> b; }

struct headers_t { first_t first; second_t second; third_t third; third_t fourth; }
struct metadata_t { bit<32> sum; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.first);
        packet.extract(hdr.second);
        transition select(hdr.second.next) { 3: parse_third; 4: parse_fourth; 7: parse_both; default: accept; }
    }
    state parse_third { packet.extract(hdr.third); transition accept; }
    state parse_fourth { packet.extract(hdr.fourth); transition accept; }
    state parse_both { packet.extract(hdr.fourth); packet.extract(hdr.third); transition accept; }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (bit<9>)hdr.first.d;
        meta.sum = (bit<32>)hdr.first.a + (bit<32>)hdr.first.b + (bit<32>)hdr.first.c;
        if (hdr.third.isValid()) { meta.sum = meta.sum + hdr.third.a + hdr.third.b; }
        hdr.second.value = meta.sum[23:0];
        if (hdr.first.c == 0) { hdr.third.setInvalid(); }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.first); packet.emit(hdr.second); packet.emit(hdr.third); packet.emit(hdr.fourth); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
