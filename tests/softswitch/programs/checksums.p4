// SPDX-License-Identifier: Apache-2.0
// IPv4 checksum verified and updated, hashes of all algorithms, registers, random.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> ether_type; }
header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> total_length;
    bit<16> id;
    bit<3> flags;
    bit<13> offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}
header result_t { bit<16> crc16; bit<32> crc32; bit<16> csum; bit<16> xor; bit<16> ccitt; bit<16> drawn; bit<16> old; }

struct headers_t { ethernet_t ethernet; ipv4_t ipv4; result_t result; }
struct metadata_t { }

register<bit<12>>(8) cells;

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { 0x0800: parse_ipv4; default: accept; }
    }
    state parse_ipv4 { packet.extract(hdr.ipv4); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_length, hdr.ipv4.id,
              hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (sm.checksum_error == 1) { sm.egress_spec = 2; }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            hdr.result.setValid();
            hash(hdr.result.crc16, HashAlgorithm.crc16, 16w0, { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.flags }, 32w65536);
            hash(hdr.result.crc32, HashAlgorithm.crc32, 32w0, { hdr.ipv4.src, hdr.ipv4.dst, 5w9 }, 64w0x100000000);
            hash(hdr.result.csum, HashAlgorithm.csum16, 16w3, { hdr.ipv4.src, hdr.ipv4.tos }, 16w1000);
            hash(hdr.result.xor, HashAlgorithm.xor16, 16w0, { hdr.ipv4.src, hdr.ipv4.tos }, 32w65536);
            hash(hdr.result.ccitt, HashAlgorithm.crc16_custom, 16w0, { hdr.ipv4.id, hdr.ipv4.tos }, 32w65536);
            random(hdr.result.drawn, (bit<16>)hdr.ipv4.tos, hdr.ipv4.id);
            bit<12> old;
            cells.read(old, (bit<32>)hdr.ipv4.protocol);
            hdr.result.old = (bit<16>)old;
            cells.write((bit<32>)hdr.ipv4.protocol, (bit<12>)hdr.ipv4.id[11:0] + old);
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }

control C(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.tos != 0xFF,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_length, hdr.ipv4.id,
              hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); packet.emit(hdr.result); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
