"""What one Spark task gives back to the driver."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from floe.config.mask import hide
from floe.exceptions import FloeError, Terminal
from floe.offsets.books import RangeBooks
from floe_job.bad_records import BadRecordCounts
from floe_job.letters.letterbox import LettersResult
from floe_job.target import Piece, TableResult


@dataclass(frozen=True)
class PieceResult:
    """One piece, read: its books, the first offset seen, the time of the last record (epoch ms).

    ``deliveries``: how often its records were handed to a table.
    """

    piece: Piece
    books: RangeBooks
    first_offset: int | None
    timestamp: int | None
    deliveries: int = 0


@dataclass(frozen=True)
class Failure:
    """An error that was raised in a worker, to be raised again in the driver."""

    message: str
    retryable: bool

    @classmethod
    def of(cls, error: Exception, tables: Sequence[str] = ()) -> Self:
        """Describe an error that came while these tables were written."""
        if isinstance(error, FloeError):
            return cls(hide(str(error)), retryable=not isinstance(error, Terminal))
        text = next(iter(hide(str(error)).splitlines()), "")[:300]
        names = ", ".join(map(repr, tables))[:300]
        msg = (
            f"writing for {names} failed: {type(error).__name__}: {text}. Nothing "
            "was announced. If it comes again, check the tables' properties and iceberg.tables.write-props.*; Spark's log "
            "has the whole error"
        )
        return cls(msg, retryable=True)


@dataclass(frozen=True)
class TaskResult:
    """What one task did: its pieces, and each table by name.

    When a table lacks columns, or records named tables that the task was not given (``unknown``), nothing was written.
    ``bad``: records that the connector does not tolerate; nothing was written either.
    A task that writes what others have read has no pieces, and of a table's books only the rows.
    """

    index: int
    pieces: tuple[PieceResult, ...] = ()
    tables: Mapping[str, TableResult] = field(default_factory=dict)
    letters: LettersResult = field(default_factory=LettersResult)
    unknown: tuple[str, ...] = ()
    failure: Failure | None = None
    bad: BadRecordCounts = field(default_factory=BadRecordCounts)

    @property
    def is_complete(self) -> bool:
        return not self.bad and not self.unknown and not any(table.needs for table in self.tables.values())
