// SPDX-License-Identifier: Apache-2.0
// Refused: a field of variable length.
#include <core.p4>
#include <v1model.p4>

header option_t { bit<8> size; varbit<64> rest; }
struct headers_t { option_t option; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.option, (bit<32>)(packet.lookahead<bit<8>>() << 3));
        transition accept;
    }
}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.option); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
