"""The time limit for the write of one slice. The write is cancelled, and abandoned if it does not end."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from floe.config.secrets.mask import hide
from floe.model.exceptions import WriteTimeout
from floe.model.plan import Slice
from floe_job.driver.slice_job import AnnounceGate

log = logging.getLogger(__name__)

GRACE = 10.0
"""Seconds that a cancelled write gets to end, and before that as many for the call that cancels it."""

AGAIN = 0.5
"""Seconds between two calls that cancel."""

Result = TypeVar("Result")


class Jobs(Protocol):
    """The jobs that a write runs elsewhere."""

    def cancel(self) -> None:
        """End it."""

    def progress(self) -> str:
        """Return the progress."""


class TimeLimit:
    """The time that one slice has to be written in, ``floe.write.timeout`` milliseconds.

    The write runs in a thread of its own, because a call that hangs cannot be ended otherwise. Once the time is over, its
    Spark tasks are cancelled, and it may not announce any more; so a thread that continues does no harm. An announcement
    that has begun is waited for: it has time-outs of its own.
    """

    def __init__(self, timeout_ms: int, slice_: Slice, jobs: Jobs) -> None:
        self._timeout_ms = timeout_ms
        self._slice = slice_
        self._jobs = jobs
        self._gate = AnnounceGate()
        self._begun = 0.0

    def run(self, write: Callable[[AnnounceGate], Result]) -> Result:
        """Return what ``write`` returns; it gets the gate to enter before it announces. Raises WriteTimeout."""
        results: list[Result] = []
        errors: list[BaseException] = []
        ended = threading.Event()

        def work() -> None:
            try:
                results.append(write(self._gate))
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
                errors.append(error)
            finally:
                ended.set()

        self._begun = time.monotonic()
        threading.Thread(target=work, name="floe-write", daemon=True).start()
        if not ended.wait(self._timeout_ms / 1000) and self._gate.close():
            error = self._timed_out()
            if not self._cancelled(ended):
                log.warning("The write did not end when it was cancelled. It is abandoned and cannot announce.")
            raise error
        ended.wait()
        if errors:
            raise errors[0]
        return results[0]

    def _cancelled(self, ended: threading.Event) -> bool:
        """Cancel repeatedly, as the write may be about to start further tasks; return whether the write ended."""
        until = time.monotonic() + GRACE
        while time.monotonic() < until:
            _within_grace(self._jobs.cancel, "end the Spark tasks")
            if ended.wait(AGAIN):
                return True
        return ended.is_set()

    def _timed_out(self) -> WriteTimeout:
        took = time.monotonic() - self._begun
        answers: list[str] = []
        _within_grace(lambda: answers.append(self._jobs.progress()), "ask Spark how far the tasks are")
        progress = answers[0] if answers else "Spark does not answer"
        msg = (
            f"the write took longer than floe.write.timeout ({self._timeout_ms / 1000:g} s): {progress} after {took:.1f} s "
            f"in a {self._slice.kind} slice of {self._slice.records} offsets. Nothing of it was announced."
        )
        return WriteTimeout(msg)


def _within_grace(call: Callable[[], object], what: str) -> None:
    """Make a call that may hang; log if it hangs or fails."""
    ended = threading.Event()

    def work() -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - of Spark, whatever it is
            log.warning("The request to %s failed in Spark: %s", what, next(iter(hide(str(error)).splitlines()), ""))
        finally:
            ended.set()

    threading.Thread(target=work, name="floe-cancel", daemon=True).start()
    if not ended.wait(GRACE):
        log.warning("Spark did not answer within %g s to the request to %s.", GRACE, what)
