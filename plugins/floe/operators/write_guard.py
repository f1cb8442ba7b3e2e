"""The outer guard of ``floe.write.timeout``: it ends a driver that does not end by itself."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

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
