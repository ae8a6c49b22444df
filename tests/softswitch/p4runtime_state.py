# SPDX-License-Identifier: Apache-2.0
"""Tables, registers and counters of a switch over P4Runtime, for comparisons between switches."""

from __future__ import annotations

from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4
from p4runtime_support import BareClient, entity, insert, modify


class StateOverP4Runtime:
    """What a switch holds, by names of its program. `client` must be its primary controller."""

    p4info: p4info_pb2.P4Info
    client: BareClient

    def copy_tables(self, switch) -> None:
        """Write the entries and defaults of an embedded switch's tables here as well."""
        for table in self.p4info.tables:
            source = switch.tables[table.preamble.name]
            if source.constant:
                continue
            updates = [insert(self._entry(table, e)) for e in source.entries()]
            if updates:
                self.client.write(*updates)
            if not table.const_default_action_id:
                default = self._entry(table, source.default)
                default.is_default_action = True
                update = p4.Update(type=p4.Update.MODIFY, entity=entity(default))
                self.client.write(update)

    def clear_tables(self) -> None:
        """Delete every entry."""
        for table in self.p4info.tables:
            found = self.client.read(p4.TableEntry(table_id=table.preamble.id))
            updates = [
                p4.Update(type=p4.Update.DELETE, entity=entity(e))
                for e in found
                if not e.is_const and not e.is_default_action
            ]
            if updates:
                self.client.write(*updates)

    def _entry(self, table, source) -> p4.TableEntry:
        entry = p4.TableEntry(table_id=table.preamble.id, priority=source.priority)
        for field, value in zip(table.match_fields, source.key, strict=False):
            kind = field.MatchType.Name(field.match_type)
            if kind == "EXACT":
                entry.match.add(field_id=field.id).exact.value = canonical(value)
            elif kind == "LPM" and value[1]:
                match = entry.match.add(field_id=field.id)
                match.lpm.value, match.lpm.prefix_len = canonical(value[0]), value[1]
            elif kind == "TERNARY" and value[1]:
                match = entry.match.add(field_id=field.id)
                match.ternary.value, match.ternary.mask = map(canonical, value)
            elif kind == "RANGE" and value != (0, (1 << field.bitwidth) - 1):
                match = entry.match.add(field_id=field.id)
                match.range.low, match.range.high = map(canonical, value)
        action = next(a for a in self.p4info.actions if a.preamble.name == source.action)
        entry.action.action.action_id = action.preamble.id
        for number, value in enumerate(source.params, start=1):
            entry.action.action.params.add(param_id=number, value=canonical(value))
        return entry

    def counters(self) -> dict[str, list[tuple[int, int]]]:
        """(packets, bytes) of every indirect counter, by name."""
        result = {}
        for counter in self.p4info.counters:
            found = self.client.read(p4.CounterEntry(counter_id=counter.preamble.id))
            values = sorted((c.index.index, c.data.packet_count, c.data.byte_count) for c in found)
            result[counter.preamble.name] = [(packets, size) for _, packets, size in values]
        return result

    def write_registers(self, name: str, values: dict[int, int]) -> None:
        """Set cells of a register, by index."""
        register = next(r for r in self.p4info.registers if r.preamble.name == name)
        updates = []
        for index, value in values.items():
            cell = p4.RegisterEntry(register_id=register.preamble.id)
            cell.index.index = index
            cell.data.bitstring = canonical(value)
            updates.append(modify(cell))
        self.client.write(*updates)

    def read_register(self, name: str) -> list[int]:
        """All cells of a register."""
        register = next(r for r in self.p4info.registers if r.preamble.name == name)
        found = self.client.read(p4.RegisterEntry(register_id=register.preamble.id))
        cells = sorted((cell.index.index, cell.data.bitstring) for cell in found)
        return [int.from_bytes(value, "big") for _, value in cells]


def canonical(value: int) -> bytes:
    """P4Runtime's shortest big-endian form."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
