"""The queue of configurations to check: one at a time in a process, whoever sends them, and few wait.

A check takes up to a second of the processor, and the API server's threads share one: many at once would leave Airflow's
own answers waiting.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from floe.api.connect.http import ConnectError

MAX_WAITING: Final = 4
"""Each holds a thread of the API server, which has 40."""

MAX_SECONDS: Final = 10.0
RETRY_AFTER: Final = "2"
"""Seconds, as the header of the answer has them."""


class CheckQueue:
    """One turn at a time. Several threads may ask."""

    def __init__(self, max_waiting: int = MAX_WAITING, max_seconds: float = MAX_SECONDS) -> None:
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(max_waiting + 1)
        self._max_waiting = max_waiting
        self._max_seconds = max_seconds

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn, and have it. Raises ConnectError (503) where too many wait, or the wait takes too long."""
        if not self._places.acquire(blocking=False):
            msg = f"one configuration is being checked, and {self._max_waiting} are waiting"
            raise _busy(msg)
        try:
            if not self._turn.acquire(timeout=self._max_seconds):
                msg = f"the configurations before this one took more than {self._max_seconds:g} s"
                raise _busy(msg)
            try:
                yield
            finally:
                self._turn.release()
        finally:
            self._places.release()


def _busy(why: str) -> ConnectError:
    msg = f"Configurations are checked one at a time, and {why}. Nothing was changed: send the request again."
    return ConnectError(503, msg, {"Retry-After": RETRY_AFTER})


CHECKS: Final = CheckQueue()
"""The queue of this process."""
