# SPDX-License-Identifier: Apache-2.0
"""Algorithms by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from endpoint.congestion.interface import CongestionControl, CongestionParameters


@dataclass(frozen=True, slots=True)
class _Algorithm:
    factory: Callable[..., CongestionControl]
    config: type | None


_algorithms: dict[str, _Algorithm] = {}


def register(
    name: str, factory: Callable[..., CongestionControl], config: type | None = None
) -> None:
    """Makes an algorithm available by name; ValueError when the name is taken.

    `factory` is called with the `CongestionParameters` of a queue pair and, where `config` names
    the type of its own settings and some were given, with those.
    """
    if name in _algorithms:
        raise ValueError(f"congestion control {name!r} is already registered")
    _algorithms[name] = _Algorithm(factory, config)


def names() -> list[str]:
    """All names, sorted."""
    return sorted(_algorithms)


def config_type(name: str) -> type | None:
    """The type of an algorithm's own settings, if it has any. ValueError for an unknown name."""
    return _find(name).config


def _find(name: str) -> _Algorithm:
    algorithm = _algorithms.get(name)
    if algorithm is None:
        known = ", ".join(names())
        raise ValueError(f"congestion control {name!r} is unknown; known are: {known}")
    return algorithm


def configure(name: str, settings: Mapping[str, Any]) -> Any | None:
    """The settings of an algorithm from names and values, None when there are none.

    ValueError for an unknown algorithm or setting, or a value out of its range.
    """
    config = _find(name).config
    if not settings:
        return None
    known = [field.name for field in fields(config)] if config is not None else []
    for setting in settings:
        if setting not in known:
            has = ", ".join(known) or "none"
            raise ValueError(
                f"congestion control {name!r} has no setting {setting!r} (it has {has})"
            )
    assert config is not None
    return config(**settings)


def create(
    name: str, parameters: CongestionParameters, config: Any | None = None
) -> CongestionControl:
    """A fresh instance for one queue pair, with settings of its own where `config` gives some.

    ValueError for an unknown name (it lists the known ones), and for settings that are not this
    algorithm's.
    """
    algorithm = _find(name)
    if config is None:
        return algorithm.factory(parameters)
    if algorithm.config is None or not isinstance(config, algorithm.config):
        wanted = algorithm.config.__name__ if algorithm.config else "none"
        raise ValueError(
            f"congestion control {name!r}: settings of type {type(config).__name__}, not {wanted}"
        )
    return algorithm.factory(parameters, config)
