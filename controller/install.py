# SPDX-License-Identifier: Apache-2.0
"""Installation of computed tables on many switches at once, repeatable and verified.

For each switch: become the primary controller, push the program only when the switch does not hold
it (a second push empties the tables), bring the tables to what is meant by reading them and
writing the difference, and read them again, which must give exactly what is meant. A switch that
fails is reported; the others are finished.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from p4.v1 import p4runtime_pb2

from controller.client import SwitchError, SwitchSession, SwitchTarget, Timeouts
from controller.entries import Changes, EntryCodec, EntryError, difference
from controller.pipeline import Pipeline
from controller.tables import TableEntry
from topologies import TopologyError

EntriesOf = Callable[[str], Iterable[TableEntry]]


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """`replace`: a switch that holds another program may lose it. `batch`: updates a write.

    `workers`: switches at a time.
    """

    replace: bool = False
    batch: int = 128
    workers: int = 16
    election_id: int = 1
    timeouts: Timeouts = field(default_factory=Timeouts)


@dataclass(slots=True)
class SwitchReport:
    """What became of one switch; counts are of table entries that were written."""

    name: str
    pushed: bool = False
    inserted: int = 0
    modified: int = 0
    deleted: int = 0
    unchanged: int = 0
    error: str | None = None
    seconds: float = 0.0

    @property
    def changes(self) -> int:
        """Entries written, and one for a pushed program."""
        return self.pushed + self.inserted + self.modified + self.deleted


@dataclass(frozen=True, slots=True)
class InstallReport:
    """One report for each switch, in the order in which they were given."""

    switches: tuple[SwitchReport, ...]

    @property
    def errors(self) -> tuple[str, ...]:
        return tuple(switch.error for switch in self.switches if switch.error is not None)

    @property
    def changes(self) -> int:
        return sum(switch.changes for switch in self.switches)

    @property
    def exit_status(self) -> int:
        """0 when every switch holds what was meant, else 1."""
        return 1 if self.errors else 0


def install(
    targets: Sequence[SwitchTarget],
    pipeline: Pipeline,
    entries_of: EntriesOf,
    options: InstallOptions | None = None,
    on_done: Callable[[SwitchReport], None] | None = None,
) -> InstallReport:
    """Bring every target to `pipeline` and to the entries that `entries_of` gives for its name.

    Never raises for a switch: see the report. `on_done` is called in the calling thread as each
    switch ends.
    """
    options = options or InstallOptions()
    codec = EntryCodec(pipeline.p4info)
    with ThreadPoolExecutor(max(1, min(options.workers, len(targets)))) as pool:
        jobs = [
            pool.submit(_install_switch, target, pipeline, codec, entries_of, options)
            for target in targets
        ]
        for job in as_completed(jobs):
            if on_done is not None:
                on_done(job.result())
    return InstallReport(tuple(job.result() for job in jobs))


def _install_switch(
    target: SwitchTarget,
    pipeline: Pipeline,
    codec: EntryCodec,
    entries_of: EntriesOf,
    options: InstallOptions,
) -> SwitchReport:
    report = SwitchReport(target.name)
    started = time.monotonic()
    try:
        meant = tuple(entries_of(target.name))
        with SwitchSession(
            target, election_id=options.election_id, timeouts=options.timeouts
        ) as session:
            report.pushed = _ensure_pipeline(session, pipeline, options.replace)
            _bring_tables(session, codec, meant, options.batch, report)
    except SwitchError as error:
        report.error = str(error)
    except (EntryError, TopologyError) as error:
        report.error = f"switch {target.name} ({target.address}): {error}"
    report.seconds = time.monotonic() - started
    return report


def _ensure_pipeline(session: SwitchSession, pipeline: Pipeline, replace: bool) -> bool:
    """Push the program unless the switch holds it; whether it was pushed."""
    cookie = session.cookie()
    if cookie == pipeline.cookie:
        return False
    if cookie is not None and not replace:
        raise SwitchError(
            f"{session.where}: holds another program (cookie {cookie:#x}, ours is "
            f"{pipeline.cookie:#x}); allow it to be replaced (--replace)"
        )
    session.push(pipeline)
    if session.cookie() != pipeline.cookie:
        raise SwitchError(f"{session.where}: does not hold the program that was pushed")
    return True


def _bring_tables(
    session: SwitchSession,
    codec: EntryCodec,
    meant: Sequence[TableEntry],
    batch: int,
    report: SwitchReport,
) -> None:
    """Write the difference, deletions first so that a full table has room, and verify."""
    changes = difference(meant, read_entries(session, codec))
    report.unchanged = changes.unchanged
    refused: list[str] = []

    def write(kind: int, entries: Sequence[TableEntry]) -> Iterator[int]:
        """Entries written, batch by batch."""
        for start in range(0, len(entries), batch):
            part = entries[start : start + batch]
            errors = _write_batch(session, codec, kind, part)
            refused.extend(errors)
            yield len(part) - len(errors)

    for written in write(p4runtime_pb2.Update.DELETE, changes.delete):
        report.deleted += written
    for written in write(p4runtime_pb2.Update.MODIFY, changes.modify):
        report.modified += written
    for written in write(p4runtime_pb2.Update.INSERT, changes.insert):
        report.inserted += written
    if refused:
        more = f" (and {len(refused) - 1} more entries refused)" if len(refused) > 1 else ""
        raise SwitchError(f"{session.where}: {refused[0]}{more}")
    _verify(session, difference(meant, read_entries(session, codec)))


def _write_batch(
    session: SwitchSession, codec: EntryCodec, kind: int, entries: Sequence[TableEntry]
) -> list[str]:
    """Write one batch; what the switch said of each entry it refused."""
    encode = codec.encode_key if kind == p4runtime_pb2.Update.DELETE else codec.encode
    updates = []
    for entry in entries:
        update = p4runtime_pb2.Update(type=kind)
        update.entity.table_entry.CopyFrom(encode(entry))
        updates.append(update)
    try:
        errors = session.write(updates)
    except SwitchError as error:
        raise SwitchError(f"{error} (in the batch from {_place(entries[0])})") from None
    verb = p4runtime_pb2.Update.Type.Name(kind)
    return [
        f"{_place(entries[error.index])}: {verb} refused: {error.code}: {error.message}"
        for error in errors
    ]


def _place(entry: TableEntry) -> str:
    return f"table {entry.table}, entry {entry}"


def _verify(session: SwitchSession, left: Changes) -> None:
    if not left.count:
        return
    problem, entry = next(
        (problem, entries[0])
        for problem, entries in (
            ("was accepted but cannot be read back", left.insert),
            ("reads back with another action or parameters", left.modify),
            ("is there but not meant", left.delete),
        )
        if entries
    )
    raise SwitchError(f"{session.where}: {_place(entry)}: {problem}")


def read_entries(session: SwitchSession, codec: EntryCodec) -> list[TableEntry]:
    """All entries, default entries aside, of the tables that the controller writes."""
    wildcard = p4runtime_pb2.Entity()
    wildcard.table_entry.SetInParent()
    return [
        codec.decode(entity.table_entry)
        for entity in session.read(wildcard)
        if codec.knows(entity.table_entry) and not entity.table_entry.is_default_action
    ]
