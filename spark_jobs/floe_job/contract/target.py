"""What a task receives about a table, and what it returns about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyiceberg.io import FileIO
from pyiceberg.table.metadata import TableMetadata

from floe.config.sections.transforms import TransformSpec
from floe.control.spec_files import SpecFiles
from floe.model.accounting import TableCounts
from floe.model.intervals import Intervals
from floe.model.ranges import OffsetRange
from floe_job.contract.dead_letter_outcomes import DeadLetterOutcomes
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.rules import ColumnRules


@dataclass(frozen=True)
class TableTarget:
    """A table as a worker sees it; ``metadata`` and ``io`` are None while it does not exist.

    ``properties``: the table's own, overridden by the connector's write-props. ``held``: per range, the offsets that the
    table already contains; ranges of which it contains none are left out. ``backlog``: ranges it takes nothing of now.
    ``refusal``: why it takes none of the others, whose records are dead letters. ``dead_letters``: per range, offsets of
    records with dead letters, which may become its rows.
    """

    name: str
    metadata: TableMetadata | None = None
    io: FileIO | None = field(default=None, repr=False)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    held: Mapping[OffsetRange, Intervals] = field(default_factory=dict)
    backlog: frozenset[OffsetRange] = frozenset()
    rules: ColumnRules = field(default_factory=ColumnRules)
    transforms: tuple[TransformSpec, ...] = ()
    dead_letters: Mapping[OffsetRange, Intervals] = field(default_factory=dict)
    refusal: str | None = None


@dataclass(frozen=True)
class TableResult:
    """What one task found and wrote for one table. With ``needs`` it wrote nothing and has to run again.

    ``fast``: records that took the columnar path. ``outcomes``: of the records with dead letters.
    """

    counts: TableCounts = field(default_factory=TableCounts)
    files: SpecFiles | None = None
    needs: SchemaChanges | None = None
    fast: int = 0
    outcomes: DeadLetterOutcomes = field(default_factory=DeadLetterOutcomes)
