"""Python's search for reference cycles, while records pass by the million and make none."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = (100_000, 50, 1_000)
"""New objects after which the youngest are searched, and how often that is done before older ones are."""


@contextmanager
def rare_collection() -> Iterator[None]:
    """Search rarely, and not at all what is there already: libraries alone are half a million objects.

    With Python's own settings a third of a task's time went into it.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
