// SPDX-License-Identifier: Apache-2.0
// Refused: a header stack.
#include <core.p4>
#include <v1model.p4>

header label_t { bit<7> label; bit<1> bottom; }
struct headers_t { label_t[3] labels; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) { 0: start; default: accept; }
    }
}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.labels); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
