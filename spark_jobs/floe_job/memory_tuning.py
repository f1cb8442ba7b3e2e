"""Settings of Python's garbage collector and of the C library's allocator for millions of records."""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pyarrow as pa

GC_THRESHOLDS = (100_000, 50, 1_000)
"""The number of new objects after which the youngest are searched, and how often that is done before older ones are."""

KEPT_BYTES, MAX_BYTES = 256 * 1024 * 1024, 32 * 1024 * 1024
"""Freed memory that is kept for reuse, and the largest allocation that it serves: glibc does not allow more."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of malloc.h


@cache
def _was_frozen() -> bool:
    """Return whether the daemon froze objects, which is never undone; to count them takes 12 ms."""
    return gc.get_freeze_count() > 0


@contextmanager
def tuned_memory() -> Iterator[None]:
    """Search for reference cycles rarely, and return memory to the system only at the end, but then all of it.

    With Python's own settings a third of a task's time went into searching for cycles, which records do not have. Each
    batch would also get its memory from the system again, page by page. All threads share one heap: memory that
    librdkafka's threads took from heaps of their own cannot be returned, and would grow with each task of a worker.
    """
    before = gc.get_threshold()
    is_frozen = _was_frozen()
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
    """Return free memory to the system instead of keeping it for reuse."""
    pa.default_memory_pool().release_unused()
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Call a function of glibc; other C libraries have none of that name."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
