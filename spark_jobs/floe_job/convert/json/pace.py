"""How many of the next records are tried as columns at once, and how many are read by rows before that."""

from dataclasses import dataclass
from typing import Final

MAX_CHUNK_RECORDS: Final = 8192
MIN_CHUNK_RECORDS: Final = 32
DIRTY_CHUNK: Final = 512
"""Records tried at once where bad ones are near: most such chunks contain none, and the call is still worth its cost."""

MAX_PAUSE: Final = 6
"""Doublings of the records that are read by rows between two attempts at columns, while none succeeds."""

RECORDS_PER_COLUMN: Final = 2
"""Records that are read by rows, for each column, before columns are tried again with the columns missing by then."""


@dataclass
class Pace:
    """The pace of one table's records.

    The chunk shrinks with failures and grows with whole chunks, so rare bad records cost little. If every record needs the
    exact path, the short attempts become ever rarer.
    """

    chunk: int = MAX_CHUNK_RECORDS
    by_rows: int = 0
    _pauses: int = 0

    def succeeded(self, size: int, columns: int, *, is_clean: bool, has_many_unexpected: bool) -> None:
        """Note a chunk of ``size`` records that was read: without failing ones, and of ``columns`` that the records share."""
        if has_many_unexpected:
            self._pause(columns)
            self.chunk = MIN_CHUNK_RECORDS
        elif not is_clean:
            self.chunk = max(DIRTY_CHUNK, self.chunk // 2)
        elif size >= self.chunk:
            self.chunk = min(MAX_CHUNK_RECORDS, self.chunk * 2)
            self._pauses = 0

    def failed(self, size: int, columns: int) -> bool:
        """Note a chunk that failed; return whether the next records are read by rows, as it had few already."""
        is_small = size <= MIN_CHUNK_RECORDS
        if is_small:
            self._pause(columns)
        self.chunk = max(MIN_CHUNK_RECORDS, min(size, self.chunk) // 4)
        return is_small

    def took_rows(self, count: int) -> None:
        """Note records that were read by rows."""
        self.by_rows -= count

    def schema_grew(self, columns: int) -> None:
        """Note that a reader of columns has to be made again, which takes longer the more columns are missing."""
        self.by_rows = max(self.by_rows, RECORDS_PER_COLUMN * columns)

    def _pause(self, columns: int) -> None:
        """Read by rows for a while, each time twice as long; with many columns an attempt is expensive."""
        self.by_rows = min((MIN_CHUNK_RECORDS + columns) << self._pauses, MAX_CHUNK_RECORDS)
        self._pauses = min(self._pauses + 1, MAX_PAUSE)
