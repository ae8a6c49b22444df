// SPDX-License-Identifier: Apache-2.0
// Headers that come and go in both pipelines, lookahead and advance, verify, truncate, exit,
// and the metadata that simple_switch fills in.
#include <core.p4>
#include <v1model.p4>

error { BadMagic }

header base_t { bit<8> magic; bit<8> op; bit<8> skip; bit<8> value; }
header tag_t { bit<16> id; bit<16> info; }
header report_t {
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<32> ingress_length;
    bit<32> egress_length;
    bit<32> enq_timestamp;
    bit<32> deq_timedelta;
    bit<32> enq_qdepth;
    bit<32> deq_qdepth;
    bit<48> ingress_time;
    bit<48> egress_time;
    bit<32> parser_error;
    bit<16> egress_spec;
}

struct headers_t { base_t base; report_t report; tag_t tag; tag_t copy; }
struct metadata_t { bit<16> peek; bit<32> parser_error; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.base);
        verify(hdr.base.magic == 0xA5, error.BadMagic);
        meta.peek = packet.lookahead<bit<16>>();
        packet.advance((bit<32>)hdr.base.skip << 3);
        transition select(packet.lookahead<bit<8>>(), hdr.base.op) {
            (0x77, 0x00 &&& 0xF0): parse_tag;
            default: accept;
        }
    }
    state parse_tag { packet.extract(hdr.tag); transition accept; }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    bit<8> steps = 0;
    action leave() { exit; }
    apply {
        sm.egress_spec = 3;
        sm.priority = hdr.base.value[2:0];
        meta.parser_error = 0;
        if (sm.parser_error == error.PacketTooShort) { meta.parser_error = 1; }
        if (sm.parser_error == error.BadMagic) { meta.parser_error = 2; }
        if (hdr.base.op[3:0] == 1) {
            hdr.copy.setValid();
            hdr.copy.id = meta.peek;
        } else if (hdr.base.op[3:0] == 2) {
            hdr.copy = hdr.tag;
            hdr.tag.setInvalid();
            hdr.copy.info = hdr.copy.info + 1;
        } else if (hdr.base.op[3:0] == 3) {
            truncate((bit<32>)hdr.base.value);
        } else if (hdr.base.op[3:0] == 4) {
            leave();
            sm.egress_spec = 9;
        } else if (hdr.base.op[3:0] == 5) {
            hdr.tag.setValid();
            hdr.tag.setInvalid();
            hdr.tag.setValid();
        }
        steps = steps + 1;
        if (hdr.base.isValid()) { hdr.base.value = hdr.base.value + steps; }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.base.op[7:4] == 1) {
            hdr.report.setValid();
            hdr.report.ingress_port = (bit<16>)sm.ingress_port;
            hdr.report.egress_port = (bit<16>)sm.egress_port;
            hdr.report.egress_length = sm.packet_length;
            hdr.report.enq_timestamp = sm.enq_timestamp;
            hdr.report.deq_timedelta = sm.deq_timedelta;
            hdr.report.enq_qdepth = (bit<32>)sm.enq_qdepth;
            hdr.report.deq_qdepth = (bit<32>)sm.deq_qdepth;
            hdr.report.ingress_time = sm.ingress_global_timestamp;
            hdr.report.egress_time = sm.egress_global_timestamp;
            hdr.report.parser_error = meta.parser_error;
            hdr.report.egress_spec = (bit<16>)sm.egress_spec;
        } else if (hdr.base.op[7:4] == 2) {
            mark_to_drop(sm);
        } else if (hdr.base.op[7:4] == 3) {
            truncate(6);
        } else if (hdr.base.op[7:4] == 4 && hdr.tag.isValid()) {
            hdr.tag.info = 0xBEEF;
        }
    }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.base);
        packet.emit(hdr.report);
        packet.emit(hdr.tag);
        packet.emit(hdr.copy);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
