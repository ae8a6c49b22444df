# SPDX-License-Identifier: Apache-2.0
"""The whole module: ``bind(state)`` returns a switch's ``ingress`` and ``egress`` functions.

State (tables, counters, registers) is bound in the closure once per switch, so that a packet
costs no attribute look-up. Where egress leaves headers alone, which is the usual case, ingress
already builds the outgoing frame; otherwise everything that egress and the deparser need
travels with the packet.
"""

from __future__ import annotations

from softswitch.codegen import values
from softswitch.codegen.calculations import update_checksums
from softswitch.codegen.controls import ControlCode, has_slot
from softswitch.codegen.deparser import NO_CUT, deparse
from softswitch.codegen.parsers import ParserCode
from softswitch.codegen.scope import Scope, Usage, Writer, base_var, start_var, valid_var
from softswitch.codegen.values import Value
from softswitch.errors import ProgramError
from softswitch.hashing import ALGORITHMS
from softswitch.model import Field, ProgramModel

MAX_PASSES = 20

#: Metadata that ``simple_switch`` fills before ingress, by BMv2's own name.
AT_INGRESS = {
    "standard_metadata.ingress_port": "port",
    "standard_metadata.packet_length": "_length",
    "intrinsic_metadata.ingress_global_timestamp": "now_us",
}
#: ... and before egress. ``egress_spec`` is the drop port plus one, cut to the field's width.
AT_EGRESS = {
    "standard_metadata.egress_port": "_egress_port",
    "standard_metadata.packet_length": "_packet_length",
    "standard_metadata.instance_type": "0",
    "intrinsic_metadata.egress_global_timestamp": "now_us",
    "queueing_metadata.enq_timestamp": "packet.enq_us",
    "queueing_metadata.enq_qdepth": "packet.enq_qdepth",
    "queueing_metadata.deq_timedelta": "now_us - packet.enq_us",
    "queueing_metadata.deq_qdepth": "deq_qdepth",
}
EGRESS_SPEC = "standard_metadata.egress_spec"


def generate(model: ProgramModel) -> str:
    """Source of the program's module."""
    previous: Usage | None = None
    for _ in range(MAX_PASSES):
        module = Module(model, Scope(model, previous))
        source = module.write()
        usage = module.scope.usage
        if usage == previous:
            return source
        previous = usage
    raise ProgramError("$", "code generation does not settle")


class Module:
    """One pass over the program."""

    def __init__(self, model: ProgramModel, scope: Scope) -> None:
        self.model = model
        self.scope = scope
        self.out = Writer(scope.facts)
        self.early = not self._egress_changes_headers()

    def write(self) -> str:
        out = self.out
        with out.block("def bind(_state):"):
            self._bindings()
            out.line("")
            with out.block("def ingress(port, frame, now_us):"):
                self._ingress()
            out.line("")
            with out.block("def egress(packet, now_us, deq_qdepth=0):"):
                self._egress()
            out.line("")
            out.line("return ingress, egress")
        return "\n".join(out.lines) + "\n"

    def _egress_changes_headers(self) -> bool:
        later = ("egress", "deparser")
        for name in self.model.deparser:
            header = self.model.headers[name]
            if self.scope.is_written(valid_var(header), *later):
                return True
            if any(self.scope.is_written(f.var, *later) for f in header.fields):
                return True
        return False

    def _bindings(self) -> None:
        line = self.out.line
        for name, table in self.model.tables.items():
            line(f"{table.var}__get = _state.tables[{name!r}].live.get")
            line(f"{table.var}__find = _state.tables[{name!r}].find")
            line(f"{table.var}__miss = _state.tables[{name!r}].miss")
            if has_slot(table):
                line(f"{table.var}__packets = _state.tables[{name!r}].packets")
                line(f"{table.var}__bytes = _state.tables[{name!r}].bytes")
        for name, array in self.model.counters.items():
            if array.direct_table is None:
                line(f"{array.var}__packets = _state.counters[{name!r}].packets")
                line(f"{array.var}__bytes = _state.counters[{name!r}].bytes")
        for name, array in self.model.registers.items():
            line(f"{array.var}__cells = _state.registers[{name!r}].cells")
        for name, array in self.model.meters.items():
            line(f"{array.var}__execute = _state.meters[{name!r}].execute")
        line("_random = _state.rng.random")
        line("_randint = _state.rng.randint")

    def _ingress(self) -> None:
        scope, out = self.scope, self.out
        out.line("_length = len(frame)")
        if scope.is_written("_cut", "parser", "ingress"):
            out.line(f"_cut = {NO_CUT}")
        if scope.is_written("_grown", "parser", "ingress"):
            out.line("_grown = 0")
        self._prologue(AT_INGRESS, ("parser", "ingress"), tuple(self._carried()))
        ParserCode(out, scope, self.early).write()
        scope.section = "ingress"
        ControlCode(out, scope, self.model.ingress).write()
        spec = self._egress_spec()
        scope.note_read(spec)
        with out.block(f"if {spec} == 511:"):
            out.line("return []")
        if self.early:
            deparse(out, scope, cut=scope.is_written("_cut", "parser", "ingress"))
            scope.section = "ingress"
            size = "len(_data)"
        else:
            out.line("_data = frame")
            size = self._expected_size()
        carried = self._carried()
        for name in carried:
            scope.note_read(name)
        out.line("_packet = _packet_class()")
        out.line("_packet.data = _data")
        out.line(f"_packet.length = {size}")
        out.line(f"_packet.state = ({', '.join(carried)}{',' if len(carried) == 1 else ''})")
        if self._stamps():
            out.line("_packet.enq_us = now_us")
            out.line("_packet.enq_qdepth = 0")
        priority = self.model.well_known("intrinsic_metadata.priority")
        queue = "0"
        if priority is not None and scope.is_written(priority.var, "parser", "ingress"):
            scope.note_read(priority.var)
            queue = priority.var
        out.line(f"return [({spec}, {queue}, _packet)]")

    def _egress_spec(self) -> str:
        field = self.model.well_known(EGRESS_SPEC)
        if field is None:
            raise ProgramError("$.headers", f"the program has no {EGRESS_SPEC}")
        return field.var

    def _expected_size(self) -> str:
        """Bytes on the wire if egress changes nothing."""
        grown = self.scope.is_written("_grown", "parser", "ingress")
        size = "_length + _grown" if grown else "_length"
        cut = self.scope.is_written("_cut", "parser", "ingress")
        return f"min({size}, _cut)" if cut else size

    def _late(self) -> tuple[str, ...]:
        """Sections that run after the queue."""
        return ("egress",) if self.early else ("egress", "deparser")

    def _prologue(
        self, given: dict[str, str], sections: tuple[str, ...], carried: tuple[str, ...]
    ) -> None:
        """Metadata at the start: what the switch fills in, zero for the rest. ``carried``: what
        the packet brings along (egress) or takes along (ingress)."""
        known: dict[str, tuple[Field, str]] = {}
        for name, text in given.items():
            field = self.model.well_known(name)
            if field is not None:
                known[field.var] = (field, text)
        arriving = self.scope.section == "egress"
        zero = []
        for header in self.model.headers.values():
            if not header.metadata:
                continue
            for field in header.fields:
                if field.var in known:
                    self._give(field, known[field.var][1], field.var in carried)
                elif arriving and field.var in carried:
                    self.out.facts.stored(field.var)
                elif self.scope.starts_unset(field.var, *sections):
                    zero.append(field.var)
        if zero:
            self.out.line(" = ".join([*zero, "0"]))

    def _give(self, field: Field, text: str, travels: bool) -> None:
        """A field that the switch fills in; where it is read, what it was filled with serves."""
        number = int(text) if text.isdigit() else None
        if number is not None:
            value = values.const(number)
        elif "." in text or (text == "_length" and field.width < 32):
            value = values.cut(Value(text, None, None), field.width, signed=False)
        else:
            value = values.variable(text, field.width)
        self.scope.assume(field, value)
        if self.scope.is_read(field.var) or travels:
            self.out.line(f"{field.var} = {value.text}")

    def _given_at_egress(self) -> set[str]:
        names = [*AT_EGRESS, EGRESS_SPEC]
        return {f.var for f in map(self.model.well_known, names) if f is not None}

    def _carried(self) -> list[str]:
        """Variables that travel with the packet, in a fixed order."""
        if self.scope.previous is None:
            return []
        wanted = self.scope.previous.read_in(*self._late())
        given = self._given_at_egress()
        names = []
        if self._is_wanted("standard_metadata.egress_port"):
            names.append(self._egress_spec())
        if "_length" in wanted:
            names.append("_length")
        if self._is_wanted("standard_metadata.packet_length"):
            grown = self.scope.is_written("_grown", "parser", "ingress")
            names.append("_length + _grown" if grown else "_length + 0")
        for header in self.model.headers.values():
            names += self._carried_of_header(header.name, wanted, given)
        if not self.early:
            names.append("_offset")
            if self.scope.is_written("_cut", "parser", "ingress"):
                names.append("_cut")
        return names

    def _carried_of_header(self, name: str, wanted: set[str], given: set[str]) -> list[str]:
        header = self.model.headers[name]
        if header.metadata:
            early = self.scope.previous.written_in("parser", "ingress")  # type: ignore[union-attr]
            filled = {f.var for f in map(self.model.well_known, AT_INGRESS) if f is not None}
            return [
                f.var
                for f in header.fields
                if f.var in wanted and f.var not in given and f.var in early | filled
            ]
        names = [f.var for f in header.fields if f.var in wanted]
        if valid_var(header) in wanted:
            names.append(valid_var(header))
        if not self.early and name in self.model.deparser:
            rebuilt = self.scope.rebuilt(header)
            names.append(base_var(header) if rebuilt else start_var(header))
        return names

    def _is_wanted(self, name: str) -> bool:
        """Whether egress reads a field, or the variable that stands for it."""
        field = self.model.well_known(name)
        if field is None:
            return False
        late = ("egress", "deparser")
        source = AT_EGRESS[name].rpartition(".")[2]
        return self.scope.is_read(field.var, *late) or self.scope.is_read(source, *late)

    def _stamps(self) -> bool:
        """Whether egress reads what the traffic manager writes on packets."""
        return any(self._is_wanted(name) for name in AT_EGRESS if name.startswith("queueing"))

    def _egress(self) -> None:
        scope, out = self.scope, self.out
        scope.section = "egress"
        carried = self._carried()
        if carried:
            names = list(carried)
            if self._is_wanted("standard_metadata.egress_port"):
                names[0] = "_egress_port"
            names = ["_packet_length" if n.startswith("_length +") else n for n in names]
            out.line(f"{', '.join(names)}{',' if len(names) == 1 else ''} = packet.state")
        self._prologue(AT_EGRESS | {EGRESS_SPEC: "0"}, ("egress", "deparser"), tuple(carried))
        cut_here = scope.is_written("_cut", "egress")
        cut_before = scope.is_written("_cut", "parser", "ingress") and not self.early
        if cut_here and not cut_before:
            out.line(f"_cut = {NO_CUT}")
        if scope.is_written("_grown", "egress"):
            out.line("_grown = 0")
        ControlCode(out, scope, self.model.egress).write()
        spec = self.model.well_known(EGRESS_SPEC)
        if spec is not None and scope.is_written(spec.var, "egress"):
            scope.note_read(spec.var)
            with out.block(f"if {spec.var} == 511:"):
                out.line("return None")
        if self.early:
            out.line("return packet.data[:_cut]" if cut_here else "return packet.data")
            return
        scope.section = "deparser"
        out.line("frame = packet.data")
        update_checksums(out, scope)
        deparse(out, scope, cut=cut_here or cut_before)
        out.line("return _data")


def names_for_module() -> dict[str, object]:
    """Functions that generated code calls by a fixed name."""
    from softswitch import hashing
    from softswitch.codegen import support
    from softswitch.packet import Packet

    known: dict[str, object] = {
        f"_{name.lower()}": function for name, (function, _) in ALGORITHMS.items()
    }
    known |= {
        "_from_bytes": int.from_bytes,
        "_gather": hashing.gather,
        "_packet_class": Packet,
        "_log": support.log,
        "divide": support.divide,
        "modulo": support.modulo,
    }
    return known
