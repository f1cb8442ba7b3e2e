"""How much the tasks have read that have ended, for the log of a long write."""

from typing import NamedTuple, Protocol, Self

from floe_job.contract.result import TaskResult


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

    def plus(self, other: "WorkDone") -> "WorkDone":
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
