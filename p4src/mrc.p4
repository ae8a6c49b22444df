// SPDX-License-Identifier: Apache-2.0
// The switch of an MRC fabric: SRv6 uSID forwarding, ECN marking, payload trimming.
// One program for every switch; T0 and T1 differ only in their table entries.
// It reads the Ethernet and the outer IPv6 header, and one SRH, nothing deeper.
#include <core.p4>
#include <v1model.p4>

#include "constants.p4"
#include "headers.p4"
#include "parser.p4"
#include "srv6.p4"
#include "queueing.p4"
#include "deparser.p4"

control MrcIngress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    counter(PORT_COUNT, CounterType.packets_and_bytes) rx;
    counter(DROP_REASON_COUNT, CounterType.packets_and_bytes) drops;
    Srv6() srv6;
    Queueing() queueing;

    apply {
        rx.count((bit<32>)standard_metadata.ingress_port);
        // Without a decision a packet would leave by port 0.
        mark_to_drop(standard_metadata);
        if (standard_metadata.parser_error != error.NoError) {
            meta.drop_reason = DROP_PARSE;
        } else if (hdr.ipv6.hop_limit <= 1) {
            meta.drop_reason = DROP_HOP_LIMIT;
        } else {
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            srv6.apply(hdr, meta, standard_metadata);
            if (meta.drop_reason == DROP_NONE) {
                queueing.apply(hdr, meta, standard_metadata);
            }
        }
        if (meta.drop_reason != DROP_NONE) {
            mark_to_drop(standard_metadata);
            drops.count((bit<32>)meta.drop_reason);
        }
    }
}

control MrcEgress(inout headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    counter(PORT_COUNT, CounterType.packets_and_bytes) tx;
    Dequeueing() dequeueing;

    apply {
        tx.count((bit<32>)standard_metadata.egress_port);
        dequeueing.apply(meta, standard_metadata);
    }
}

V1Switch(
    MrcParser(),
    MrcVerifyChecksum(),
    MrcIngress(),
    MrcEgress(),
    MrcComputeChecksum(),
    MrcDeparser()
) main;
