-- SPDX-License-Identifier: Apache-2.0
--
-- MRC's opcodes, headers and names, as docs/wire-format.md has them; mrc.lua reads them.

local OPCODES = {
  [0xC6] = "RDMA WRITE First", [0xC7] = "RDMA WRITE Middle", [0xC8] = "RDMA WRITE Last",
  [0xC9] = "RDMA WRITE Last with Immediate", [0xCA] = "RDMA WRITE Only",
  [0xCB] = "RDMA WRITE Only with Immediate", [0xD1] = "Acknowledge",
  [0xD8] = "Endpoint Request", [0xD9] = "Endpoint Response", [0xDC] = "Reliability SACK",
  [0xDD] = "Reliability NACK", [0xDE] = "Reliability Probe Request",
}
local REASONS = {
  [0x01] = "TRIMMED", [0x02] = "TRIMMED_LASTHOP", [0x06] = "NO_BITMAP", [0x07] = "NO_PKT_BUFFER",
  [0x0A] = "NO_RESOURCE", [0x0B] = "PSN_OOR_WINDOW", [0x19] = "UNEXP_EVENT",
}
local MARKS = { [0] = "NONE", [1] = "SKIP_ONCE", [2] = "ALWAYS_SKIP" }
local OPS = { [0] = "PORT_STATUS_UPDATE", [1] = "EV_PROBE" }
local SYNDROMES = { [0x1F] = "ACK", [0x60] = "NAK PSN sequence error",
  [0x61] = "NAK invalid request", [0x62] = "NAK remote access error",
  [0x63] = "NAK remote operational error" }

-- Each header: size, title, fields. A field: name, label, offset, bytes, kind, mask, value names,
-- and the range of values that receivers accept, when it is not all.
local function STAMP(at)
  return { "tx_timestamp", "Transmit timestamp (128 ns)", at, 2, "dec" },
    { "tsr", "TSR", at + 2, 2, "flag", 0x8000 }, { "type", "Type", at + 2, 2, "dec", 0x000F, nil, { 1, 1 } }
end
local HEADERS = {
  bth = { 12, "Base Transport Header", {
    { "opcode", "Opcode", 0, 1, "hex", nil, OPCODES },
    { "solicited", "Solicited event", 1, 1, "flag", 0x80 },
    { "migration", "Migration", 1, 1, "flag", 0x40 },
    { "pad_count", "Pad count", 1, 1, "dec", 0x30 },
    { "version", "Version", 1, 1, "dec", 0x0F, nil, { 0, 0 } },
    { "pkey", "Partition key", 2, 2, "hex" },
    { "dest_qp", "Destination QP", 5, 3, "hex" },
    { "ack_request", "Acknowledge request", 8, 1, "flag", 0x80 },
    { "r", "R", 8, 1, "flag", 0x40 },
    { "rtx", "Retransmission", 8, 1, "flag", 0x20 },
    { "ts", "Timestamp header follows", 8, 1, "flag", 0x10 },
    { "psn", "Packet sequence number", 9, 3, "dec" } } },
  meth = { 4, "MRC Extended Transport Header", {
    { "rqmsn", "RQMSN", 0, 2, "dec" }, { "msn", "MSN", 2, 2, "dec" } } },
  tseth = { 4, "Timestamp Extended Transport Header", { STAMP(0) } },
  reth = { 16, "RDMA Extended Transport Header", {
    { "va", "Virtual address", 0, 8, "hex" }, { "rkey", "Remote key", 8, 4, "hex" },
    { "length", "Length of this packet's payload", 12, 4, "dec" } } },
  immdt = { 4, "Immediate Data", { { "imm", "Immediate data", 0, 4, "hex" } } },
  aeth = { 4, "Acknowledge Extended Transport Header", {
    { "syndrome", "Syndrome", 0, 1, "hex", nil, SYNDROMES }, { "msn", "MSN", 1, 3, "dec" } } },
  seth = { 28, "Selective Acknowledge Extended Transport Header", {
    { "type", "Type", 0, 2, "dec", 0xF000, nil, { 0, 0 } },
    { "next_code", "Next", 0, 2, "dec", 0x0F80 },
    { "mark", "Mark (m)", 0, 2, "dec", 0x0060, MARKS, { 0, 2 } },
    { "pr", "Probe response", 0, 2, "flag", 0x0002 },
    { "ack_psn_offset", "Offset of the PSN that caused this", 2, 2, "int" },
    { "probe_id", "Probe id", 2, 2, "hex" },
    { "ev", "Echoed EV", 4, 4, "hex" },
    { "spdcid", "SPDCID", 8, 2, "hex" }, { "dpdcid", "DPDCID", 10, 2, "hex" },
    { "cack_psn", "Cumulative PSN", 13, 3, "dec" },
    { "cc_type", "CC type", 16, 1, "dec", 0xF0 }, { "cc_flags", "CC flags", 16, 1, "hex", 0x0F },
    { "mpr_units", "MPR (128 PSNs)", 17, 1, "dec" },
    { "sack_offset", "Offset of the bitmap", 18, 2, "int" },
    { "bitmap", "Bitmap", 20, 8, "hex" } } },
  cc_state = { 8, "Congestion Control State", {
    { "tx_timestamp", "Reflected timestamp (128 ns)", 0, 2, "dec" },
    { "ooo_count", "Out-of-order count", 2, 2, "dec", 0x7FFF },
    { "restore_cwnd", "Restore window", 4, 1, "flag", 0x80 },
    { "rcv_cwnd_pen", "Receiver's window penalty (1/128)", 4, 1, "dec", 0x7F },
    { "rcvd_units", "Received (256 bytes)", 5, 3, "dec" } } },
  neth = { 20, "Negative Acknowledge Extended Transport Header", {
    { "reason", "Reason", 2, 1, "hex", nil, REASONS }, { "vendor", "Vendor", 3, 1, "hex" },
    { "ev", "Echoed EV", 4, 4, "hex" },
    { "spdcid", "SPDCID", 8, 2, "hex" }, { "dpdcid", "DPDCID", 10, 2, "hex" },
    { "nack_psn", "PSN", 13, 3, "dec" },
    { "cc_type", "CC type", 16, 1, "dec", 0xF0, nil, { 2, 2 } },
    { "cc_flags", "CC flags", 16, 1, "hex", 0x0F },
    { "tx_timestamp", "Reflected timestamp (128 ns)", 18, 2, "dec" } } },
  peth = { 16, "Probe Extended Transport Header", {
    { "vendor", "Vendor", 3, 1, "hex" }, { "probe_id", "Probe id", 4, 2, "hex" },
    { "spdcid", "SPDCID", 8, 2, "hex" }, { "dpdcid", "DPDCID", 10, 2, "hex" },
    STAMP(12) } },
  erth = { 16, "Endpoint Request Extended Transport Header", {
    { "op", "Operation", 1, 1, "dec", 0x03, OPS, { 0, 1 } },
    { "vendor", "Vendor", 3, 1, "hex" },
    { "port_status_mask", "Usable ports", 4, 4, "hex" },
    STAMP(12) } },
  eeth = { 36, "Endpoint Response Extended Transport Header", {
    { "op", "Operation", 1, 1, "dec", 0x0C, OPS, { 0, 1 } },
    { "tx_timestamp", "Reflected timestamp (128 ns)", 28, 2, "dec" } } },
}

local BODIES = {
  [0xD1] = { "aeth" }, [0xD8] = { "erth" }, [0xD9] = { "eeth" }, [0xDC] = { "seth", "cc_state" },
  [0xDD] = { "neth" }, [0xDE] = { "peth" },
}
local HAS_IMM = { [0xC9] = true, [0xCB] = true }

-- Fields that no header holds: worked out, or outside of the headers.
local EXTRA = {
  { "ev", "Entropy value (EV)", ftypes.UINT32, base.HEX },
  { "ev.plane", "Plane", ftypes.UINT32, base.DEC },
  { "ev.uplink", "Uplink", ftypes.UINT32, base.DEC },
  { "echoed_ev.plane", "Plane of the echoed EV", ftypes.UINT32, base.DEC },
  { "echoed_ev.uplink", "Uplink of the echoed EV", ftypes.UINT32, base.DEC },
  { "payload", "Payload", ftypes.BYTES, base.NONE },
  { "payload_length", "Payload length before any cut", ftypes.UINT32, base.DEC },
  { "pad", "Pad", ftypes.BYTES, base.NONE },
  { "cut", "Cut off in here", ftypes.BYTES, base.NONE },
  { "missing", "Bytes cut off or not captured", ftypes.UINT32, base.DEC },
  { "icrc", "ICRC", ftypes.UINT32, base.HEX },
  { "icrc.status", "ICRC status", ftypes.UINT8, base.DEC,
    { [0] = "Bad", [1] = "Good", [2] = "Unverified" } },
  { "icrc.computed", "ICRC computed", ftypes.UINT32, base.HEX },
  { "sack.ack_psn", "PSN that caused this", ftypes.UINT32, base.DEC },
  { "sack.bitmap_base", "First PSN of the bitmap", ftypes.UINT32, base.DEC },
  { "sack.received", "Received by the bitmap", ftypes.STRING, base.NONE },
  { "sack.uncovered", "In front of the bitmap", ftypes.STRING, base.NONE },
  { "sack.gaps", "Not known to have arrived", ftypes.STRING, base.NONE },
  { "sack.gap_count", "PSNs not known to have arrived", ftypes.UINT32, base.DEC },
  { "sack.rcvd_bytes", "Received bytes", ftypes.UINT32, base.DEC },
  { "sack.mpr_psns", "MPR in PSNs", ftypes.UINT32, base.DEC },
  { "request_id", "Request id", ftypes.UINT32, base.DEC },
}

-- Expert notes: display filter, text, group, severity.
local EXPERTS = {
  trimmed = { "mrc.trimmed", "Trimmed by a switch", "SEQUENCE", "NOTE" },
  last_hop = { "mrc.trimmed.last_hop", "Trimmed by the last hop", "SEQUENCE", "NOTE" },
  whole = { "mrc.trimmed.whole", "Whole under a trimmed DSCP", "SEQUENCE", "NOTE" },
  no_dscp = { "mrc.trimmed.no_dscp", "Cut under another DSCP", "SEQUENCE", "WARN" },
  marked = { "mrc.marked", "Congestion experienced", "SEQUENCE", "NOTE" },
  rtx = { "mrc.retransmission", "Retransmission", "SEQUENCE", "NOTE" },
  gap = { "mrc.sack.gap", "SACK with gaps", "SEQUENCE", "NOTE" },
  skip = { "mrc.sack.skip", "The sender is told to avoid an EV", "SEQUENCE", "NOTE" },
  nack = { "mrc.nack", "Negative acknowledgement", "SEQUENCE", "WARN" },
  nak = { "mrc.nak", "Transport error", "RESPONSE_CODE", "ERROR" },
  length = { "mrc.bad_length", "Lengths contradict each other", "MALFORMED", "ERROR" },
  value = { "mrc.bad_value", "A value that receivers refuse", "MALFORMED", "ERROR" },
  icrc = { "mrc.bad_icrc", "Wrong ICRC", "CHECKSUM", "ERROR" },
}

return {
  opcodes = OPCODES, reasons = REASONS, marks = MARKS, ops = OPS, syndromes = SYNDROMES,
  headers = HEADERS, bodies = BODIES, has_imm = HAS_IMM, extra = EXTRA,
  experts = EXPERTS,
}
