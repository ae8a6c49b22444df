-- SPDX-License-Identifier: Apache-2.0
--
-- Wireshark dissector of Multipath Reliable Connection (MRC). docs/wireshark.md says how to
-- install and use it, docs/wire-format.md what the headers mean.
--
-- MRC uses RoCEv2's UDP port and opcodes of its own. This dissector takes the port and hands
-- every other opcode on to whoever had the port before, which is Wireshark's RRoCE dissector.

local mrc = Proto("mrc", "Multipath Reliable Connection")

mrc.prefs.ports = Pref.range("UDP ports", "4791,4971",
  "Destination ports of MRC: IANA's RoCEv2 port, and the one that OCP MRC 1.0 prints", 65535)
mrc.prefs.dscp_trimmed = Pref.uint("DSCP of trimmed packets", 12,
  "Outer DSCP that a switch gives to a packet it has trimmed")
mrc.prefs.dscp_trimmed_lasthop = Pref.uint("DSCP of packets trimmed by the last hop", 16,
  "Outer DSCP that the last switch gives to a packet it has trimmed")
mrc.prefs.ev_is_path = Pref.bool("Show plane and uplink of an EV", true,
  "Read EV bits 10:8 as the plane and 7:0 as the uplink; other EV formats mean other things")
mrc.prefs.check_icrc = Pref.bool("Check the ICRC", false,
  "Compute the ICRC of every whole packet; large captures load more slowly")

local layout = require("mrc_layout")
local icrc_of = require("mrc_icrc")

local OPCODES, REASONS, MARKS, OPS = layout.opcodes, layout.reasons, layout.marks, layout.ops
local HEADERS, BODIES = layout.headers, layout.bodies
local BTH, METH, TSETH, RETH, IMMDT, ICRC = 12, 4, 4, 16, 4, 4
local MAX_PAYLOAD = 4096
local PSNS = 0x1000000

local UINTS = { ftypes.UINT8, ftypes.UINT16, ftypes.UINT24, ftypes.UINT32, [8] = ftypes.UINT64 }
local F, all_fields = {}, {}

local function declare(name, label, kind, values, display, mask)
  F[name] = ProtoField.new(label, "mrc." .. name, kind, values, display, mask)
  all_fields[#all_fields + 1] = F[name]
end

for header, description in pairs(HEADERS) do
  for _, def in ipairs(description[3]) do
    local bytes, kind = def[4], def[5]
    if kind == "flag" then
      declare(header .. "." .. def[1], def[2], ftypes.BOOLEAN, nil, bytes * 8, def[6])
    elseif kind == "int" then
      declare(header .. "." .. def[1], def[2], ftypes.INT16, nil, base.DEC)
    else
      declare(header .. "." .. def[1], def[2], UINTS[bytes], def[7],
        kind == "hex" and base.HEX or base.DEC, def[6])
    end
  end
end
for _, def in ipairs(layout.extra) do declare(def[1], def[2], def[3], def[5], def[4]) end
mrc.fields = all_fields

local E = {}
for name, def in pairs(layout.experts) do
  E[name] = ProtoExpert.new(def[1], def[2], expert.group[def[3]], expert.severity[def[4]])
end
local experts = {}
for _, item in pairs(E) do experts[#experts + 1] = item end
mrc.experts = experts

-- The headers below, as dissected by the time this dissector is called.
local field_ipv6, field_udp = Field.new("ipv6"), Field.new("udp")

local function uint16(text, at) return text:byte(at) * 256 + text:byte(at + 1) end

-- What the layers below say: outer and inner IPv6 header and UDP header, as strings of bytes,
-- and whether their lengths agree. `outer` is the inner header when there is but one.
local function below()
  local ips, udps = { field_ipv6() }, { field_udp() }
  local inner, outer, udp = ips[#ips], ips[#ips - 1] or ips[#ips], udps[#udps]
  local p = { udp = udp.range:raw(0, 8) }
  p.expected = uint16(p.udp, 5) - 8
  if inner then
    p.inner, p.outer = inner.range:raw(0, 40), outer.range:raw(0, 40)
    local length = uint16(p.inner, 5)
    p.disagree = length ~= p.expected + 8
      or uint16(p.outer, 5) ~= length + inner.offset - outer.offset
  end
  return p
end

-- An expert note of kind `which` at an item; an error goes into the Info column, too.
local function note(p, item, which, text, in_info)
  item:add_proto_expert_info(E[which], text)
  if in_info then p.notes[#p.notes + 1] = "[" .. text .. "]" end
end

local function say(p, ...) p.words[#p.words + 1] = string.format(...) end

local function masked(value, mask)
  while mask and mask % 2 == 0 do value, mask = math.floor(value / 2), math.floor(mask / 2) end
  return mask and value % (mask + 1) or value
end

-- A header as a subtree at `at`. Nil, and the rest shown as cut off, when it is not whole.
local function add_header(p, name, at)
  local size, title, fields = HEADERS[name][1], HEADERS[name][2], HEADERS[name][3]
  if p.len < at + size then
    if p.len > at then p.tree:add(F.cut, p.tvb(at)) end
    return nil
  end
  local tree, items = p.tree:add(mrc, p.tvb(at, size), title), {}
  for _, def in ipairs(fields) do
    if not (name == "seth" and def[1] == (p.pr and "ack_psn_offset" or "probe_id")) then
      local range, accepted = p.tvb(at + def[3], def[4]), def[8]
      local item = tree:add(F[name .. "." .. def[1]], range)
      items[def[1]] = item
      local value = accepted and masked(range:uint(), def[6])
      if accepted and (value < accepted[1] or value > accepted[2]) then
        note(p, item, "value", string.format("%s.%s is %d", name, def[1], value), true)
      end
    end
  end
  return items, tree
end

local function plane_of(ev) return math.floor(ev / 256) % 8 end

local function ev_text(ev)
  if mrc.prefs.ev_is_path then return string.format("%d/%d", plane_of(ev), ev % 256) end
  return string.format("0x%08x", ev)
end

local function add_ev_parts(item, prefix, ev)
  if not mrc.prefs.ev_is_path then return end
  item:add(F[prefix .. ".plane"], plane_of(ev)):set_generated()
  item:add(F[prefix .. ".uplink"], ev % 256):set_generated()
end

local function add_icrc(p)
  local at = p.expected - ICRC
  if p.len < p.expected then
    if p.len > at then p.tree:add(F.cut, p.tvb(at)) end
    return
  end
  local item = p.tree:add_le(F.icrc, p.tvb(at, ICRC))
  local status = 2
  if mrc.prefs.check_icrc and p.inner then
    local right = icrc_of(p.inner, p.udp, p.tvb(0, at):raw())
    status = right == p.tvb(at, ICRC):le_uint() and 1 or 0
    item:add(F["icrc.computed"], right):set_generated()
    if status == 0 then note(p, item, "icrc", "Wrong ICRC", true) end
  end
  item:add(F["icrc.status"], status):set_generated()
end

local function add_payload(p, at, length)
  p.tree:add(F.payload_length, length):set_generated()
  if p.tvb(p.reth + 12, 4):uint() ~= length then
    note(p, p.tree, "length", string.format("RETH length is %d, the payload has %d",
      p.tvb(p.reth + 12, 4):uint(), length), true)
  end
  local left = math.min(p.len - at, length)
  if left > 0 then p.tree:add(F.payload, p.tvb(at, left)) end
  if p.pad > 0 and p.len >= at + length + p.pad then p.tree:add(F.pad, p.tvb(at + length, p.pad)) end
end

local function dissect_write(p)
  local at, imm = BTH, layout.has_imm[p.opcode]
  local headers = METH + (p.ts and TSETH or 0) + RETH + (imm and IMMDT or 0)
  local length = p.expected - BTH - headers - p.pad - ICRC
  local fits = length >= 0 and length <= MAX_PAYLOAD and (length + p.pad) % 4 == 0
  if not fits then
    note(p, p.tree, "length", string.format("%d bytes of payload, %d of pad", length, p.pad), true)
  end
  if not add_header(p, "meth", at) then return end
  say(p, "MSN %d", p.tvb(at + 2, 2):uint())
  at = at + METH
  if p.ts then
    if not add_header(p, "tseth", at) then return end
    at = at + TSETH
  end
  if not add_header(p, "reth", at) then return end
  say(p, "VA 0x%s Len %d", p.tvb(at, 8):uint64():tohex(), p.tvb(at + 12, 4):uint())
  p.reth, at = at, at + RETH
  if imm then
    if not add_header(p, "immdt", at) then return end
    say(p, "Imm 0x%08x", p.tvb(at, 4):uint())
  end
  if fits then add_payload(p, BTH + headers, length) end
  add_icrc(p)
end

-- "7-9, 11" of a sorted list of PSNs, serial across the wrap.
local function ranges(psns)
  local found, first, last = {}, nil, nil
  local function close()
    if first then found[#found + 1] = first == last and first or first .. "-" .. last end
  end
  for _, psn in ipairs(psns) do
    if first and psn == (last + 1) % PSNS then
      last = psn
    else
      close()
      first, last = psn, psn
    end
  end
  close()
  return table.concat(found, ", ")
end

-- PSNs whose bit is set, and those behind cack and in the bitmap below its highest bit whose
-- bit is clear. `sack_offset` may be negative; what lies up to cack has arrived anyway.
local function read_bitmap(cack, sack_offset, high, low)
  local received, gaps, pending = {}, {}, {}
  for bit_number = 0, 63 do
    local word = bit_number < 32 and low or high
    local psn = (cack + sack_offset + bit_number) % PSNS
    if math.floor(word / 2 ^ (bit_number % 32)) % 2 == 1 then
      received[#received + 1] = psn
      for _, missing in ipairs(pending) do gaps[#gaps + 1] = missing end
      pending = {}
    elseif sack_offset + bit_number > 0 then
      pending[#pending + 1] = psn
    end
  end
  return received, gaps
end

local function sack_details(p, at, items, state)
  local cack, offset = p.tvb(at + 13, 3):uint(), p.tvb(at + 18, 2):int()
  local received, gaps = read_bitmap(cack, offset, p.tvb(at + 20, 4):uint(),
    p.tvb(at + 24, 4):uint())
  items.sack_offset:add(F["sack.bitmap_base"], (cack + offset) % PSNS):set_generated()
  items.mpr_units:add(F["sack.mpr_psns"], p.tvb(at + 17, 1):uint() * 128):set_generated()
  state.rcvd_units:add(F["sack.rcvd_bytes"], p.tvb(at + 33, 3):uint() * 256):set_generated()
  if p.pr then
    say(p, "probe 0x%04x", p.tvb(at + 2, 2):uint())
  else
    local cause = (cack + p.tvb(at + 2, 2):int()) % PSNS
    items.ack_psn_offset:add(F["sack.ack_psn"], cause):set_generated()
    say(p, "for PSN %d", cause)
  end
  say(p, "cack %d", cack)
  if #received > 0 then
    items.bitmap:add(F["sack.received"], ranges(received)):set_generated()
    say(p, "SACK %d..%d", (cack + offset) % PSNS, received[#received])
    say(p, "bitmap 0x%s", p.tvb(at + 20, 8):uint64():tohex())
  end
  if offset > 1 then
    items.bitmap:add(F["sack.uncovered"],
      string.format("%d-%d", (cack + 1) % PSNS, (cack + offset - 1) % PSNS)):set_generated()
  end
  items.bitmap:add(F["sack.gap_count"], #gaps):set_generated()
  if #gaps > 0 then
    items.bitmap:add(F["sack.gaps"], ranges(gaps)):set_generated()
    note(p, items.bitmap, "gap", "Not known to have arrived: " .. ranges(gaps))
    say(p, "gaps %d", #gaps)
  end
end

local DETAILS = {}

DETAILS[0xDC] = function(p, at, items, state)
  sack_details(p, at, items, state)
  local ev, mark = p.tvb(at + 4, 4):uint(), masked(p.tvb(at, 2):uint(), 0x0060)
  add_ev_parts(items.ev, "echoed_ev", ev)
  say(p, "for EV %s", ev_text(ev))
  if mark == 1 or mark == 2 then
    note(p, items.mark, "skip", string.format("%s: EV %s", MARKS[mark], ev_text(ev)))
    say(p, "%s", MARKS[mark])
  end
end

DETAILS[0xDD] = function(p, at, items)
  local ev, reason = p.tvb(at + 4, 4):uint(), p.tvb(at + 2, 1):uint()
  local name = REASONS[reason] or string.format("reason 0x%02x", reason)
  add_ev_parts(items.ev, "echoed_ev", ev)
  note(p, items.reason, "nack", string.format("PSN %d: %s", p.tvb(at + 13, 3):uint(), name))
  say(p, "%s for EV %s", name, ev_text(ev))
end

DETAILS[0xD1] = function(p, at, items)
  local syndrome = p.tvb(at, 1):uint()
  local name = layout.syndromes[syndrome] or string.format("syndrome 0x%02x", syndrome)
  say(p, "%s MSN %d", name, p.tvb(at + 1, 3):uint())
  if syndrome >= 0x60 then note(p, items.syndrome, "nak", name) end
end

DETAILS[0xDE] = function(p, at) say(p, "probe 0x%04x", p.tvb(at + 4, 2):uint()) end

DETAILS[0xD8] = function(p, at)
  local op = p.tvb(at + 1, 1):uint() % 4
  say(p, "%s id %d", OPS[op] or op, p.psn % 0x10000)
  if op == 0 then say(p, "usable ports 0x%x", p.tvb(at + 4, 4):uint()) end
end

DETAILS[0xD9] = function(p, at)
  local op = masked(p.tvb(at + 1, 1):uint(), 0x0C)
  say(p, "%s id %d", OPS[op] or op, p.psn % 0x10000)
end

local function dissect_control(p)
  local at, size, items = BTH, 0, {}
  for _, name in ipairs(BODIES[p.opcode]) do size = size + HEADERS[name][1] end
  if p.ts then note(p, p.tree, "value", "bth.ts is set, but no TSETH belongs here", true) end
  if p.pad > 0 then note(p, p.tree, "value", "bth.pad_count without a payload", true) end
  if p.expected ~= BTH + size + ICRC then
    note(p, p.tree, "length", string.format("%d bytes behind the BTH, not %d",
      p.expected - BTH - ICRC, size), true)
  end
  p.pr = p.opcode == 0xDC and p.len > at + 1 and masked(p.tvb(at + 1, 1):uint(), 0x02) == 1
  for number, name in ipairs(BODIES[p.opcode]) do
    items[number] = add_header(p, name, at)
    if not items[number] then return end
    at = at + HEADERS[name][1]
  end
  DETAILS[p.opcode](p, BTH, items[1], items[2])
  add_icrc(p)
end

-- What the outer header and the lengths say about a packet's way through the network.
local function add_state(p, reported)
  local dscp = p.outer and math.floor(uint16(p.outer, 1) / 64) % 64
  local ecn = p.outer and math.floor(uint16(p.outer, 1) / 16) % 4
  local last_hop = dscp == mrc.prefs.dscp_trimmed_lasthop
  local by_dscp = last_hop or dscp == mrc.prefs.dscp_trimmed
  local cut = p.expected > reported and not p.disagree
  if p.disagree then
    note(p, p.tree, "length", "Lengths of IPv6 and UDP contradict each other", true)
  elseif p.len < p.expected then
    p.tree:add(F.missing, p.expected - p.len):set_generated()
  end
  if cut and not by_dscp then
    note(p, p.tree, "no_dscp", string.format("Cut, but the outer DSCP is %d", dscp or 0))
  end
  if cut or by_dscp then
    note(p, p.tree, "trimmed", "Trimmed by a switch")
    if last_hop then note(p, p.tree, "last_hop", "Trimmed by the last hop") end
    if p.len >= p.expected then note(p, p.tree, "whole", "Whole under a trimmed DSCP") end
    p.notes[#p.notes + 1] = last_hop and "[TRIMMED at the last hop]" or "[TRIMMED]"
  end
  if ecn == 3 then
    note(p, p.tree, "marked", "Congestion experienced")
    p.notes[#p.notes + 1] = "[CE]"
  end
end

local function add_bth(p)
  local items, tree = add_header(p, "bth", 0)
  local flags = p.tvb(8, 1):uint()
  p.psn, p.pad = p.tvb(9, 3):uint(), masked(p.tvb(1, 1):uint(), 0x30)
  p.ts = masked(flags, 0x10) == 1
  say(p, "%s QP 0x%06x PSN %d", OPCODES[p.opcode], p.tvb(5, 3):uint(), p.psn)
  if p.inner then
    local ev = uint16(p.udp, 1) * 0x10000 + uint16(p.inner, 3)
    local item = tree:add(F.ev, ev):set_generated()
    add_ev_parts(item, "ev", ev)
    say(p, "EV %s", ev_text(ev))
  end
  if p.opcode == 0xD8 or p.opcode == 0xD9 then
    items.psn:add(F.request_id, p.psn % 0x10000):set_generated()
  end
  if flags >= 0x80 then p.notes[#p.notes + 1] = "[ack request]" end
  if masked(flags, 0x20) == 1 then
    note(p, items.rtx, "rtx", "Retransmission")
    p.notes[#p.notes + 1] = "[retransmission]"
  end
end

-- Who had each claimed port before; false when nobody had.
local claimed = {}

local function hand_on(before, tvb, pinfo, tree)
  if not before then return 0 end
  -- The other dissector's exceptions arrive as Lua errors, with the packet marked already.
  local whole, used = pcall(before.call, before, tvb, pinfo, tree)
  return whole and used or tvb:len()
end

function mrc.dissector(tvb, pinfo, tree)
  local opcode = tvb:len() > 0 and tvb(0, 1):uint()
  if tvb:len() < BTH or not OPCODES[opcode] then
    return hand_on(claimed[pinfo.match_uint], tvb, pinfo, tree)
  end
  local p = below()
  p.tvb, p.len, p.opcode, p.words, p.notes = tvb, tvb:len(), opcode, {}, {}
  p.tree = tree:add(mrc, tvb())
  pinfo.cols.protocol = "MRC"
  add_bth(p)
  add_state(p, tvb:reported_len())
  if BODIES[opcode] then dissect_control(p) else dissect_write(p) end
  local info = table.concat(p.words, " ") .. (#p.notes > 0 and " " or "")
    .. table.concat(p.notes, " ")
  p.tree:append_text(", " .. info)
  pinfo.cols.info:set(info)
  return tvb:len()
end

-- Ports: take those of the preference, give back those that are no longer in it.
local udp_ports = DissectorTable.get("udp.port")

local function claim()
  for port, before in pairs(claimed) do
    udp_ports:remove(port, mrc)
    if before then udp_ports:add(port, before) end
  end
  claimed = {}
  for first, last in tostring(mrc.prefs.ports):gmatch("(%d+)%-?(%d*)") do
    for port = tonumber(first), tonumber(last) or tonumber(first) do
      claimed[port] = udp_ports:get_dissector(port) or false
      udp_ports:add(port, mrc)
    end
  end
end

function mrc.prefs_changed() claim() end

claim()
