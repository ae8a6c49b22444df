// SPDX-License-Identifier: Apache-2.0
// Headers back in order. IPv6 has no checksum, and no deeper header is touched.
#ifndef MRC_DEPARSER_P4
#define MRC_DEPARSER_P4

control MrcVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MrcComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MrcDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.srh);
        packet.emit(hdr.segment);
    }
}

#endif
