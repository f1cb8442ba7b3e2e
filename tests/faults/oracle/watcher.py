"""The concurrent reader: while faults happen it looks at positions and tables again and again, and keeps what it saw."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import confluent_kafka as ck

from tests.faults.oracle.stored_state import Position, Positions
from tests.faults.oracle.table_files import Pointer, Snapshot, TableFiles

PAUSE = 0.05
"""Seconds between two looks."""


class Sample(NamedTuple):
    """One look: the positions, asked first, and then the head of each table (None: no snapshot yet).

    Tables that were taken away on purpose at that time are left out.
    """

    positions: Mapping[tuple[str, int], Position]
    heads: Mapping[str, Snapshot | None]


@dataclass
class Watcher:
    """Samples a connector's positions and tables until it is stopped."""

    bootstrap: str
    group: str
    topics: Sequence[str]
    pointers: Mapping[str, Pointer]
    files: TableFiles
    samples: list[Sample] = field(default_factory=list)
    looks: int = 0
    errors: list[str] = field(default_factory=list)
    disturbed: set[str] = field(default_factory=set)
    """Tables whose owner is rolling them back or dropping them: what they hold against the position is not judged."""

    def __post_init__(self) -> None:
        self._positions = Positions(self.bootstrap, self.group)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look once more and end. Raises what went wrong while looking."""
        self._over.set()
        self._thread.join(90)
        self._positions.close()
        if self.errors:
            message = f"the watcher could not read what it should: {self.errors[:3]}"
            raise AssertionError(message)

    def look(self) -> None:
        """Take one sample. A broker that is away is no finding: positions are left out then."""
        with self._lock:
            self._open()

    def _open(self) -> None:
        disturbed = set(self.disturbed)
        try:
            positions = self._positions.ask(self.topics)
        except ck.KafkaException:
            positions = {}
        heads = {}
        for table, pointer in self.pointers.items():
            location = pointer.location()
            if table not in disturbed | self.disturbed:
                heads[table] = None if location is None else self.files.metadata(location).head()
        sample = Sample(positions, heads)
        self.looks += 1
        if not self.samples or self.samples[-1] != sample:
            self.samples.append(sample)

    def _watch(self) -> None:
        while not self._over.is_set():
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - whatever it is, stop() raises it
                self.errors.append(f"{type(error).__name__}: {error}")
            self._over.wait(PAUSE)
