"""Trying again what may pass: with growing pauses, for a bounded time, saying each time why."""

import logging
import random
import time
from collections.abc import Iterator

from floe.tables.exceptions import TableNotCommitted

log = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.1, 10.0
"""Seconds between attempts; doubled each time, with jitter."""


def attempts(what: str, patience: float) -> Iterator[list[str]]:
    """Yield a list for each attempt, to put the reason in why it failed; raise TableNotCommitted after ``patience`` s."""
    deadline = time.monotonic() + patience
    wait = FIRST_WAIT
    while True:
        reasons: list[str] = []
        yield reasons
        why = reasons[-1].rstrip(".") if reasons else "for no known reason"
        if time.monotonic() + wait > deadline:
            msg = (
                f"{what} was not committed within {patience:.0f} s: {why}. Nothing is lost: the files stay, the "
                "position has not moved. Run the commit task again."
            )
            raise TableNotCommitted(msg)
        log.warning("%s: %s; looking again in %.1f s", what, why, wait)
        time.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        wait = min(wait * 2, LONGEST_WAIT)
