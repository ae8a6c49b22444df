# SPDX-License-Identifier: Apache-2.0
"""Scenario files: a topology, a workload, faults, a seed, and what must hold at the end.

One YAML file describes one run and means the same in every world. Errors name file and field.
`docs/scenarios.md` describes every field with its unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from endpoint import congestion
from endpoint.messages import MAX_MESSAGE_BYTES
from testbed.faults import Fault
from testbed.map_options import MapOptions
from testbed.quantities import SizeBytes, TimeNs
from topologies.files import UniqueKeyLoader


class ScenarioError(ValueError):
    """A scenario that cannot be run; the message names file and field."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Messages(_Part):
    """Common to all workloads: how much each flow sends.

    Either ``messages`` a flow, or as many as can be posted before ``until``; ``in_flight`` of
    them are kept posted at once.
    """

    message_bytes: SizeBytes = Field(default=65536, le=MAX_MESSAGE_BYTES)
    messages: int | None = Field(default=None, ge=1)
    until: TimeNs | None = None
    in_flight: int = Field(default=2, ge=1, le=1024)
    immediate: bool = False
    """WRITE_IMM instead of WRITE: the receiver gets a completion for each message."""

    @model_validator(mode="after")
    def _one_end(self) -> _Messages:
        if (self.messages is None) == (self.until is None) and not getattr(self, "file", None):
            raise ValueError("give either messages (a flow) or until (a time), not both or none")
        return self


class OneWrite(_Messages):
    """One host writes to another: random bytes or, with ``file``, the bytes of a file, once."""

    kind: Literal["one_write"]
    source: str
    destination: str
    file: str | None = None
    """Path of a file, relative to the scenario's; its length takes the place of messages."""

    @model_validator(mode="after")
    def _file_alone(self) -> OneWrite:
        if self.file is not None and (self.messages is not None or self.until is not None):
            raise ValueError("with file, neither messages nor until: the file's length decides")
        return self


class Permutation(_Messages):
    """Every host sends to one other, and receives from one other.

    ``shift`` n: host i sends to host i + n, modulo the number of hosts. Without it the partners
    are drawn at random from the seed, no host sends to itself.
    """

    kind: Literal["permutation"]
    shift: int | None = Field(default=None, ge=1)


class Victim(_Part):
    """A flow beside an incast, which the incast should not disturb; it sends from the start."""

    source: str
    destination: str


class Incast(_Messages):
    """Many hosts send to one."""

    kind: Literal["incast"]
    senders: list[str] = Field(min_length=1)
    receiver: str
    start: TimeNs = 0
    victim: Victim | None = None

    @model_validator(mode="after")
    def _distinct(self) -> Incast:
        if len(set(self.senders)) != len(self.senders) or self.receiver in self.senders:
            raise ValueError("senders must be distinct, and the receiver not one of them")
        if self.victim is not None and self.until is None:
            raise ValueError("with a victim the incast needs until: both must last as long")
        return self


class AllToAll(_Messages):
    """Every host sends to every other."""

    kind: Literal["all_to_all"]


class RingAllReduce(_Part):
    """All hosts reduce a buffer of ``buffer_bytes`` in a ring, ``rounds`` times.

    The operation is XOR. A step of a host waits for what its left neighbour sent in the step
    before, as in every ring all-reduce: 2 × (hosts − 1) steps, each of a share of the buffer.
    """

    kind: Literal["ring_all_reduce"]
    buffer_bytes: SizeBytes
    rounds: int = Field(default=1, ge=1)


Workload = Annotated[
    OneWrite | Permutation | Incast | AllToAll | RingAllReduce, Field(discriminator="kind")
]


class EndpointOptions(_Part):
    """How the endpoints are set up; what is absent follows from the fabric."""

    evs: int | None = Field(default=None, ge=1, le=256)
    """Active EVs of each QP; all paths of the pair (at most 256) when absent."""
    carrier_delay: TimeNs = 2_000
    """From losing or gaining carrier until the NIC tells its endpoint."""
    timeout: int | None = Field(default=None, ge=0, le=24)
    """Exponent of the retransmission timer: 1.024 µs × 2^timeout."""
    congestion: str = "window"
    """Congestion control: window, nscc or fixed-window."""
    congestion_settings: dict[str, bool | int | float] = Field(default_factory=dict)
    """Settings of that algorithm, NSCC's under the names of the OCP control API."""

    @model_validator(mode="after")
    def _congestion_exists(self) -> EndpointOptions:
        congestion.configure(self.congestion, self.congestion_settings)
        return self


class MeasureOptions(_Part):
    """Where the lines between before and after are drawn."""

    bin: TimeNs = 5_000
    """Width of a goodput bin."""
    window: TimeNs = 100_000
    """Longest stretch before a fault over which its goodput is taken."""
    settle: TimeNs = 30_000
    """From a fault (or the start) until goodput counts as after it."""
    settle_mended: TimeNs = 150_000
    """From a mend until goodput counts as after it: a path returns through probes."""
    queues: bool = False
    """Sample the depth of every data queue (implied by what is expected of them)."""
    trace: list[str] = Field(default_factory=list, max_length=1000)
    """Flows (h5-h1, or all) whose window, round trip and bytes in flight are sampled."""
    sample: Annotated[TimeNs, Field(ge=1)] = 1_000
    """Time between two samples of queues and flows."""


class Expectations(_Part):
    """What must hold, or the run fails. What is absent is not checked."""

    all_bytes_verified: bool = True
    """Every message complete, and every byte at its destination equal to its source."""
    no_qp_error: bool = True
    min_trimmed_share: float | None = Field(default=None, ge=0, le=1)
    """Trimmed at least this share of the data packets sent."""
    max_trimmed_share: float | None = Field(default=None, ge=0, le=1)
    no_ev_assumed_bad: bool = False
    min_evs_assumed_bad: int | None = Field(default=None, ge=1)
    """At least so many EVs were retired (an EV of one QP counts each time)."""
    no_timer_fired: bool = False
    queues_balanced: bool = False
    """Enqueued − dequeued is 0 at the end, for every switch, port and class."""
    no_congestion_drops: bool = False
    victim_share: float | None = Field(default=None, ge=0, le=1)
    """The victim's goodput during the incast, as a share of its goodput before it."""
    fair_share: float | None = Field(default=None, ge=0, le=1)
    """The slowest flow's bytes as a share of the mean flow's (of an incast: its senders')."""
    jain_index: float | None = Field(default=None, ge=0, le=1)
    """Jain's fairness index of the flows' goodput (of an incast: its senders')."""
    queue_p99_below: float | None = Field(default=None, gt=0)
    """The 99th percentile of every switch port's data queue, over its trim threshold."""
    goodput_share: float | None = Field(default=None, ge=0, le=1)
    """Goodput without faults, as a share of the workload's max-flow."""
    goodput_after: float | None = Field(default=None, ge=0, le=1)
    """After every fault: goodput as a share of the max-flow over the live links."""
    goodput_mended: float | None = Field(default=None, ge=0, le=1)
    """After every mend: goodput as a share of the max-flow over the live links."""
    last_packet_rtts: float | None = Field(default=None, gt=0)
    """After every fault, each QP's last data packet into it, in RTTs since its first loss."""
    recovered_within: TimeNs | None = None
    """After every fault, everything lost in it is placed within this time."""
    port_utilisation: float | None = Field(default=None, ge=0, le=1)
    """The least used sending NIC port's busy share, between settling and the end of posting."""
    map_names_faults: TimeNs | None = None
    """The map names every fault (of a link, port or switch) within this time."""
    map_accuses_no_other: bool = False
    """The map never names or suspects anything that was not broken."""


class Scenario(_Part):
    """One run."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)
    description: str
    topology: str
    """Name of a preset, or the path of a fabric description (relative to this file)."""
    seed: int = Field(default=1, ge=0, lt=1 << 63)
    duration: TimeNs
    """The run ends when all is done and no later than this; what is open then has failed."""
    workload: Workload
    faults: list[Fault] = Field(default_factory=list, max_length=1000)
    endpoint: EndpointOptions = EndpointOptions()
    measure: MeasureOptions = MeasureOptions()
    map: MapOptions | None = None
    """Probe every link, and keep a map of what is broken."""
    expect: Expectations = Expectations()
    capture: list[str] = Field(default_factory=list)
    """Links whose frames are written to pcap files, when the run has a results folder."""
    _source: str = PrivateAttr(default="")

    @property
    def source(self) -> str:
        """What errors call it: its file, and its name when it came from none."""
        return self._source or self.name

    @model_validator(mode="after")
    def _times_fit(self) -> Scenario:
        until = getattr(self.workload, "until", None)
        if until is not None and until >= self.duration:
            raise ValueError("workload.until must be before duration: the rest must get across")
        for i, fault in enumerate(self.faults):
            if fault.at >= self.duration:
                raise ValueError(f"faults[{i}].at must be before duration")
        if self.map is None and (
            self.expect.map_names_faults is not None or self.expect.map_accuses_no_other
        ):
            raise ValueError("expect.map_… needs a map section")
        return self


def load_scenario(name_or_path: str | Path) -> Scenario:
    """The scenario of this name (see `shipped_scenarios`) or in this YAML file.

    Raises `ScenarioError` naming the file and every field that is wrong.
    """
    path = Path(name_or_path)
    source = str(path)
    if path.suffix not in (".yaml", ".yml"):
        path = _shipped_folder() / f"{name_or_path}.yaml"
        if not path.is_file():
            if Path(name_or_path).is_file():
                raise ScenarioError(f"{name_or_path}: a scenario's file is called .yaml or .yml")
            known = ", ".join(shipped_scenarios())
            raise ScenarioError(f"no scenario {str(name_or_path)!r} (there are: {known})")
    try:
        # The loader is a SafeLoader: it builds plain values only.
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeyLoader)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: not YAML: {error}") from error
    return parse_scenario(document, source=source, folder=path.parent)


def parse_scenario(document: Any, *, source: str, folder: Path | None = None) -> Scenario:
    """The scenario of a parsed YAML document; ``source`` names it in errors."""
    if not isinstance(document, dict):
        raise ScenarioError(f"{source}: a scenario is a mapping of fields")
    try:
        scenario = Scenario.model_validate(document)
    except ValidationError as error:
        raise ScenarioError("\n".join(_problems(error, source))) from error
    if folder is not None:
        scenario = _resolved(scenario, folder)
    scenario._source = source
    return scenario


def _resolved(scenario: Scenario, folder: Path) -> Scenario:
    """The scenario with its paths, which are relative to its own file, made usable from here."""
    changes: dict[str, Any] = {}
    if scenario.topology.endswith((".yaml", ".yml")):
        changes["topology"] = str(folder / scenario.topology)
    workload = scenario.workload
    if isinstance(workload, OneWrite) and workload.file is not None:
        path = str(folder / workload.file)
        changes["workload"] = workload.model_copy(update={"file": path})
    return scenario.model_copy(update=changes)


_KINDS = frozenset(
    get_args(model.model_fields["kind"].annotation)[0]
    for union in (Workload, Fault)
    for model in get_args(get_args(union)[0])
)


def _problems(error: ValidationError, source: str) -> Iterator[str]:
    for problem in error.errors():
        field = ""
        for part in problem["loc"]:
            if part in _KINDS:  # pydantic adds the union's tag; it is no field of the file
                continue
            field += f"[{part}]" if isinstance(part, int) else f".{part}" if field else str(part)
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            message = "no such field"
        elif problem["type"] == "missing":
            message = "is missing"
        yield f"{source}: {field or 'scenario'}: {message}"


def _shipped_folder() -> Path:
    return Path(str(resources.files("testbed"))) / "scenarios"


def shipped_scenarios() -> list[str]:
    """Names of the scenarios that come with the project, sorted."""
    return sorted(path.stem for path in _shipped_folder().glob("*.yaml"))
