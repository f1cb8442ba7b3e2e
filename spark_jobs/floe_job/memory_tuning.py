"""What Python and the C library do about memory: rarely, while records pass by the million."""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

GC_THRESHOLDS = (100_000, 50, 1_000)
"""New objects after which the youngest are searched, and how often that is done before older ones are."""

KEPT_BYTES, MAX_BYTES = 256 * 1024 * 1024, 32 * 1024 * 1024
"""Freed memory that is kept for what comes next, and the largest piece for which it serves: more glibc does not allow."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of malloc.h


@contextmanager
def tuned_memory() -> Iterator[None]:
    """Search for reference cycles rarely, and give memory back at the end only, but then all of it.

    With Python's own settings a third of a task's time went into cycles, of which there are none in records. And each
    batch would get its memory, page by page, from the system anew. All threads share one heap: what librdkafka's have
    taken cannot be given back from heaps of their own, and each task of a worker's would leave more of it.
    """
    before = gc.get_threshold()
    is_frozen = gc.get_freeze_count() > 0  # by the daemon, for good
    if not is_frozen:
        gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    _call("mallopt", _ARENA_MAX, 1)
    _call("mallopt", _TRIM_THRESHOLD, KEPT_BYTES)
    _call("mallopt", _MMAP_THRESHOLD, MAX_BYTES)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not is_frozen:
            gc.unfreeze()
        destroy_messages()


def destroy_messages() -> None:
    """Give memory that is free back to the system, instead of keeping it for what comes next."""
    pa.default_memory_pool().release_unused()
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Call a function of glibc; other C libraries have none of that name."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
