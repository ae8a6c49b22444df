# SPDX-License-Identifier: Apache-2.0
"""Topology files: presets by name, YAML by path, errors that name file and field."""

from __future__ import annotations

from collections.abc import Hashable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from topologies.errors import TopologyError
from topologies.fabric import Fabric
from topologies.model import FabricSpec

_HEADER = "# SPDX-License-Identifier: Apache-2.0\n"


class UniqueKeyLoader(yaml.SafeLoader):
    """YAML as PyYAML reads it, but a key given twice is an error and not the last one's."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"field {key!r} is given twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def preset_names() -> list[str]:
    """The presets, by name."""
    files = resources.files("topologies.presets").iterdir()
    return sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml"))


def load(name_or_path: str | Path) -> Fabric:
    """The fabric of a preset's name, or of a YAML file's path (with a suffix or a separator).

    TopologyError names the file and the field, and for an unknown name the presets there are.
    """
    text = str(name_or_path)
    if text in preset_names():
        source: Path | Traversable = resources.files("topologies.presets") / f"{text}.yaml"
    elif Path(text).suffix or Path(text).name != text:
        source = Path(text)
    else:
        known = ", ".join(preset_names())
        raise TopologyError(f"no preset {text!r} (there are {known}), and no path to a YAML file")
    try:
        content = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TopologyError(f"{text}: cannot be read: {error}") from error
    return Fabric(parse(content, text))


def parse(content: str, source: str) -> FabricSpec:
    """The spec in a YAML text; `source` is what errors call it."""
    try:
        # The loader is a SafeLoader: it builds plain values only.
        data = yaml.load(content, Loader=UniqueKeyLoader)
    except yaml.YAMLError as error:
        raise TopologyError(f"{source}: not valid YAML: {error}") from error
    if not isinstance(data, dict):
        raise TopologyError(f"{source}: must be a mapping of fields, like `planes: 2`")
    return build_spec(data, source)


def build_spec(data: dict[Any, Any], source: str) -> FabricSpec:
    """The spec of plain values; TopologyError has a line for each wrong field."""
    try:
        return FabricSpec.model_validate(data)
    except ValidationError as error:
        raise TopologyError("\n".join(_problems(error, source))) from error


def to_yaml(spec: FabricSpec) -> str:
    """The spec as a topology file, every field written out; `parse` gives the same spec back."""
    data = spec.model_dump(mode="json", exclude_none=True)
    return _HEADER + yaml.safe_dump(data, sort_keys=False)


def _problems(error: ValidationError, source: str) -> list[str]:
    lines = []
    for item in error.errors():
        field = ".".join(str(part) for part in item["loc"])
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = "no such field"
        elif item["type"] == "missing":
            message = "is missing"
        elif not isinstance(item["input"], dict | FabricSpec):
            message += f" (got {item['input']!r})"
        lines.append(f"{source}: {field}: {message}" if field else f"{source}: {message}")
    return lines
