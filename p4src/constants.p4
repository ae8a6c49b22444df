// SPDX-License-Identifier: Apache-2.0
// Sizes and numbers that more than one part of the program uses.
#ifndef MRC_CONSTANTS_P4
#define MRC_CONSTANTS_P4

typedef bit<9> port_t;
typedef bit<48> mac_t;
typedef bit<128> ipv6_address_t;
typedef bit<3> queue_t;
typedef bit<8> drop_reason_t;

const bit<16> ETHERTYPE_IPV6 = 0x86DD;
const bit<4> IPV6_VERSION = 6;
const bit<8> NEXT_HEADER_ROUTING = 43;
const bit<8> ROUTING_TYPE_SRH = 4;
// Length of an SRH with one segment, in units of 8 bytes after the first 8 (RFC 8754).
const bit<8> SRH_ONE_SEGMENT_EXT_LEN = 2;

// BMv2 ports are 9 bits wide; 511 is its drop port.
#define PORT_COUNT 512
#define DROP_REASON_COUNT 8

// Priority queues of a port: 0 is served last (simple_switch --priority-queues 3).
const queue_t QUEUE_DATA = 0;
const queue_t QUEUE_TRIMMED = 1;
const queue_t QUEUE_CONTROL = 2;
// Counters by port and queue lie at port * QUEUES_PER_PORT + queue.
#define QUEUES_PER_PORT 4

const bit<2> ECN_NOT_ECT = 0;
const bit<2> ECN_CE = 3;

// Index into the counter `drops`.
const drop_reason_t DROP_NONE = 0;
const drop_reason_t DROP_PARSE = 1;
const drop_reason_t DROP_HOP_LIMIT = 2;
const drop_reason_t DROP_NO_SID = 3;
const drop_reason_t DROP_NO_ROUTE = 4;
const drop_reason_t DROP_NO_PROFILE = 5;
const drop_reason_t DROP_SRH = 6;
const drop_reason_t DROP_CONGESTION = 7;

#endif
