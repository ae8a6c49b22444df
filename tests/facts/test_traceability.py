# SPDX-License-Identifier: Apache-2.0
"""Proves that docs/traceability.md is current, and that facts, code and markers name each other."""

from __future__ import annotations

import pytest
import traceability


def test_the_table_is_what_the_generator_makes() -> None:
    made = traceability.render(traceability.load_facts(), traceability.load_markers())
    assert traceability.TABLE.read_text(encoding="utf-8") == made, "run make facts"


def test_every_fact_names_code_that_exists() -> None:
    for fact in traceability.load_facts():
        assert fact.code, fact.id
        for name in fact.code:
            traceability.resolve(name)


@pytest.mark.parametrize(
    "name", ["no_module:x", "endpoint.nic:Nic.nothing", "p4src/srv6.p4:nothing", "p4src/no.p4:un"]
)
def test_code_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises((ImportError, AttributeError, LookupError, OSError)):
        traceability.resolve(name)


def test_every_fact_has_a_test_or_says_that_it_is_open() -> None:
    markers = traceability.load_markers()
    wrong = [f.id for f in traceability.load_facts() if (f.id in markers) is f.open]
    assert wrong == []


def test_every_marker_names_a_fact() -> None:
    assert set(traceability.load_markers()) <= {fact.id for fact in traceability.load_facts()}


def test_markers_are_found_on_test_functions_only() -> None:
    source = '@pytest.mark.fact("a.b", "c")\ndef {}(): ...\n'
    assert list(traceability.marked_in(source.format("test_x"))) == [
        ("a.b", "test_x"),
        ("c", "test_x"),
    ]
    assert list(traceability.marked_in(source.format("helper"))) == []
