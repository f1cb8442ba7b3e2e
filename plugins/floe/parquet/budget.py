"""What the writers of one task may hold together: rows in memory, and open files."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Protocol

MAX_OPEN = 128
BUFFER_BYTES = 32 * 1024 * 1024
"""Of rows that wait. A file that is open holds about twice its last row group besides, until the next one or its end."""
_STALE_ENTRIES = 1024  # kept before they are swept


class Holder(Protocol):
    """Rows that wait for their row group, and the file that they go to."""

    waiting_bytes: int

    def flush(self) -> None:
        """Write the waiting rows."""

    def finish(self) -> None:
        """Close the open file."""


class WriteBudget:
    """Bounds the rows that wait (``buffer_bytes``, in Arrow's size) and the open files over all tables of one task.

    Beyond the first, the largest waiting row group is written; beyond the second, the file least recently written to is
    finished; whichever table they are of. Not for several threads.
    """

    def __init__(self, buffer_bytes: int = BUFFER_BYTES, max_open: int = MAX_OPEN) -> None:
        """Allow so much. Raises ValueError for less than one open file or a negative number of bytes."""
        if buffer_bytes < 0 or max_open < 1:
            problem = (
                f"a budget of {buffer_bytes!r} bytes and {max_open!r} open files allows no file to be written: allow 0 "
                "bytes or more and 1 file or more"
            )
            raise ValueError(problem)
        self._buffer_bytes = buffer_bytes
        self._max_open = max_open
        self._waiting_bytes = 0
        self._waiting: set[Holder] = set()
        # By size, the largest first. A holder that has grown or flushed since leaves its earlier entries behind.
        self._by_size: list[tuple[int, int, Holder]] = []
        self._ticks = count()
        self._open: dict[Holder, None] = {}  # the least recently written to first

    @property
    def waiting_bytes(self) -> int:
        """The rows that wait now, over all tables."""
        return self._waiting_bytes

    @property
    def open_files(self) -> int:
        """The files that are open now, over all tables."""
        return len(self._open)

    # -- rows ---------------------------------------------------------------------------------------------------------

    def hold(self, holder: Holder, size: int) -> None:
        """Note that a holder has ``size`` bytes more than before, which it counts already."""
        self._waiting_bytes += size
        self._waiting.add(holder)
        if len(self._by_size) > 2 * len(self._waiting) + _STALE_ENTRIES:
            self._by_size = [(-other.waiting_bytes, next(self._ticks), other) for other in self._waiting]
            heapq.heapify(self._by_size)
        else:
            heapq.heappush(self._by_size, (-holder.waiting_bytes, next(self._ticks), holder))

    def release(self, holder: Holder, size: int) -> None:
        """Note that a holder has released all its rows, which were ``size`` bytes."""
        self._waiting_bytes -= size
        self._waiting.discard(holder)

    def enforce(self) -> None:
        """Have the largest row groups written until what waits is within the budget."""
        while self._waiting_bytes > self._buffer_bytes and self._by_size:
            size, _, holder = heapq.heappop(self._by_size)
            if holder in self._waiting and -size == holder.waiting_bytes:
                holder.flush()

    # -- files --------------------------------------------------------------------------------------------------------

    def make_room(self) -> None:
        """Have files finished until there is room for one more."""
        while len(self._open) >= self._max_open:
            next(iter(self._open)).finish()

    def wrote(self, holder: Holder) -> None:
        """Note that a holder has written to its file, or opened it."""
        self._open.pop(holder, None)
        self._open[holder] = None

    def closed(self, holder: Holder) -> None:
        """Note that a holder has no open file any more."""
        self._open.pop(holder, None)
