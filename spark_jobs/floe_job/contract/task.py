"""What the driver passes to a task: what to read, for which tables, by which rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.table.metadata import TableMetadata

from floe.config.converters.base import PLAIN_JSON, ConverterSpec
from floe.config.sections.error_policy import ErrorPolicy
from floe.config.sections.routing import Routing
from floe.config.sections.tables import TableSettings
from floe.config.sections.transforms import TransformSpec
from floe.control.data_files import SpecFiles
from floe.kafka.reader_limits import ReaderLimits
from floe.model.accounting import TableCounts
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.offsets import Intervals, OffsetRange
from floe_job.contract.dead_letter import DeadLetterOutcomes
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.proposal import ColumnRules
from floe_job.source.record_batch import RangePart


@dataclass(frozen=True)
class RouteRules:
    """What a task needs to route.

    ``tables``: the connector's, with their conditions; none where records name them. ``only``: the tables of the slice,
    where they are not all; records of other tables are ignored. ``rejects_records``: whether records that reach no table
    are rejected by the slice. ``reserved``: a name that records may not use. ``closed``: why a table other than the known
    ones does not exist, once all that exist or are being created are known; None while the task has to find out.
    ``redriven``: the dead letters that a redrive reads; other records are ignored. ``value_converter``: how values are
    read, for routing and for tables. ``key_converter``: how keys are read, where they decide the route; None for text.
    ``transforms``: applied to records before they are routed.
    """

    routing: Routing
    tables: tuple[tuple[str, TableSettings], ...] = ()
    only: frozenset[str] | None = None
    rejects_records: bool = True
    reserved: str | None = None
    closed: str | None = None
    redriven: DeadLetterOffsets | None = None
    value_converter: ConverterSpec = PLAIN_JSON
    key_converter: ConverterSpec | None = None
    transforms: tuple[TransformSpec, ...] = ()


@dataclass(frozen=True)
class DeadLetterRules:
    """What a task needs to store dead letters.

    ``target``: the dead-letter table. ``known``: open dead letters of the slice's ranges that it contains from earlier runs.
    ``conf``: the producer's, which may contain secrets.
    """

    policy: ErrorPolicy
    connector: str
    commit_id: str
    target: TableTarget | None = None
    known: DeadLetterOffsets = field(default_factory=DeadLetterOffsets)
    conf: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Task:
    """The description of one Spark task. ``conf`` is the consumer's and may contain secrets.

    ``assumed_target``: the target assumed for an unknown table, where floe may create it. ``writers``: how many tasks
    write the files of tables that are spread by partition; with 0, every task writes the files of what it has read.
    ``limits``: of the memory used for reading. ``attempt``: any text that differs between attempts to write the slice.
    """

    index: int
    range_parts: tuple[RangePart, ...]
    targets: tuple[TableTarget, ...]
    routes: RouteRules
    dead_letters: DeadLetterRules
    conf: Mapping[str, Any] = field(repr=False)
    assumed_target: TableTarget | None = None
    writers: int = 0
    limits: ReaderLimits = field(default_factory=ReaderLimits)
    attempt: str = ""

    @property
    def secrets(self) -> Iterator[Mapping[str, Any]]:
        """Yield settings that may contain secrets."""
        yield from (self.conf, self.dead_letters.conf, self.routes.value_converter.options)
        if self.routes.key_converter is not None:
            yield self.routes.key_converter.options
        yield from (target.io.properties for target in self.targets if target.io is not None)


# What a task receives about a table, and what it returns about it.


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
