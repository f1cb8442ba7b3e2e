"""What processes use: CPU seconds and memory, of the processes given and all that they start."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import psutil

from floe_job.runtime.prefork_daemon import NAME

SAMPLE_SECONDS = 0.1
WORKER = "worker"


@dataclass(frozen=True)
class Usage:
    """CPU seconds (user and system) since the meter began; peaks of resident memory in MB.

    ``worker_mb``: of the largest single Python process of Spark. ``parts``: CPU seconds of JVMs, of Spark's Python
    processes, and of all others.
    """

    cpu_seconds: float
    resident_mb: float
    worker_mb: float
    parts: Mapping[str, float]


@dataclass
class Meter:
    """Measures families of processes while it is open. What a process used just before it ended is missed, for up to
    a sample's length."""

    roots: Sequence[psutil.Process]
    _known: dict[psutil.Process, float] = field(default_factory=dict, init=False)
    _before: dict[psutil.Process, float] = field(default_factory=dict, init=False)
    _kinds: dict[psutil.Process, str] = field(default_factory=dict, init=False)
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

    def add(self, process: psutil.Process, *, from_now: bool = False) -> None:
        """Measure one more process, from its start or from now on."""
        self.roots = [*self.roots, process]
        if from_now:
            self._sample()
            self._before[process] = self._known[process]

    def usage_now(self) -> Usage:
        """Take another sample; return what was used since the meter was opened."""
        self._sample()
        parts: dict[str, float] = {}
        for process, seconds in self._known.items():
            kind = f"{self._kinds[process]}_cpu_seconds"
            parts[kind] = parts.get(kind, 0.0) + seconds - self._before.get(process, 0.0)
        return Usage(sum(parts.values()), self._resident, self._worker, parts)

    def _run(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self._sample()

    def _sample(self) -> None:
        with self._lock:
            self._open()

    def _open(self) -> None:
        resident = 0.0
        found = set(self._known)
        for root in self.roots:
            try:
                found |= {root, *root.children(recursive=True)}
            except psutil.NoSuchProcess:
                continue
        for process in found:
            try:
                with process.oneshot():
                    times, memory = process.cpu_times(), process.memory_info().rss / 2**20
                    self._kinds[process] = kind = _kind(process.name(), process.cmdline())
            except psutil.Error:
                continue
            self._known[process] = times.user + times.system
            resident += memory
            if kind == WORKER:
                self._worker = max(self._worker, memory)
        self._resident = max(self._resident, resident)


def _kind(name: str, command: Sequence[str]) -> str:
    if name == "java":
        return "jvm"
    if name == NAME:
        return WORKER
    # Spark's daemon, and the workers that it forks
    return WORKER if command[1:2] == ["-m"] and "daemon" in command[2] else "other"
