// SPDX-License-Identifier: Apache-2.0
// One of each kind of object that the P4Runtime service serves, for its tests.
// Compiled with compile.py of this folder.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    bit<2> color;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    counter(8, CounterType.packets_and_bytes) seen;
    register<bit<12>>(4) cells;
    meter(4, MeterType.bytes) shaper;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.packets) pace;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action counted_forward(bit<9> port) {
        hits.count();
        standard_metadata.egress_spec = port;
    }

    action paced() {
        pace.read(meta.color);
    }

    table exact_match {
        key = { hdr.ethernet.dst: exact @name("dst"); }
        actions = { counted_forward; @tableonly drop; @defaultonly NoAction; }
        default_action = NoAction();
        counters = hits;
        size = 4;
    }

    table longest_prefix {
        key = { hdr.ethernet.src: lpm @name("src"); }
        actions = { forward; drop; }
        const default_action = drop();
        size = 16;
    }

    table masked {
        key = {
            hdr.ethernet.ether_type: ternary @name("type");
            standard_metadata.ingress_port: exact @name("port");
            hdr.ethernet.dst: range @name("dst");
            hdr.ethernet.src: optional @name("src");
        }
        actions = { forward; drop; }
        default_action = forward(1);
        size = 16;
    }

    table metered {
        key = { hdr.ethernet.ether_type: exact @name("type"); }
        actions = { paced; @defaultonly NoAction; }
        const default_action = NoAction();
        meters = pace;
        size = 4;
    }

    table fixed {
        key = { hdr.ethernet.ether_type: exact @name("type"); }
        actions = { forward; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            0x0800: forward(1);
            0x86dd: forward(2);
        }
    }

    apply {
        bit<12> cell;
        seen.count((bit<32>)standard_metadata.ingress_port & 7);
        cells.read(cell, 0);
        cells.write(0, cell + 1);
        shaper.execute_meter(0, meta.color);
        exact_match.apply();
        longest_prefix.apply();
        masked.apply();
        metered.apply();
        fixed.apply();
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply { }
}

control TestCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(
    TestParser(),
    TestVerify(),
    TestIngress(),
    TestEgress(),
    TestCompute(),
    TestDeparser()
) main;
