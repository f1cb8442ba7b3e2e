"""What a task is given of a table and of a range, and what it gives back of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyiceberg.io import FileIO
from pyiceberg.table.metadata import TableMetadata

from floe.control.announcement import SpecFiles
from floe.offsets.books import TableBooks
from floe.offsets.intervals import Intervals
from floe.offsets.ranges import OffsetRange
from floe_job.needs import SchemaNeeds


@dataclass(frozen=True)
class Target:
    """A table as a worker sees it; ``metadata`` and ``io`` are None while it does not exist.

    ``properties``: the table's own with the connector's write-props over them. ``held``: per range, the offsets that
    the table holds already; ranges of which it holds none are left out. ``owed``: ranges of which it takes nothing now.
    """

    name: str
    metadata: TableMetadata | None
    io: FileIO | None = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)
    held: Mapping[OffsetRange, Intervals]
    owed: frozenset[OffsetRange]
    evolve: bool


@dataclass(frozen=True)
class Piece:
    """Part of a range that one task reads."""

    range: OffsetRange
    start: int
    end: int

    @property
    def offsets(self) -> OffsetRange:
        return OffsetRange(self.range.topic, self.range.topic_id, self.range.partition, self.start, self.end)


@dataclass(frozen=True)
class TableResult:
    """What one task found and wrote for one table. With ``needs`` it wrote nothing and wants to run again."""

    books: TableBooks = field(default_factory=TableBooks)
    files: SpecFiles | None = None
    needs: SchemaNeeds | None = None
