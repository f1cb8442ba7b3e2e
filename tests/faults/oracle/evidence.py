"""Evidence: what Kafka shows, what the tables show, and what floe says of both, brought together for the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tests.faults.harness.producer import Acks
from tests.faults.oracle.kafka_log import KafkaLog, LogKey
from tests.faults.oracle.stamps import BROKEN, FOREIGN, Stamp
from tests.faults.oracle.stored_state import Position, Spans
from tests.faults.oracle.table_files import DeadLetter, Metadata, Snapshot, TableFiles
from tests.faults.oracle.watcher import Sample
from tests.support.runs.poison import Poison

DEAD = "dead"
"""The kind of a dead letter that is open."""

Counts = dict[LogKey, NDArray[np.int8]]
"""How often each record with a value is there, in offset order, per partition; small numbers, for many snapshots."""


@dataclass(frozen=True)
class TableEvidence:
    """One table: its metadata now, its history from the oldest on, and heads seen meanwhile that are not in it."""

    name: str
    metadata: Metadata | None
    history: tuple[Snapshot, ...]
    vanished: tuple[Snapshot, ...] = ()

    @property
    def head(self) -> Snapshot | None:
        return self.history[-1] if self.history else None

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """Every snapshot that anybody could have read."""
        return (*self.history, *self.vanished)


@dataclass(frozen=True)
class Excuses:
    """What need not be in a table: per (table, partition), with ``*`` for all tables, spans of offsets."""

    spans: Mapping[tuple[str, LogKey], Spans] = field(default_factory=dict)

    def of(self, table: str, log: LogKey) -> Spans:
        return (*self.spans.get((table, log), ()), *self.spans.get(("*", log), ()))


@dataclass(frozen=True)
class Contents:
    """The rows of some files: how often each record, what is not in Kafka, and how many rows are foreign."""

    counts: Counts
    unknown_rows: tuple[Stamp, ...]
    foreign: tuple[Stamp, ...]


@dataclass(frozen=True)
class Letters:
    """Dead letters that are not resolved: how often for each record, per table and for none; ``strangers``: of what is
    not in Kafka."""

    counts: Mapping[str | None, Counts]
    unknown_rows: tuple[DeadLetter, ...] = ()

    def of(self, table: str | None, log: LogKey) -> NDArray[np.bool_] | None:
        """Say of each record of a partition whether it has a letter for a table; None: none has."""
        counts = self.counts.get(table, {}).get(log)
        return None if counts is None else counts > 0


@dataclass(frozen=True)
class FileContents:
    """The rows of one file: where its records stand in their partitions, and what is not in Kafka or foreign."""

    ranks: dict[LogKey, NDArray[np.int64]]
    unknown_rows: tuple[Stamp, ...]
    foreign: tuple[Stamp, ...]


@dataclass
class Evidence:
    """All that the checks look at.

    ``foreign``: per table, rows that another process put there. ``is_quiet``: nothing runs any more and everything had
    its chance, so that nothing may be missing or in a backlog. ``letters``: the table of dead letters, if there is one.
    """

    group: str
    kafka: KafkaLog
    acks: Sequence[Acks]
    files: TableFiles
    tables: Sequence[TableEvidence]
    positions: Mapping[tuple[str, int], Position]
    samples: Sequence[Sample] = ()
    looks: int = 0
    excuses: Excuses = field(default_factory=Excuses)
    foreign: Mapping[str, Sequence[Stamp]] = field(default_factory=dict)
    is_quiet: bool = True
    dead_letters: TableEvidence | None = None

    def __post_init__(self) -> None:
        self._foreign = {stamp for stamps in self.foreign.values() for stamp in stamps}
        self._dead_letters: dict[str, Letters] = {}
        self._meant: dict[tuple[str, LogKey], NDArray[np.bool_]] = {}
        self._of_files: dict[str, FileContents] = {}
        self._of_snapshots: dict[str, Contents] = {}

    @cached_property
    def offsets(self) -> dict[LogKey, NDArray[np.int64]]:
        """The offsets of the records with a value, per partition."""
        return {
            log: np.array([o for o, s in zip(r.offsets, r.stamps, strict=True) if s is not None], dtype=np.int64)
            for log, r in self.kafka.partitions.items()
        }

    @cached_property
    def ranks(self) -> dict[Stamp, tuple[LogKey, int]]:
        """The place of each record among those of its partition that have a value."""
        found: dict[Stamp, tuple[LogKey, int]] = {}
        for log, records in self.kafka.partitions.items():
            stamps = (stamp for stamp in records.stamps if stamp is not None)
            found.update((stamp, (log, rank)) for rank, stamp in enumerate(stamps))
        return found

    def of_file(self, path: str) -> FileContents:
        """Return what one data file holds."""
        if path not in self._of_files:
            self._of_files[path] = self._sorted_out(self.files.rows(path).stamps)
        return self._of_files[path]

    def of_snapshot(self, snapshot: Snapshot) -> Contents:
        """Return what a snapshot holds."""
        known = self._of_snapshots.get(snapshot.manifest_list)
        if known is None:
            known = self.of_files(entry.path for entry in self.files.live(snapshot))
            self._of_snapshots[snapshot.manifest_list] = known
        return known

    def of_files(self, paths: Iterable[str]) -> Contents:
        """Return what some files hold together."""
        ranks: dict[LogKey, list[NDArray[np.int64]]] = {log: [] for log in self.offsets}
        unknown_rows: list[Stamp] = []
        foreign: list[Stamp] = []
        for path in paths:
            contents = self.of_file(path)
            for log, some in contents.ranks.items():
                ranks[log].append(some)
            unknown_rows += contents.unknown_rows
            foreign += contents.foreign
        counts = {log: _counted(some, len(self.offsets[log])) for log, some in ranks.items()}
        return Contents(counts, tuple(unknown_rows), tuple(foreign))

    @property
    def every_table(self) -> Sequence[TableEvidence]:
        """The tables and, at the end, that of the letters."""
        return self.tables if self.dead_letters is None else (*self.tables, self.dead_letters)

    def row_count(self, table: TableEvidence, path: str) -> int:
        """Count the rows of a data file."""
        return len(self.files.dead_letters(path) if table is self.dead_letters else self.files.rows(path).stamps)

    def of_dead_letters(self, snapshot: Snapshot | None) -> Letters:
        """Return the letters of a snapshot."""
        if snapshot is None:
            return Letters({})
        if snapshot.manifest_list not in self._dead_letters:
            rows = [
                dead_letter
                for entry in self.files.live(snapshot)
                for dead_letter in self.files.dead_letters(entry.path)
            ]
            self._dead_letters[snapshot.manifest_list] = self._opened(rows)
        return self._dead_letters[snapshot.manifest_list]

    @cached_property
    def dead(self) -> Letters:
        """The letters that are there now."""
        return self.of_dead_letters(self.dead_letters.head if self.dead_letters is not None else None)

    def lettered(self, table: str, log: LogKey, dead_letters: Letters | None = None) -> NDArray[np.bool_]:
        """Say of each record of a partition whether a letter tells why a table lacks it: its own, or that of no table's."""
        mask = np.zeros(len(self.offsets[log]), dtype=np.bool_)
        for one in (table, None):
            found = (dead_letters or self.dead).of(one, log)
            if found is not None:
                mask |= found
        return mask

    def needed(self, table: str, log: LogKey, dead_letters: Letters | None = None) -> NDArray[np.bool_]:
        """Say of each record of a partition whether a table must have it sooner or later: meant for it, not excused, not
        dead."""
        return self.meant(table, log) & ~self.excused(table, log) & ~self.lettered(table, log, dead_letters)

    def meant(self, table: str, log: LogKey) -> NDArray[np.bool_]:
        """Say of each record of a partition whether it was produced for a table."""
        if (table, log) not in self._meant:
            tables = {stamp: meant for acks in self.acks for stamp, meant in acks.meant.items()}
            self._meant[(table, log)] = self.mask(log, lambda stamp: stamp not in tables or table in tables[stamp])
        return self._meant[(table, log)]

    @cached_property
    def poison(self) -> Mapping[Stamp, Poison]:
        """The records that must be dead, with what their letters must say."""
        return {stamp: poison for acks in self.acks for stamp, poison in acks.poison.items()}

    @cached_property
    def doubtful(self) -> frozenset[Stamp]:
        """The records that may be dead."""
        return frozenset(stamp for acks in self.acks for stamp in acks.doubtful)

    def mask(self, log: LogKey, is_so: Callable[[Stamp], bool]) -> NDArray[np.bool_]:
        """Say something of each record of a partition."""
        records = self.kafka.partitions[log]
        return np.array([is_so(stamp) for stamp in records.stamps if stamp is not None], dtype=np.bool_)

    def _opened(self, rows: Iterable[DeadLetter]) -> Letters:
        counts: dict[str | None, Counts] = {}
        unknown_rows = []
        for dead_letter in rows:
            offsets = self.offsets.get(dead_letter.log, np.array([], dtype=np.int64))
            rank = int(np.searchsorted(offsets, dead_letter.offset))
            if rank == len(offsets) or offsets[rank] != dead_letter.offset:
                unknown_rows.append(dead_letter)
                continue
            of_table = counts.setdefault(dead_letter.table, {})
            of_log = of_table.setdefault(dead_letter.log, np.zeros(len(offsets), dtype=np.int8))
            of_log[rank] += 1 if dead_letter.kind == DEAD else -1
        return Letters(counts, tuple(unknown_rows))

    def excused(self, table: str, log: LogKey) -> NDArray[np.bool_]:
        """Say of each record of a partition whether it may be missing from a table."""
        mask = np.zeros(len(self.offsets[log]), dtype=np.bool_)
        for start, end in self.excuses.of(table, log):
            mask |= (self.offsets[log] >= start) & (self.offsets[log] < end)
        return mask

    def below(self, log: LogKey, position: Position, table: str) -> NDArray[np.bool_]:
        """Say of each record of a partition whether a table must have it, by a position and its backlogs."""
        end = min(position.offset, position.backlogs.get(table, position.offset))
        mask: NDArray[np.bool_] = self.offsets[log] < end
        return mask

    def within(self, log: LogKey, spans: Spans) -> NDArray[np.bool_]:
        """Say of each record of a partition whether its offset is in spans."""
        mask = np.zeros(len(self.offsets[log]), dtype=np.bool_)
        for start, end in spans:
            mask |= (self.offsets[log] >= start) & (self.offsets[log] < end)
        return mask

    def where(self, log: LogKey, mask: NDArray[np.bool_]) -> str:
        """Name the offsets of a mask."""
        offsets = self.offsets[log][mask]
        shown = ", ".join(map(str, offsets[:5])) + (f" … {offsets[-1]}" if len(offsets) > 5 else "")
        return f"{log} at {shown} ({len(offsets)} records)"

    def _sorted_out(self, stamps: Iterable[Stamp]) -> FileContents:
        found: dict[LogKey, list[int]] = {}
        unknown_rows: list[Stamp] = []
        foreign: list[Stamp] = []
        for stamp in stamps:
            if stamp in self.ranks and stamp != BROKEN:
                log, rank = self.ranks[stamp]
                found.setdefault(log, []).append(rank)
            elif stamp.run == FOREIGN or stamp in self._foreign:
                foreign.append(stamp)
            else:
                unknown_rows.append(stamp)
        ranks = {log: np.array(some, dtype=np.int64) for log, some in found.items()}
        return FileContents(ranks, tuple(unknown_rows), tuple(foreign))


def _counted(ranks: Sequence[NDArray[np.int64]], length: int) -> NDArray[np.int8]:
    if not ranks:
        return np.zeros(length, dtype=np.int8)
    counts: NDArray[np.int8] = np.bincount(np.concatenate(ranks), minlength=length).clip(max=100).astype(np.int8)
    return counts
