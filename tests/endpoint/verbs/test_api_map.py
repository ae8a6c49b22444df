# SPDX-License-Identifier: Apache-2.0
"""Proves that docs/api-map.md names what exists: every row resolves, and nothing public is left
out."""

import dataclasses
import enum
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

from endpoint import control, verbs

DOCUMENT = Path(__file__).parents[3] / "docs" / "api-map.md"
ROW = re.compile(r"^\| `([^`]+)` \| `(endpoint\.(?:verbs|control))\.([\w.]+)` \| ?(.*?) ?\|$")
PACKAGES = {"endpoint.verbs": verbs, "endpoint.control": control}
ROWS = [match.groups() for line in DOCUMENT.read_text().splitlines() if (match := ROW.match(line))]


def resolve(package: ModuleType, name: str) -> object:
    first, *rest = name.split(".")
    thing = getattr(package, first)
    for part in rest:
        fields = {field.name for field in dataclasses.fields(thing)}
        assert part in fields, f"{first} has no field {part}"
    return thing


def test_every_row_names_something() -> None:
    assert len(ROWS) > 150
    for c_name, package, name, _ in ROWS:
        thing = resolve(PACKAGES[package], name)
        if c_name.startswith("enum "):
            assert inspect.isclass(thing) and issubclass(thing, enum.Enum)
        elif "." in name:
            assert c_name.rsplit(".", 1)[1] == name.rsplit(".", 1)[1]
        else:
            assert c_name == name and inspect.isfunction(thing)


@pytest.mark.parametrize(("package", "prefix"), [(verbs, "mrc_"), (control, "mrc_ctl_")])
def test_nothing_public_is_left_out(package: ModuleType, prefix: str) -> None:
    told = {f"{where}.{name}" for _, where, name, _ in ROWS}
    for name in package.__all__:
        thing = getattr(package, name)
        if not name.startswith(prefix):
            continue
        where = f"{package.__name__}.{name}"
        if dataclasses.is_dataclass(thing):
            for field in dataclasses.fields(thing):  # type: ignore[arg-type]
                assert f"{where}.{field.name}" in told
        elif inspect.isfunction(thing) or (inspect.isclass(thing) and issubclass(thing, enum.Enum)):
            assert where in told


def test_every_member_of_every_enum_is_told_and_is_a_name_of_its_package() -> None:
    for c_name, package, name, remark in ROWS:
        if not c_name.startswith("enum "):
            continue
        members = getattr(PACKAGES[package], name).__members__
        assert re.findall(r"`(\w+)`", remark) == list(members)
        for member, value in members.items():
            assert getattr(PACKAGES[package], member) is value
