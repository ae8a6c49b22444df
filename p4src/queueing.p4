// SPDX-License-Identifier: Apache-2.0
// Which queue a packet waits in, and what congestion does to it: mark, trim, or drop.
#ifndef MRC_QUEUEING_P4
#define MRC_QUEUEING_P4

// Data packets that entered and left each port's data queue; the difference is its occupancy.
// Ingress and egress run at the same time, so each register has one writer.
register<bit<32>>(PORT_COUNT) enqueued;
register<bit<32>>(PORT_COUNT) dequeued;

control Queueing(inout headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    counter(PORT_COUNT, CounterType.packets_and_bytes) trimmed;
    counter(PORT_COUNT, CounterType.packets_and_bytes) marked;
    counter(PORT_COUNT * QUEUES_PER_PORT, CounterType.packets_and_bytes) class_enqueued;

    bit<1> trimmable = 0;
    bit<32> trim_threshold = 0;
    bit<32> trim_length = 0;
    bit<6> trimmed_dscp = 0;
    bit<32> ecn_min = 0;
    bit<32> ecn_max = 0;

    action set_class(queue_t queue, bit<1> can_trim) {
        meta.queue = queue;
        trimmable = can_trim;
    }

    // Outer DSCP to queue; an unknown DSCP waits with the data and is never cut.
    table classes {
        key = { hdr.ipv6.dscp: exact @name("dscp"); }
        actions = { set_class; }
        const default_action = set_class(QUEUE_DATA, 0);
        size = 64;
    }

    // threshold, min, max: packets in the data queue; length: bytes from the Ethernet header.
    // ECN is off where min and max are 0xFFFFFFFF (the last hop).
    action set_profile(bit<32> threshold, bit<32> length, bit<6> dscp,
                       bit<32> min_occupancy, bit<32> max_occupancy) {
        trim_threshold = threshold;
        trim_length = length;
        trimmed_dscp = dscp;
        ecn_min = min_occupancy;
        ecn_max = max_occupancy;
    }

    table queue_profile {
        key = { standard_metadata.egress_spec: exact @name("port"); }
        actions = { set_profile; @defaultonly NoAction; }
        const default_action = NoAction();
        size = PORT_COUNT;
    }

    // A packet shorter than the length is marked as trimmed and keeps all its bytes.
    action trim() {
        hdr.ipv6.dscp = trimmed_dscp;
        meta.queue = QUEUE_TRIMMED;
        truncate(trim_length);
        trimmed.count((bit<32>)standard_metadata.egress_spec);
    }

    action mark() {
        hdr.ipv6.ecn = ECN_CE;
        marked.count((bit<32>)standard_metadata.egress_spec);
    }

    apply {
        bit<32> port = (bit<32>)standard_metadata.egress_spec;
        classes.apply();
        if (!queue_profile.apply().hit) {
            meta.drop_reason = DROP_NO_PROFILE;
        } else if (meta.queue == QUEUE_DATA) {
            bit<32> count_in;
            bit<32> count_out;
            enqueued.read(count_in, port);
            dequeued.read(count_out, port);
            bit<32> occupancy = count_in - count_out;
            if (occupancy[31:31] == 1) {
                // Counts that a restart left behind each other: start again from an empty queue.
                occupancy = 0;
                count_in = count_out;
                enqueued.write(port, count_in);
            }
            if (occupancy >= trim_threshold) {
                if (trimmable == 1) {
                    if (hdr.srh.isValid()) {
                        trim_length = trim_length + (((bit<32>)hdr.srh.hdr_ext_len + 1) << 3);
                    }
                    trim();
                } else {
                    meta.drop_reason = DROP_CONGESTION;
                }
            } else {
                enqueued.write(port, count_in + 1);
                if (hdr.ipv6.ecn != ECN_NOT_ECT && occupancy >= ecn_min) {
                    bit<32> draw = 0;
                    if (occupancy < ecn_max) {
                        random(draw, 0, ecn_max - ecn_min - 1);
                    }
                    if (draw < occupancy - ecn_min || occupancy >= ecn_max) {
                        mark();
                    }
                }
            }
        }
        if (meta.drop_reason == DROP_NONE) {
            standard_metadata.priority = meta.queue;
            class_enqueued.count(port * QUEUES_PER_PORT + (bit<32>)meta.queue);
        }
    }
}

control Dequeueing(in metadata_t meta, in standard_metadata_t standard_metadata) {
    counter(PORT_COUNT * QUEUES_PER_PORT, CounterType.packets_and_bytes) class_dequeued;

    apply {
        bit<32> port = (bit<32>)standard_metadata.egress_port;
        class_dequeued.count(port * QUEUES_PER_PORT + (bit<32>)meta.queue);
        if (meta.queue == QUEUE_DATA) {
            bit<32> count_out;
            dequeued.read(count_out, port);
            dequeued.write(port, count_out + 1);
        }
    }
}

#endif
