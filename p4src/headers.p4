// SPDX-License-Identifier: Apache-2.0
// Headers that a switch reads, and the metadata it carries from ingress to egress.
#ifndef MRC_HEADERS_P4
#define MRC_HEADERS_P4

header ethernet_t {
    mac_t dst;
    mac_t src;
    bit<16> ether_type;
}

header ipv6_t {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> payload_length;
    bit<8> next_header;
    bit<8> hop_limit;
    ipv6_address_t src;
    ipv6_address_t dst;
}

// RFC 8754, without the segment list.
header srh_t {
    bit<8> next_header;
    bit<8> hdr_ext_len;
    bit<8> routing_type;
    bit<8> segments_left;
    bit<8> last_entry;
    bit<8> flags;
    bit<16> tag;
}

header segment_t {
    ipv6_address_t sid;
}

struct headers_t {
    ethernet_t ethernet;
    ipv6_t ipv6;
    srh_t srh;
    segment_t segment;
}

struct metadata_t {
    drop_reason_t drop_reason;
    queue_t queue;
}

error {
    NotIpv6,
    BadIpv6Version
}

#endif
