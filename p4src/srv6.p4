// SPDX-License-Identifier: Apache-2.0
// Where a packet goes: NEXT-C-SID (RFC 9800) over static tables that the controller writes once.
#ifndef MRC_SRV6_P4
#define MRC_SRV6_P4

control Srv6(inout headers_t hdr, inout metadata_t meta,
             inout standard_metadata_t standard_metadata) {
    // F3216: the block stays, the 96-bit uSID area moves up by one uSID, zero fill.
    action un() {
        hdr.ipv6.dst = hdr.ipv6.dst[127:96] ++ hdr.ipv6.dst[79:0] ++ 16w0;
    }

    action forward(port_t port, mac_t smac, mac_t dmac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src = smac;
        hdr.ethernet.dst = dmac;
    }

    action ua(port_t port, mac_t smac, mac_t dmac) {
        un();
        forward(port, smac, dmac);
    }

    // The switch's own SIDs: block and first uSID. A miss drops: no packet passes a switch
    // that its path does not name.
    table my_sid {
        key = { hdr.ipv6.dst[127:80]: exact @name("sid"); }
        actions = { un; ua; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    // An adjacency of this switch that follows its uN in the same address.
    table my_adjacency {
        key = { hdr.ipv6.dst[127:80]: exact @name("sid"); }
        actions = { ua; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    table fib {
        key = { hdr.ipv6.dst: lpm @name("dst"); }
        actions = { forward; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    apply {
        bool leaves_by_adjacency = false;
        switch (my_sid.apply().action_run) {
            un: { leaves_by_adjacency = my_adjacency.apply().hit; }
            ua: { leaves_by_adjacency = true; }
            default: { meta.drop_reason = DROP_NO_SID; }
        }

        if (meta.drop_reason == DROP_NONE && hdr.srh.isValid() && hdr.srh.segments_left != 0) {
            if (hdr.srh.segments_left > 1 || !hdr.segment.isValid()) {
                meta.drop_reason = DROP_SRH;
            } else if (hdr.ipv6.dst[95:0] == 0) {
                // RFC 8986 "End": the container is used up, the segment takes its place.
                hdr.ipv6.dst = hdr.segment.sid;
                hdr.srh.segments_left = 0;
            }
        }

        if (meta.drop_reason == DROP_NONE) {
            if (hdr.ipv6.dst[95:0] == 0) {
                // 0x0000 ends the container: nobody is left to send it to.
                meta.drop_reason = DROP_NO_ROUTE;
            } else if (!leaves_by_adjacency) {
                if (!fib.apply().hit) {
                    meta.drop_reason = DROP_NO_ROUTE;
                }
            }
        }
    }
}

#endif
