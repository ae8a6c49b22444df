-- SPDX-License-Identifier: Apache-2.0
--
-- The ICRC of a packet, as docs/wire-format.md has it; mrc.lua asks for it.

-- CRC-32 of a string, going on from the state `crc` (0xFFFFFFFF to start with).
-- Lua 5.3 and newer have operators, which older ones cannot even compile.
local native = (loadstring or load)("return function(a, b) return a ~ b end,"
  .. " function(a, n) return a >> n end, function(a, b) return a & b end")
local bxor, rshift, band
if native then
  bxor, rshift, band = native()
else
  local lib = bit32 or bit
  bxor, rshift, band = lib.bxor, lib.rshift, lib.band
end

local crc_table = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    crc = band(crc, 1) == 1 and bxor(rshift(crc, 1), 0xEDB88320) or rshift(crc, 1)
  end
  crc_table[byte] = crc
end

local function crc32(crc, text)
  for at = 1, #text do
    crc = bxor(rshift(crc, 8), crc_table[band(bxor(crc, text:byte(at)), 0xFF)])
  end
  return crc
end

-- ICRC of a packet: ones for the fields that may change on the way (docs/wire-format.md).
return function(ip, udp, packet)
  local crc = crc32(0xFFFFFFFF, ("\255"):rep(8) .. "\111\255\255\255" .. ip:sub(5, 7) .. "\255"
    .. ip:sub(9, 40) .. udp:sub(1, 6) .. "\255\255" .. packet:sub(1, 4) .. "\255")
  return bxor(crc32(crc, packet:sub(6)), 0xFFFFFFFF) % 0x100000000
end
