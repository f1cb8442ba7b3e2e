"""The progress of a long write, in the log.

Spark tells which tasks have ended. Tasks read like numbers of offsets, so that is about the share of the slice.
"""

import logging
import threading
import time
from types import TracebackType
from typing import Protocol, Self

from floe.config.secrets.mask import hide
from floe.model.plan import Slice

log = logging.getLogger(__name__)

EVERY = 30.0
"""Seconds between two lines."""


class Counted(Protocol):
    """Tasks that run elsewhere."""

    def counts(self) -> tuple[int, int]:
        """Return how many of the tasks that run were done, and how many they are."""


class ProgressLog:
    """Logs how far a slice is, from a thread of its own, while the context is open. A write of few seconds logs nothing."""

    def __init__(self, jobs: Counted, slice_: Slice, every: float = EVERY) -> None:
        self._jobs = jobs
        self._slice = slice_
        self._every = every
        self._ended = threading.Event()
        self.thread = threading.Thread(target=self._run, name="floe-progress", daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._ended.set()

    def _run(self) -> None:
        begun = time.monotonic()
        while not self._ended.wait(self._every):
            try:
                done, tasks = self._jobs.counts()
            except Exception as error:  # noqa: BLE001 - of Spark, whatever it is: the write does not depend on it
                log.warning(
                    "Spark does not tell how far the tasks are: %s", next(iter(hide(str(error)).splitlines()), "")
                )
                return
            if tasks and not self._ended.is_set():
                log.info("%s", progress_line(self._slice, done, tasks, time.monotonic() - begun))


def progress_line(slice_: Slice, done: int, tasks: int, seconds: float) -> str:
    """Say how far a slice is after some seconds, and when it may end, by the tasks that have ended."""
    text = f"{done} of {tasks} tasks done, of {slice_.records:,} offsets, after {seconds:.0f} s"
    if not done:
        return text
    offsets, left = slice_.records * done // tasks, seconds * (tasks - done) / done
    return f"{text}: about {offsets:,} offsets, {offsets / seconds:,.0f} a second, {left:.0f} s left"
