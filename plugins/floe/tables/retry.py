"""Retries of what may pass: with random pauses, for a bounded time or number of attempts, each logged with its reason."""

import logging
from collections.abc import Callable
from typing import TypeVar

from pyiceberg.exceptions import CommitFailedException
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_random,
    wait_random_exponential,
)

from floe.catalogs.exceptions import CatalogUnreachable
from floe.tables.exceptions import TableNotCommitted

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_WAIT, MAX_WAIT = 0.1, 10.0
"""Seconds between attempts, at most; doubled each time, with jitter."""

CONFLICT_WAIT = 0.2
"""Seconds at most before work that gives way to other commits is tried again."""


def retry(what: str, retry_for: float, attempt: Callable[[], T]) -> T:
    """Return what ``attempt`` returns; after a conflict, and while the catalog cannot be reached, call it again.

    ``what``: names what is committed, for log and error; ``retry_for``: seconds. Raises TableNotCommitted after them, and
    whatever else ``attempt`` raises.
    """

    def give_up(state: RetryCallState) -> T:
        msg = (
            f"{what} was not committed within {retry_for:.0f} s: {_reason(state)}. Nothing is lost: the files are kept and "
            "no offset was committed. Run the commit task again."
        )
        raise TableNotCommitted(msg) from None

    retrying = Retrying(
        retry=retry_if_exception_type((CommitFailedException, CatalogUnreachable)),
        wait=wait_random_exponential(multiplier=FIRST_WAIT, max=MAX_WAIT),
        stop=stop_before_delay(retry_for),
        before_sleep=_logged(what),
        retry_error_callback=give_up,
    )
    return retrying(attempt)


def retry_conflicts(what: str, most: int, attempt: Callable[[], T]) -> T:
    """Return what ``attempt`` returns; after a conflict call it again, ``most`` times in all.

    Raises the last conflict, a CommitFailedException, and whatever else ``attempt`` raises.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(CommitFailedException),
        wait=wait_random(0, CONFLICT_WAIT),
        stop=stop_after_attempt(most),
        before_sleep=_logged(what, logging.INFO),
        reraise=True,
    )
    return retrying(attempt)


def _logged(what: str, level: int = logging.WARNING) -> Callable[[RetryCallState], None]:
    def write(state: RetryCallState) -> None:
        log.log(level, "%s: %s; retrying in %.1f s", what, _reason(state), state.upcoming_sleep)

    return write


def _reason(state: RetryCallState) -> str:
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, CommitFailedException):
        return f"another process committed first ({error})"
    return str(error).rstrip(".")
