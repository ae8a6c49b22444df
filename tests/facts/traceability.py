# SPDX-License-Identifier: Apache-2.0
"""Traceability: joins tests/facts/facts.yaml with the `fact` markers of the tests, found by ast.

`python tests/facts/traceability.py` writes docs/traceability.md.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

TESTS = Path(__file__).parents[1]
FACTS = Path(__file__).with_name("facts.yaml")
TABLE = TESTS.parent / "docs" / "traceability.md"
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Traceability: fact, code, test

Made by `make facts` from `tests/facts/facts.yaml` and the `fact` markers of the tests; not
edited by hand. Sources: P1 the MRC paper (arXiv 2605.04333), SPEC OCP MRC 1.0, API the OCP
headers, UEC Ultra Ethernet 1.0, SONIC the packet-trimming design, RFC 8986 and 9800; a decision
is this project's own. A fact that no test is known to prove yet says **open**.

"""


@dataclass(frozen=True)
class Fact:
    """One row: a stable id, where it comes from, what it says, and the code that does it."""

    id: str
    source: str
    text: str
    code: tuple[str, ...]
    open: bool = False


def load_facts() -> list[Fact]:
    """The rows of facts.yaml in order; ValueError names an id that stands there twice."""
    rows = yaml.safe_load(FACTS.read_text(encoding="utf-8"))
    facts = [Fact(**{**row, "code": tuple(row["code"])}) for row in rows]
    seen: set[str] = set()
    for fact in facts:
        if fact.id in seen:
            raise ValueError(f"{FACTS.name}: {fact.id} stands there twice")
        seen.add(fact.id)
    return facts


def marked_in(source: str) -> Iterator[tuple[str, str]]:
    """(fact id, test name) for each marker on a test function of this source text."""
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.fact":
                for argument in mark.args:
                    yield ast.literal_eval(argument), node.name


def load_markers() -> dict[str, list[str]]:
    """Fact id → the tests that name it, as path::function below tests/."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for fact, name in marked_in(path.read_text(encoding="utf-8")):
            found[fact].append(f"{path.relative_to(TESTS).as_posix()}::{name}")
    return dict(found)


def resolve(code: str) -> object:
    """What `module:qualname`, or `file.p4:name of an action, table or control`, names.

    ImportError, AttributeError, OSError or LookupError if there is no such thing.
    """
    found: object
    module, _, qualname = code.partition(":")
    if module.endswith(".p4"):
        source = (TESTS.parent / module).read_text(encoding="utf-8")
        found = re.search(rf"^ *(?:action|table|control|parser) {qualname}\b", source, re.M)
        if found is None:
            raise LookupError(f"{module} declares no {qualname}")
        return found
    found = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def render(facts: list[Fact], markers: dict[str, list[str]]) -> str:
    """The whole of docs/traceability.md."""
    lines = ["| fact | source | what it says | code | tests |", "|---|---|---|---|---|"]
    for fact in facts:
        code = "<br>".join(f"`{name}`" for name in fact.code)
        tests = "<br>".join(f"`{name}`" for name in markers.get(fact.id, [])) or "**open**"
        lines.append(f"| `{fact.id}` | {fact.source} | {fact.text} | {code} | {tests} |")
    still = sum(fact.open for fact in facts)
    return HEAD + f"{len(facts)} facts, {still} of them open.\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(render(load_facts(), load_markers()), encoding="utf-8")
