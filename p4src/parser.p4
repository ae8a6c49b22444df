// SPDX-License-Identifier: Apache-2.0
// Ethernet, the outer IPv6 header, and an SRH with one segment. Any parser error means a drop.
#ifndef MRC_PARSER_P4
#define MRC_PARSER_P4

parser MrcParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        verify(hdr.ethernet.ether_type == ETHERTYPE_IPV6, error.NotIpv6);
        packet.extract(hdr.ipv6);
        verify(hdr.ipv6.version == IPV6_VERSION, error.BadIpv6Version);
        transition select(hdr.ipv6.next_header) {
            NEXT_HEADER_ROUTING: parse_routing_header;
            default: accept;
        }
    }

    state parse_routing_header {
        packet.extract(hdr.srh);
        transition select(hdr.srh.routing_type, hdr.srh.hdr_ext_len) {
            (ROUTING_TYPE_SRH, SRH_ONE_SEGMENT_EXT_LEN): parse_segment;
            default: accept;
        }
    }

    state parse_segment {
        packet.extract(hdr.segment);
        transition accept;
    }
}

#endif
