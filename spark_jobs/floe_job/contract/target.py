"""What a task is given of a table and of a range, and what it gives back of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyiceberg.io import FileIO
from pyiceberg.table.metadata import TableMetadata

from floe.config.sections.converters import PLAIN_JSON, ConverterSpec
from floe.config.sections.transforms import TransformSpec
from floe.control.announcement import SpecFiles
from floe.model.accounting import TableCounts
from floe.model.intervals import Intervals
from floe.model.ranges import OffsetRange
from floe_job.contract.dead_letter_outcomes import DeadLetterOutcomes
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.rules import ColumnRules


@dataclass(frozen=True)
class TableTarget:
    """A table as a worker sees it; ``metadata`` and ``io`` are None while it does not exist.

    ``properties``: the table's own with the connector's write-props over them. ``held``: per range, the offsets that
    the table holds already; ranges of which it holds none are left out. ``owed``: ranges of which it takes nothing now.
    ``value_converter``: how the values of records are read.
    ``letters``: per range, offsets of records that are on record as bad, and may become its rows.
    """

    name: str
    metadata: TableMetadata | None = None
    io: FileIO | None = field(default=None, repr=False)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    held: Mapping[OffsetRange, Intervals] = field(default_factory=dict)
    owed: frozenset[OffsetRange] = frozenset()
    rules: ColumnRules = field(default_factory=ColumnRules)
    transforms: tuple[TransformSpec, ...] = ()
    dead_letters: Mapping[OffsetRange, Intervals] = field(default_factory=dict)
    value_converter: ConverterSpec = PLAIN_JSON


@dataclass(frozen=True)
class TableResult:
    """What one task found and wrote for one table. With ``needs`` it wrote nothing and wants to run again.

    ``fast``: records that took the columnar path. ``fates``: of those that were on record as bad.
    """

    counts: TableCounts = field(default_factory=TableCounts)
    files: SpecFiles | None = None
    needs: SchemaChanges | None = None
    fast: int = 0
    outcomes: DeadLetterOutcomes = field(default_factory=DeadLetterOutcomes)
