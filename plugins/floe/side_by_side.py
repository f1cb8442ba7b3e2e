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
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import IO, Any, Final, NoReturn, TypeVar

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
    hide: Callable[[str], str] = str,
) -> Iterator[tuple[str, T]]:
    """As :func:`side_by_side`, in a child process; where a job ends it, ``crashed`` returns the job's result.

    Its arguments are the job's name, how the process ended, and what it said last. Jobs, their results, ``prepare``, which
    the child calls first, and ``hide``, which takes secrets out of the error of a job, have to be picklable. All jobs share
    one child, which a job that raises ends too. When it dies, those that had begun and not returned are asked again one by
    one, each in a child of its own, and the others in a next one together: a process is started for each death, not for
    each job.
    """
    waiting = dict(jobs)
    suspects: list[str] = []
    while (waiting or suspects) and time.monotonic() < until:
        given = {suspects[0]: jobs[suspects.pop(0)]} if suspects else waiting
        child = _Child.started(given, threads, until, (prepare, hide))
        try:
            for name, result in child.results():
                given.pop(name)
                yield name, result
            how = child.end()
        finally:
            child.stop()  # also where the caller takes no more results
        if how is None:
            continue  # they have answered, or the time is over
        lost = child.begun or [*given]  # or it did not begin
        for name in lost:
            given.pop(name)
        if len(child.begun) > 1:
            suspects = child.begun
            continue
        for name in lost:
            yield name, crashed(name, how, child.said)


class _Child:
    """One child process with some jobs. ``begun``: those it began and did not answer; ``said``: its last lines."""

    def __init__(self, process: subprocess.Popen[bytes], task: bytes, until: float) -> None:
        self.begun: list[str] = []
        self.said = ""
        self._until = until
        self._is_whole = False
        self._is_stopped = False
        self._process = process
        self._answers: queue.SimpleQueue[tuple[str, str, Any] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=one, name="floe-child", daemon=True)
            for one in (self._read, self._listen, partial(self._give, task))
        ]

    @classmethod
    def started(
        cls,
        jobs: Mapping[str, Callable[[], Any]],
        threads: int,
        until: float,
        calls: tuple[Callable[[], object], Callable[[str], str]],
    ) -> _Child:
        """Start a process with jobs."""
        # not in an argument, and not in the environment: settings have secrets
        task = pickle.dumps((calls, dict(jobs), threads, max(0.0, until - time.monotonic())))
        path = os.pathsep.join(one for one in sys.path if one)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # a group of its own, with which what a library started ends too
        )
        child = cls(process, task, until)
        for thread in child._threads:
            thread.start()
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
        code: int | None = None
        if not self._is_whole:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(max(0.0, self._until - time.monotonic()))
        self.stop()
        if code is None or time.monotonic() >= self._until:
            return None
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return f"by signal {name}" if code < 0 else f"with exit code {code}"

    def stop(self) -> None:
        """End the child, and what a library started in it, if that is not done."""
        if self._is_stopped:
            return
        self._is_stopped = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for thread in self._threads:
            thread.join(5)
        if any(thread.is_alive() for thread in self._threads):
            return  # a process that left the group has a pipe: to close it would wait for that process
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                _pipe(pipe).close()

    def _give(self, task: bytes) -> None:
        with suppress(OSError):  # it is dead already
            _pipe(self._process.stdin).write(task)
            _pipe(self._process.stdin).flush()

    def _read(self) -> None:
        pipe = _pipe(self._process.stdout)
        try:
            with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
                while True:
                    self._answers.put(pickle.load(pipe))  # noqa: S301 - of floe's own process
        finally:
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
    (prepare, hide), jobs, threads, seconds = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the parent
    threading.Thread(target=_end_with_parent, name="floe-parent", daemon=True).start()
    try:
        prepare()
        _answer(answers, jobs, threads, time.monotonic() + seconds, hide)
    except BaseException:  # noqa: BLE001 - the parent tells it, of the job that was begun
        _end_with_error(hide)
    os._exit(0)  # not to wait for a thread that hangs in a library


def _answer(
    answers: IO[bytes], jobs: Mapping[str, Callable[[], object]], threads: int, until: float, hide: Callable[[str], str]
) -> None:
    lock = threading.Lock()

    def tell(kind: str, name: str, value: object = None) -> None:
        text = pickle.dumps((kind, name, value))
        with lock:
            answers.write(text)
            answers.flush()

    def job(name: str) -> Callable[[], object]:
        def call() -> object:
            tell("begun", name)
            try:
                return jobs[name]()
            except BaseException:  # noqa: BLE001 - such as a library's panic, which is no Exception
                _end_with_error(hide)

        return call

    for name, result in side_by_side({name: job(name) for name in jobs}, threads, until):
        tell("done", name, result)
    tell("whole", "")


def _end_with_error(hide: Callable[[str], str]) -> NoReturn:
    # hidden here, as a job may have learnt secrets that the parent does not know
    sys.stderr.write(hide(traceback.format_exc()))
    sys.stderr.flush()
    os._exit(1)


def _end_with_parent() -> None:
    """End this process as soon as the parent is gone, whatever the jobs do."""
    sys.stdin.buffer.read()
    os._exit(1)
