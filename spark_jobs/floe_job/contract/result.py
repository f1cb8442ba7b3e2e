"""What one Spark task returns to the driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, Self
from uuid import UUID

from floe.config.secrets.mask import hide
from floe.control.data_files import SpecFiles
from floe.exceptions import FloeError, Terminal
from floe.model.accounting import RangeCounts, TableCounts
from floe_job.contract.dead_letter import DeadLetter
from floe_job.contract.task import TableResult
from floe_job.source.record_batch import RangePart

# Which ids of schemas the records of a task had: found in the registry, or not.


MAX_NAMED: Final = 5
_ID_BITS: Final = 63


@dataclass(frozen=True)
class SchemaLookups:
    """Whether any id was found, and some of those that were not."""

    found: bool = False
    unknown: tuple[int, ...] = ()

    @property
    def are_all_unknown(self) -> bool:
        """Whether records had ids, and none was found."""
        return bool(self.unknown) and not self.found

    @property
    def names(self) -> list[str]:
        """Those that were not found, for messages: ids, or GUIDs, which are larger than any id."""
        return [str(UUID(int=one)) if one >> _ID_BITS else str(one) for one in self.unknown]

    @classmethod
    def of_all(cls, lookups: Iterable[Self]) -> Self:
        """Put those of several tasks together."""
        every = list(lookups)
        unknown = dict.fromkeys(schema_id for one in every for schema_id in one.unknown)
        return cls(any(one.found for one in every), tuple(sorted(unknown)[:MAX_NAMED]))


@dataclass(frozen=True)
class RangePartResult:
    """One range part that was read: its record counts, the first offset seen, the time of the last record (epoch ms).

    ``deliveries``: how often its records were passed to a table. ``size``: bytes of keys and values.
    """

    part: RangePart
    counts: RangeCounts
    first_offset: int | None
    timestamp: int | None
    deliveries: int = 0
    size: int = 0


@dataclass(frozen=True)
class Failure:
    """An error that was raised in a worker, to be raised again in the driver."""

    message: str
    retryable: bool
    code: str = ""

    @classmethod
    def of(cls, error: Exception, tables: Sequence[str] = ()) -> Self:
        """Describe an error that was raised while these tables were written."""
        if isinstance(error, FloeError):
            return cls(hide(str(error)), retryable=not isinstance(error, Terminal), code=error.code)
        text = next(iter(hide(str(error)).splitlines()), "")[:300]
        names = ", ".join(map(repr, tables))[:300]
        msg = (
            f"writing for {names} failed: {type(error).__name__}: {text}. Nothing "
            "was announced. If it comes again, check the tables' properties and iceberg.tables.write-props.*; Spark's log "
            "has the whole error"
        )
        return cls(msg, retryable=True)


@dataclass(frozen=True)
class DeadLetterResult:
    """The dead letters of one task: their number, some of them by name (without the record), the dead-letter table's counts
    and files, and the number by error.
    """

    dead: int = 0
    named: tuple[DeadLetter, ...] = ()
    counts: TableCounts = field(default_factory=TableCounts)
    files: SpecFiles | None = None
    reasons: Mapping[str, int] = field(default_factory=dict)


class BadKind(NamedTuple):
    """One kind of bad record: its description, the error's class name, and what to do."""

    what: str
    error: str
    advice: str


@dataclass(frozen=True)
class BadRecordCounts:
    """The bad records of one task among the ``read`` ones; ``named``: some of them, without the record itself."""

    read: int = 0
    kinds: Mapping[BadKind, int] = field(default_factory=dict)
    named: tuple[DeadLetter, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds)


@dataclass(frozen=True)
class TaskResult:
    """What one task did: its range parts, and each table by name.

    When a table lacks columns, or records named tables that the task was not given (``unknown``), nothing was written.
    ``bad``: records that the connector does not tolerate; nothing was written either.
    A task that writes what others have read has no range parts, and of a table's record counts only the rows. ``schemas``,
    ``key_schemas``: which ids of schemas the values of the records had, and their keys where these were read.
    """

    index: int
    range_parts: tuple[RangePartResult, ...] = ()
    tables: Mapping[str, TableResult] = field(default_factory=dict)
    dead_letters: DeadLetterResult = field(default_factory=DeadLetterResult)
    unknown: tuple[str, ...] = ()
    failure: Failure | None = None
    bad: BadRecordCounts = field(default_factory=BadRecordCounts)
    schemas: SchemaLookups = SchemaLookups()
    key_schemas: SchemaLookups = SchemaLookups()

    @property
    def is_complete(self) -> bool:
        return not self.bad and not self.unknown and not any(table.needs for table in self.tables.values())


# How much the tasks have read that have ended, for the log of a long write.


class WorkDone(NamedTuple):
    """What some ``tasks`` have read, in records and in bytes of their keys and values."""

    tasks: int = 0
    records: int = 0
    size: int = 0

    @classmethod
    def of(cls, result: TaskResult) -> Self:
        """Return what one task has read. A task that failed has read nothing."""
        parts = result.range_parts
        records = sum(part.counts.total - part.counts.invisible for part in parts)
        return cls(1, records, sum(part.size for part in parts))

    def plus(self, other: WorkDone) -> WorkDone:
        """Return both together."""
        return WorkDone(*(one + more for one, more in zip(self, other, strict=True)))


class Meter(Protocol):
    """What sums up the work of tasks: an accumulator of Spark's is one, too."""

    value: WorkDone

    def add(self, term: WorkDone) -> None:
        """Add the work of a task."""


class Sum:
    """A meter of this process."""

    def __init__(self) -> None:
        self.value = WorkDone()

    def add(self, term: WorkDone) -> None:
        """Add the work of a task."""
        self.value = self.value.plus(term)


class Addition:
    """How an accumulator of Spark's adds up work: the methods of PySpark's ``AccumulatorParam``, without an import of it."""

    def zero(self, _: WorkDone) -> WorkDone:
        """Return no work."""
        return WorkDone()

    def addInPlace(self, one: WorkDone, more: WorkDone) -> WorkDone:
        """Return both together."""
        return one.plus(more)
