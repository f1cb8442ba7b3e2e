"""The progress of a long write, in the log.

Spark says how many tasks have ended. Tasks read like numbers of offsets, so that is about the share of the slice. What they
have read is in their results; of tasks whose results have not arrived yet, it is about as much.
"""

import logging
import threading
import time
from types import TracebackType
from typing import Protocol, Self

from floe.config.secrets.mask import hide
from floe.model.plan import Slice
from floe_job.runtime.spark_jobs import Progress

log = logging.getLogger(__name__)

EVERY = 30.0
"""Seconds between two lines."""


class Counted(Protocol):
    """Tasks that run elsewhere."""

    def counts(self) -> Progress:
        """Return how far the tasks are that run."""


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
                now = self._jobs.counts()
            except Exception as error:  # noqa: BLE001 - of Spark, whatever it is: the write does not depend on it
                log.warning(
                    "Spark does not tell how far the tasks are: %s", next(iter(hide(str(error)).splitlines()), "")
                )
                return
            if now.tasks and not self._ended.is_set():
                log.info("%s", progress_line(self._slice, now, time.monotonic() - begun))


def progress_line(slice_: Slice, now: Progress, seconds: float) -> str:
    """Say how far a slice is after some seconds, and when it may end, by the tasks that have ended."""
    done, tasks, work = now
    text = f"{done} of {tasks} tasks done, of {slice_.records:,} offsets, after {seconds:.0f} s"
    if not done:
        return text
    left = f"about {seconds * (tasks - done) / done:.0f} s left"
    if not work.tasks:
        offsets = slice_.records * done // tasks
        return f"{text}: about {offsets:,} offsets, {offsets / seconds:,.0f} a second, {left}"
    about, share = ("", 1.0) if work.tasks == done else ("about ", done / work.tasks)
    records, size = round(work.records * share), work.size * share / 1e6
    return (
        f"{text}: {about}{records:,} records, {size:,.1f} MB of keys and values, {records / seconds:,.0f} records/s, "
        f"{size / seconds:,.1f} MB/s, {left}"
    )
