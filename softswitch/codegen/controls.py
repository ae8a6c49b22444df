# SPDX-License-Identifier: Apache-2.0
"""A pipeline's graph of tables, conditions and action calls as nested statements.

The JSON gives a graph whose branches meet again; a node's branches are written up to the
nearest node that all of them reach (its immediate post-dominator), which follows after them.
"""

from __future__ import annotations

from softswitch.codegen import values
from softswitch.codegen.actions import ActionCode
from softswitch.codegen.expressions import evaluate
from softswitch.codegen.scope import VALID, Scope, Writer
from softswitch.codegen.values import Value
from softswitch.errors import ProgramError
from softswitch.model import Action, ActionCall, Conditional, Node, Pipeline, TableDef

#: Branches that do not nest are written out more than once; an exploding program is refused.
MAX_LINES = 50_000


class ControlCode:
    """Writes one pipeline."""

    def __init__(self, out: Writer, scope: Scope, pipeline: Pipeline) -> None:
        self.out = out
        self.scope = scope
        self.pipeline = pipeline
        self.joins = _joins(pipeline)
        self.may_exit = any(
            primitive["op"] == "exit"
            for node in pipeline.nodes.values()
            for action in _actions_of(node)
            for primitive in action.primitives
        )

    def write(self) -> None:
        if not self.may_exit:
            self._chain(self.pipeline.init, None)
            return
        self.out.line("_exit = False")
        with self.out.block("while True:"):
            self._chain(self.pipeline.init, None)
            self.out.line("break")

    def _chain(self, name: str | None, stop: str | None) -> None:
        """Everything from one node up to, not including, ``stop``."""
        while name != stop and name is not None:
            if len(self.out.lines) > MAX_LINES:
                raise ProgramError(f"pipeline {self.pipeline.name}", "control flow is too tangled")
            join = self.joins[name]
            self._node(self.pipeline.nodes[name], join)
            name = join

    def _node(self, node: Node, join: str | None) -> None:
        if isinstance(node, TableDef):
            TableCode(self, node, join).write()
        elif isinstance(node, Conditional):
            self._conditional(node, join)
        else:
            self.action(node.action, [], node.place)

    def _conditional(self, node: Conditional, join: str | None) -> None:
        test = values.as_bool(evaluate(node.expression, self.scope, node.place))
        self.branch(test, node.true_next, node.false_next, join)

    def branch(
        self, test: Value, if_true: str | None, if_false: str | None, join: str | None
    ) -> None:
        """``if``/``else`` over two nodes that meet at ``join``."""
        if test.constant is not None:
            self._chain(if_true if test.constant else if_false, join)
            return
        if if_true == join:
            test, if_true, if_false = values.negate(test), if_false, if_true
        if if_true == join:
            return
        with self.out.block(f"if {test.text}:"):
            self._chain(if_true, join)
        if if_false != join:
            with self.out.block("else:"):
                self._chain(if_false, join)

    def follow(self, name: str | None, join: str | None) -> None:
        self._chain(name, join)

    def action(self, action: Action, args: list[Value], place: str) -> None:
        """An action's body in place."""
        code = ActionCode(self.out, self.scope, action, args)
        code.write()
        if code.exits:
            with self.out.block("if _exit:"):
                self.out.line("break")


class TableCode:
    """Writes one table: key, look-up, and the chosen action.

    An entry is a tuple: the action's index in the table; with ``by_hit`` whether it was found by
    its key; with direct counters or meters the entry's slot, -1 for the default; parameters.
    """

    def __init__(self, control: ControlCode, table: TableDef, join: str | None) -> None:
        self.control = control
        self.out = control.out
        self.scope = control.scope
        self.table = table
        self.join = join

    def write(self) -> None:
        table = self.table
        self.out.line(f"# table {table.name}")
        if not table.key and table.default.constant:
            data = [values.const(v) for v in table.default.data]
            index = table.default.action_index
            self.control.action(table.actions[index], data, table.place)
            following = table.miss_next if table.by_hit else table.next_nodes[index]
            self.control.follow(following, self.join)
            return
        self._look_up()
        self._direct()
        branches = () if table.by_hit else table.next_nodes
        self._dispatch(branches)
        if table.by_hit:
            hit = Value("_entry[1]", 0, 1, boolean=True, atom=True)
            self.control.branch(hit, table.hit_next, table.miss_next, self.join)

    def _look_up(self) -> None:
        var = self.table.var
        if not self.table.key:
            self.out.line(f"_entry = {var}__miss[0]")
            return
        parts = []
        for i, match in enumerate(self.table.key):
            place = f"{self.table.place}.key[{i}]"
            value = self.scope.read(match.target[0], match.target[1], place)
            if match.mask is not None and match.target[1] != VALID:
                value = values.bit_and(value, values.const(match.mask))
            parts.append(value.text)
        key = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
        if self.table.kind == "exact":
            self.out.line(f"_entry = {var}__get({key}) or {var}__miss[0]")
        elif len(parts) == 1:
            self.out.line(f"_entry = {var}__get({key}) or {var}__find({key})")
        else:
            self.out.line(f"_key = {key}")
            self.out.line(f"_entry = {var}__get(_key) or {var}__find(_key)")

    def _direct(self) -> None:
        table = self.table
        slot = "_entry[2]" if table.by_hit else "_entry[1]"
        if table.direct_meter is not None:
            self._direct_meter(slot)
        if table.with_counters:
            self.scope.usage.reads[self.scope.section].add("_length")
            with self.out.block(f"if {slot} >= 0:"):
                self.out.line(f"{table.var}__packets[{slot}] += 1")
                self.out.line(f"{table.var}__bytes[{slot}] += _length")

    def _direct_meter(self, slot: str) -> None:
        meter = self.scope.model.meters.get(self.table.direct_meter or "")
        if meter is None or meter.result_target is None:
            raise ProgramError(self.table.place, f"unknown meter {self.table.direct_meter!r}")
        field = self.scope.field(*meter.result_target, self.table.place)
        self.scope.usage.reads[self.scope.section].add("_length")
        with self.out.block(f"if {slot} >= 0:"):
            self.scope.write(field)
            self.out.line(f"{field.var} = {meter.var}__execute({slot}, _length, now_us)")

    def _dispatch(self, branches: tuple[str | None, ...]) -> None:
        """The body of the entry's action, then, with ``branches``, the nodes after it."""
        table = self.table
        bodies = []
        for index, action in enumerate(table.actions):
            if action.primitives or (branches and branches[index] != self.join):
                bodies.append(index)
        keyword = "if"
        for count, index in enumerate(bodies):
            if len(table.actions) == 1:
                self._body(index, branches)
                return
            if count == len(table.actions) - 1 and count > 0:
                head = "else:"
            else:
                head = f"{keyword} _entry[0] == {index}:"
            keyword = "elif"
            with self.out.block(f"{head}  # {table.actions[index].name}"):
                self._body(index, branches)

    def _body(self, index: int, branches: tuple[str | None, ...]) -> None:
        action = self.table.actions[index]
        if action.parameters:
            names = [f"arg_{i}_{_word(p.name)}" for i, p in enumerate(action.parameters)]
            lead = 1 + self.table.by_hit + has_slot(self.table)
            self.out.line(f"{', '.join(['_'] * lead + names)} = _entry")
            for name in names:
                self.out.facts.stored(name)
            args = [
                values.variable(n, p.width) for n, p in zip(names, action.parameters, strict=True)
            ]
        else:
            args = []
        self.control.action(action, args, self.table.place)
        if branches:
            self.control.follow(branches[index], self.join)


def has_slot(table: TableDef) -> bool:
    """Whether entries carry the index of a direct counter or meter."""
    return table.with_counters or table.direct_meter is not None


def _word(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _actions_of(node: Node) -> tuple[Action, ...]:
    if isinstance(node, TableDef):
        return node.actions
    return (node.action,) if isinstance(node, ActionCall) else ()


def _successors(node: Node) -> set[str | None]:
    if isinstance(node, Conditional):
        return {node.true_next, node.false_next}
    if isinstance(node, ActionCall):
        return {node.next_node}
    if node.by_hit:
        return {node.hit_next, node.miss_next}
    if not node.key and node.default.constant:
        return {node.next_nodes[node.default.action_index]}
    return set(node.next_nodes)


def _joins(pipeline: Pipeline) -> dict[str, str | None]:
    """The immediate post-dominator of every node; None is the end of the pipeline."""
    order: list[str] = []
    state: dict[str, int] = {}

    def visit(name: str | None) -> None:
        if name is None or state.get(name) == 2:
            return
        if state.get(name) == 1:
            raise ProgramError(f"pipeline {pipeline.name}", f"loop through {name}")
        if name not in pipeline.nodes:
            raise ProgramError(f"pipeline {pipeline.name}", f"unknown node {name!r}")
        state[name] = 1
        for successor in sorted(_successors(pipeline.nodes[name]), key=str):
            visit(successor)
        state[name] = 2
        order.append(name)

    visit(pipeline.init)
    depth: dict[str | None, int] = {None: 0}
    join: dict[str, str | None] = {}
    for name in order:  # successors come before the nodes that lead to them
        meeting: list[str | None] = list(_successors(pipeline.nodes[name]))
        common = meeting[0]
        for other in meeting[1:]:
            while common != other:
                if depth[common] >= depth[other]:
                    common = None if common is None else join[common]
                else:
                    other = None if other is None else join[other]
        join[name] = common
        depth[name] = depth[common] + 1
    return join
