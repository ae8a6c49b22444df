# SPDX-License-Identifier: Apache-2.0
"""Where the switches of a fabric are reached: a YAML file from switch names to gRPC addresses."""

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from controller.client import SwitchTarget
from topologies import Fabric
from topologies.files import UniqueKeyLoader


class TargetsError(ValueError):
    """The file of switch addresses is wrong; the message names file and field or switch."""


class _Place(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    address: str = Field(min_length=1)
    device_id: int = Field(ge=0, lt=1 << 64)


_PLACES = TypeAdapter(dict[str, _Place])


def load_targets(path: Path, fabric: Fabric) -> list[SwitchTarget]:
    """One target for each switch of `fabric`, in its order.

    The file maps each switch's name to `{address: HOST:PORT, device_id: N}`. Raises TargetsError
    when it cannot be read, has a wrong field, leaves a switch out or names one that is not there.
    """
    try:
        data = yaml.load(path.read_text(), Loader=UniqueKeyLoader)
        places = _PLACES.validate_python(data)
    except OSError as error:
        raise TargetsError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TargetsError(f"{path}: not YAML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole file"
        # pydantic's own words name a class of this file, which its writer never saw.
        wrong_shape = first["type"] == "model_type"
        text = "should be a mapping of address and device_id" if wrong_shape else first["msg"]
        raise TargetsError(f"{path}: {field}: {text}") from None
    targets = []
    for switch in fabric.switches():
        place = places.pop(switch.name, None)
        if place is None:
            raise TargetsError(f"{path}: switch {switch.name} of {fabric.name} is missing")
        targets.append(SwitchTarget(switch.name, place.address, place.device_id))
    if places:
        raise TargetsError(f"{path}: {next(iter(places))} is no switch of {fabric.name}")
    return targets
