"""What processes use: CPU seconds and memory, of the processes given and all that they start. Needs Linux's /proc."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import psutil

from floe_job.runtime.prefork_daemon import NAME

SAMPLE_SECONDS = 0.1
WORKER, BROKER = "worker", "broker"
_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Usage:
    """CPU seconds (user and system) since the meter began; peaks of resident memory in MB, without the broker's.

    ``worker_mb``: of the largest single Python process of Spark. ``parts``: CPU seconds of the broker, of other JVMs, of
    Spark's Python processes, and of all others.
    """

    cpu_seconds: float
    resident_mb: float
    worker_mb: float
    parts: Mapping[str, float]


class _Stat(NamedTuple):
    """What /proc has of a process; ``started`` tells it from another that had its pid."""

    name: str
    parent: int
    cpu_seconds: float
    started: int
    resident_mb: float


_Key = tuple[int, int]
"""Pid and start."""


@dataclass
class Meter:
    """Measures families of processes while it is open, and the ``broker``, which every system uses. What a process used just
    before it ended is missed, for up to a sample's length.
    """

    roots: Sequence[psutil.Process]
    broker: psutil.Process | None = None
    _known: dict[_Key, float] = field(default_factory=dict, init=False)
    _before: dict[_Key, float] = field(default_factory=dict, init=False)
    _kinds: dict[_Key, str] = field(default_factory=dict, init=False)
    _resident: float = field(default=0.0, init=False)
    _worker: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _done: threading.Event = field(default_factory=threading.Event, init=False)

    def __enter__(self) -> Meter:
        self._sample()
        self._before = dict(self._known)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def add(self, process: psutil.Process) -> None:
        """Measure one more process, from its start."""
        self.roots = [*self.roots, process]

    def usage_now(self) -> Usage:
        """Take another sample; return what was used since the meter was opened."""
        self._sample()
        parts: dict[str, float] = {}
        for key, seconds in self._known.items():
            kind = f"{self._kinds[key]}_cpu_seconds"
            parts[kind] = parts.get(kind, 0.0) + seconds - self._before.get(key, 0.0)
        return Usage(sum(parts.values()), self._resident, self._worker, parts)

    def _run(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self._sample()

    def _sample(self) -> None:
        with self._lock:
            self._take()

    def _take(self) -> None:
        stats = _all_stats()
        resident = 0.0
        for pid in self._family(stats):
            stat = stats[pid]
            key = (pid, stat.started)
            kind = self._kinds[key] = self._kind(key, stat.name)
            self._known[key] = stat.cpu_seconds
            if kind == BROKER:
                continue
            resident += stat.resident_mb
            if kind == WORKER:
                self._worker = max(self._worker, stat.resident_mb)
        self._resident = max(self._resident, resident)

    def _family(self, stats: Mapping[int, _Stat]) -> set[int]:
        """Return who lives of the roots, of their descendants, and of those that were that once."""
        children: dict[int, list[int]] = {}
        for pid, stat in stats.items():
            children.setdefault(stat.parent, []).append(pid)
        left = [one.pid for one in (*self.roots, self.broker) if one is not None and one.pid in stats]
        left += [pid for pid, started in self._known if pid in stats and stats[pid].started == started]
        found: set[int] = set()
        while left:
            pid = left.pop()
            if pid not in found:
                found.add(pid)
                left += children.get(pid, ())
        return found

    def _kind(self, key: _Key, name: str) -> str:
        pid, _ = key
        if self.broker is not None and pid == self.broker.pid:
            return BROKER
        if name == "java":
            return "jvm"
        # others are asked again: between fork and exec a process still has its parent's name and command
        if name == NAME or self._kinds.get(key) == WORKER:
            return WORKER
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            return "other"
        # Spark's daemon, and the workers that it forks
        return WORKER if command[1:2] == ["-m"] and "daemon" in command[2] else "other"


def _all_stats() -> dict[int, _Stat]:
    """Read each process's line once: a family is then found without a call for each of its members."""
    found = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - ten times a second, of all processes
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat") as file:  # noqa: PTH123
                    line = file.read()
            except OSError:
                continue  # it has ended
            before, _, after = line.rpartition(")")
            fields = after.split()
            cpu, started, pages = int(fields[11]) + int(fields[12]), int(fields[19]), int(fields[21])
            command = before.partition("(")[2]
            found[int(name)] = _Stat(command, int(fields[1]), cpu / _TICKS, started, pages * _PAGE / 2**20)
    return found
