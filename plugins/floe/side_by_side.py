"""Several calls at once, in a bounded time: one that does not return keeps neither the others nor the process waiting.

With :func:`apart`, one that ends its process, as native clients do when they abort, does not end the others' either.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import IO, Any, Final, TypeVar

T = TypeVar("T")

SERVE: Final = "from floe.side_by_side import serve; serve()"
MAX_TAIL: Final = 4_000
"""Characters of what a process said last that are kept."""


def side_by_side(jobs: Mapping[str, Callable[[], T]], threads: int, until: float) -> Iterator[tuple[str, T]]:
    """Yield what each job returns, with its name, as soon as it does; those that return by ``until`` (``time.monotonic``).

    Jobs begin in their order. They must not raise: one that does yields nothing. The threads are daemons: a process ends
    without those that hang, which Python's own pools wait for.
    """
    waiting: queue.SimpleQueue[tuple[str, Callable[[], T]]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, T] | None] = queue.SimpleQueue()
    for item in jobs.items():
        waiting.put(item)

    def work() -> None:
        try:
            while time.monotonic() < until:
                name, job = waiting.get_nowait()
                done.put((name, job()))
        except queue.Empty:
            pass
        finally:
            done.put(None)

    running = min(threads, len(jobs))
    for number in range(running):
        threading.Thread(target=work, name=f"floe-{number}", daemon=True).start()
    while running:
        try:
            found = done.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return
        if found is None:
            running -= 1
        else:
            yield found


def apart(
    jobs: Mapping[str, Callable[[], T]],
    threads: int,
    until: float,
    crashed: Callable[[str, str, str], T],
    prepare: Callable[[], object] = bool,
) -> Iterator[tuple[str, T]]:
    """As :func:`side_by_side`, in a child process; where a job ends it, ``crashed`` returns the job's result.

    Its arguments are the job's name, how the process ended, and what it said last. Jobs, their results and ``prepare``, which
    the child calls first, have to be picklable. All jobs share one child. When it dies, those that had begun and not
    returned are asked again one by one, each in a child of its own, and the others in a next one together: a process is
    started for each death, not for each job.
    """
    waiting = dict(jobs)
    suspects: list[str] = []
    while (waiting or suspects) and time.monotonic() < until:
        given = {suspects[0]: jobs[suspects.pop(0)]} if suspects else waiting
        child = _Child.started(given, threads, until, prepare)
        for name, result in child.results():
            waiting.pop(name, None)
            yield name, result
        how = child.end()
        if how is None:
            return  # the time is over
        begun = [name for name in child.begun if name in given]
        for name in begun:
            waiting.pop(name, None)
        if len(begun) == 1:
            yield begun[0], crashed(begun[0], how, child.said)
        elif begun:
            suspects = begun
        elif given is waiting and waiting:
            for name in given:  # it did not begin
                yield name, crashed(name, how, child.said)
            return


class _Child:
    """One child process with some jobs. ``begun``: those it began and did not answer; ``said``: its last lines."""

    def __init__(self, process: subprocess.Popen[bytes], until: float) -> None:
        self.begun: list[str] = []
        self.said = ""
        self._until = until
        self._is_whole = False
        self._process = process
        self._answers: queue.SimpleQueue[tuple[str, str, Any] | None] = queue.SimpleQueue()
        self._readers = [
            threading.Thread(target=one, name="floe-child", daemon=True) for one in (self._read, self._listen)
        ]

    @classmethod
    def started(
        cls, jobs: Mapping[str, Callable[[], Any]], threads: int, until: float, prepare: Callable[[], object]
    ) -> _Child:
        """Start a process with jobs."""
        path = os.pathsep.join(one for one in sys.path if one)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        child = cls(process, until)
        for reader in child._readers:
            reader.start()
        # not in an argument, and not in the environment: settings have secrets
        task = pickle.dumps((prepare, dict(jobs), threads, max(0.0, until - time.monotonic())))
        with suppress(OSError):  # it is dead already
            _pipe(process.stdin).write(task)
            _pipe(process.stdin).flush()
        return child

    def results(self) -> Iterator[tuple[str, Any]]:
        """Yield what the jobs return, until all have, the child is dead or the time is over."""
        while True:
            try:
                found = self._answers.get(timeout=max(0.0, self._until - time.monotonic()))
            except queue.Empty:
                return
            if found is None:
                return
            kind, name, value = found
            if kind == "begun":
                self.begun.append(name)
            elif kind == "done":
                self.begun.remove(name)
                yield name, value
            else:
                self._is_whole = True
                return

    def end(self) -> str | None:
        """End the child; return how it ended by itself, None if all is answered or the time is over."""
        is_over = self._is_whole or time.monotonic() >= self._until
        self._process.kill() if is_over else None
        code = self._process.wait()
        for reader in self._readers:
            reader.join(5)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                _pipe(pipe).close()
        if is_over:
            return None
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return f"by signal {name}" if code < 0 else f"with exit code {code}"

    def _read(self) -> None:
        pipe = _pipe(self._process.stdout)
        with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                self._answers.put(pickle.load(pipe))  # noqa: S301 - of floe's own process
        self._answers.put(None)

    def _listen(self) -> None:
        with suppress(OSError, ValueError):
            for line in _pipe(self._process.stderr):
                self.said = (self.said + line.decode(errors="replace"))[-MAX_TAIL:]


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        msg = "the process has no such pipe"
        raise ValueError(msg)
    return pipe


def serve() -> None:
    """Do what :func:`apart` asks a child process to: read jobs from standard input, and write results."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no result
    prepare, jobs, threads, seconds = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the parent
    threading.Thread(target=_end_with_parent, name="floe-parent", daemon=True).start()
    prepare()
    lock = threading.Lock()

    def tell(kind: str, name: str, value: object = None) -> None:
        text = pickle.dumps((kind, name, value))
        with lock:
            answers.write(text)
            answers.flush()

    def job(name: str) -> Callable[[], object]:
        def call() -> object:
            tell("begun", name)
            return jobs[name]()

        return call

    for name, result in side_by_side({name: job(name) for name in jobs}, threads, time.monotonic() + seconds):
        tell("done", name, result)
    tell("whole", "")
    os._exit(0)  # not to wait for a thread that hangs in a library


def _end_with_parent() -> None:
    """End this process as soon as the parent is gone, whatever the jobs do."""
    sys.stdin.buffer.read()
    os._exit(1)
