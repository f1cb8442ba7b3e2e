"""One line for each long step, with the seconds it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def say(text: str = "") -> None:
    """Print a line at once, also into a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print `text` when the step starts, and again with its seconds when it ends."""
    say(f"  … {text}")
    started = time.monotonic()
    try:
        yield
    except BaseException:
        say(f"  ✗ {text}: stopped after {time.monotonic() - started:.1f} s")
        raise
    say(f"  ✓ {text} ({time.monotonic() - started:.1f} s)")


def wait_until(condition: Callable[[], bool], seconds: float, pause: float = 0.1) -> bool:
    """Wait for a condition; False if it did not come true within `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True
