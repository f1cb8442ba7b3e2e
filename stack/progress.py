"""One line for each long step, one more for every ten seconds of it, and the seconds it took."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def say(text: str = "") -> None:
    """Print a line at once, also into a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


EVERY = 10.0
"""Seconds after which a step that goes on says so."""


@contextmanager
def step(text: str, so_far: Callable[[], str] | None = None) -> Iterator[None]:
    """Print `text` when the step starts, while it goes on, and again with its seconds when it ends.

    ``so_far``: says how far it is; asked in a thread.
    """
    say(f"  … {text}")
    started = time.monotonic()
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(EVERY):
            more = f", {so_far()}" if so_far is not None else ""
            say(f"  … {text}: {time.monotonic() - started:.0f} s{more}")

    watch = threading.Thread(target=go_on, name="progress", daemon=True)
    watch.start()
    try:
        yield
    except BaseException:
        ended.set()
        watch.join()
        say(f"  ✗ {text}: stopped after {time.monotonic() - started:.1f} s")
        raise
    ended.set()
    watch.join()
    say(f"  ✓ {text} ({time.monotonic() - started:.1f} s)")


def wait_until(condition: Callable[[], bool], seconds: float, pause: float = 0.1) -> bool:
    """Wait for a condition; False if it did not come true within `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True
