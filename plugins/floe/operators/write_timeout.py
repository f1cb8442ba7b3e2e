"""What follows a write that took longer than ``floe.write.timeout``: the next run reads less, and the error says so."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from floe.config.secrets.mask import hide
from floe.exceptions import FloeError
from floe.model.exceptions import WriteTimeout
from floe.operators.exceptions import JobFailed

if TYPE_CHECKING:
    from floe.config import Connector
    from floe.kafka.settings import KafkaSettings
    from floe.model.plan import Plan, Slice


log = logging.getLogger(__name__)

_LEAVE_OUT = "or leave the record out: docs/how-to/skip-records.md."


def followed_up(error: WriteTimeout, plan: Plan, connector: Connector, settings: KafkaSettings) -> WriteTimeout:
    """Limit what the next run reads, and return the error with what that comes to. A replay is not limited."""
    slices = [plan.slice_of(slice_id) for slice_id in error.slices]
    steps = _of_replay(slices) if plan.is_replay else _of_live_run(slices, plan, connector, settings)
    return WriteTimeout(f"{error} {steps}", error.slices)


def stuck(order: Any, slice_id: str | None) -> FloeError:
    """Return the error of a driver that had to be ended from outside, in the slice that it had begun last."""
    if slice_id is None:
        msg = (
            "the Spark driver started no slice: it was killed because Spark did not start in time. Nothing was read. Check "
            "that the Spark cluster has room for the job, then run again."
        )
        return JobFailed(msg, code="FLOE-518")
    slice_: Slice = order.plan.slice_of(slice_id)
    seconds = order.connector.reading.write_timeout_ms / 1000
    msg = (
        f"the write took longer than floe.write.timeout ({seconds:g} s): the driver hung and was killed, in a {slice_.kind} "
        f"slice of {slice_.records} offsets. What it had not announced was not written."
    )
    return WriteTimeout(msg, [slice_id])


def _of_replay(slices: list[Slice]) -> str:
    half = min(slice_.records for slice_ in slices) // 2
    if not half:
        return "It is a single offset. Raise floe.write.timeout for this replay (param config)."
    return (
        f"Trigger the replay again for the ranges that were not written, with max_records of at most {half}, or with a "
        "smaller range; or raise floe.write.timeout (param config)."
    )


def _of_live_run(slices: list[Slice], plan: Plan, connector: Connector, settings: KafkaSettings) -> str:
    from floe.commit.next_run import limit_slices

    try:
        is_limited = limit_slices(plan, slices, connector, settings)
    except FloeError as problem:
        log.error("The next run has no lower limit: %s", hide(str(problem)))
        return (
            "No offset was committed. The next run reads the same range again, because its limit could not be stored "
            f"({type(problem).__name__}, see the log). Raise floe.write.timeout, or trigger a run with a smaller "
            "max_records."
        )
    if not is_limited:
        return "Another run has read the range meanwhile, or the group has no positions any more. No limit was stored."
    if all(slice_.records == 1 for slice_ in slices):
        return f"No offset was committed. The next run reads this single offset again. Raise floe.write.timeout; {_LEAVE_OUT}"
    halves = " and ".join(str(max(1, slice_.records // 2)) for slice_ in slices)
    return (
        f"No offset was committed. The next run reads at most half, {halves} offset(s). Raise floe.write.timeout or "
        "tasks.max if every run ends like this."
    )


# The outer guard of ``floe.write.timeout``: it ends a driver that does not end by itself.


LATER = 120.0
"""Seconds that the driver has, beyond the setting, to end a slice by itself; an announcement has its own time-outs."""

START = 600.0
"""Seconds that Spark has at least to start: that it waits for a cluster is no fault of the range."""

TICK = 5.0
"""Seconds between two checks of the driver."""


class GuardExpired(BaseException):
    """The driver is stuck. Not an ``Exception``: it is raised inside of libraries, which must not handle it."""


@contextmanager
def write_guard(timeout_ms: int | None, begun: Callable[[], str | None]) -> Iterator[None]:
    """Raise GuardExpired in the body when one slice is written for too long, or Spark does not start.

    ``begun`` returns the slice that was begun last, None as long as none was. It works by the alarm signal, in the main
    thread only. Where Airflow's ``execution_timeout`` has set that alarm, that one ends the task.
    """
    if timeout_ms is None:
        yield
        return
    if threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_REAL)[0]:
        log.info("No outer guard of floe.write.timeout: this is no main thread, or the task has an execution_timeout.")
        yield
        return
    watch = _Watch(timeout_ms / 1000 + LATER, begun)
    before = signal.signal(signal.SIGALRM, watch.look)
    tick = min(TICK, watch.seconds / 10)
    signal.setitimer(signal.ITIMER_REAL, tick, tick)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:  # a tick may come just before
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


class _Watch:
    """Sees how long the driver has been at one slice."""

    def __init__(self, seconds: float, begun: Callable[[], str | None]) -> None:
        self.seconds = seconds
        self._begun = begun
        self._slice: str | None = None
        self._since = time.monotonic()

    def look(self, *_: object) -> None:
        """Raise GuardExpired when the driver has been at the same slice for too long; again at every tick from then on."""
        now, slice_id = time.monotonic(), self._begun()
        if slice_id != self._slice:
            self._slice, self._since = slice_id, now
        allowed = self.seconds if slice_id is not None else max(self.seconds, START)
        if now - self._since > allowed:
            raise GuardExpired
