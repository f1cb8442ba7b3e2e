"""The tables of a slice in one round, and what tasks receive about them. Immutable: each round makes new ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import BucketTransform, TruncateTransform, UnknownTransform

from floe.catalogs.exceptions import TableUnsuitable
from floe.config import Connector
from floe.config.converters.base import PLAIN_JSON
from floe.config.sections.transforms import reads_keys
from floe.control.announcement import TableFiles
from floe.control.data_files import SpecFiles, partition_type_of
from floe.control.wire.events import TableReference
from floe.exceptions import FloeError
from floe.model.dead_letters import MAX_SPANS, DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange
from floe.modes.write_mode import WriteMode
from floe.modes.write_modes import mode_of
from floe.parquet.exceptions import UnsupportedColumn, UnsupportedFileFormat
from floe.parquet.table_writer import TableWriter
from floe.tables.exceptions import REFUSALS
from floe.tables.file_checks import is_inside, roots_of
from floe.tables.table_state import TableState
from floe_job.contract.task import RouteRules, TableTarget
from floe_job.convert.context import ConverterContext, LookupRecorder
from floe_job.convert.makers import converters_of
from floe_job.driver.job import SliceJob
from floe_job.exceptions import REASON_LENGTH, BadRecords, SliceRefused, clip
from floe_job.schema.proposal import ColumnRules
from floe_job.write.table_rows import TableRows


@dataclass(frozen=True)
class SliceTables:
    """Tables by name. ``are_all``: no record can name another one. ``recent``: those that earlier runs wrote to."""

    by_name: Mapping[str, SliceTable] = field(default_factory=dict)
    are_all: bool = False
    recent: frozenset[str] = frozenset()

    @property
    def refusing(self) -> list[SliceTable]:
        """The tables that take nothing."""
        return [table for table in self.by_name.values() if table.problem is not None]

    def including(self, tables: Iterable[SliceTable]) -> SliceTables:
        """Return the tables with some added, or in another state."""
        return replace(self, by_name={**self.by_name, **{table.name: table for table in tables}})

    def without(self, names: Collection[str]) -> SliceTables:
        """Return the tables without some of them."""
        return replace(self, by_name={name: table for name, table in self.by_name.items() if name not in names})

    def found_in(self, later: SliceTables) -> bool:
        """Whether one of these tables was created, or began to refuse, since then."""
        return any(
            (now := later.by_name.get(name)) is not None and _existence(now) != _existence(table)
            for name, table in self.by_name.items()
        )

    def without_columns(self, job: SliceJob, assigned: Mapping[str, int]) -> list[str]:
        """Return tables that cannot be created, because none of their records has a field; ``assigned``: rows by table.

        Raises BadRecords where the connector names the table.
        """
        names = [
            name
            for name, rows in assigned.items()
            if rows and (table := self.by_name.get(name)) is not None and table.state.is_new
        ]
        for name in names:
            if not job.connector.routing.is_dynamic or name in job.slice.tables:
                msg = (
                    f"table {name!r} cannot be created: none of the {assigned[name]} records has a field with a "
                    "value. Nothing was announced; create the table yourself, or wait for records with fields."
                )
                raise BadRecords(msg)
        return names

    # -- what tasks receive -------------------------------------------------------------------------------------------

    def targets(self, job: SliceJob, open_dead_letters: DeadLetterOffsets) -> tuple[TableTarget, ...]:
        """Return what tasks receive about each table."""
        return tuple(table.target(job, open_dead_letters) for table in self.by_name.values())

    def assumed_target(self, connector: Connector) -> TableTarget | None:
        """Return the target assumed for an unknown table; None where floe may not create it."""
        return None if self.are_all or not connector.creation.is_on else new_target("", connector)

    def route_rules(self, job: SliceJob) -> RouteRules:
        """Return what tasks need to route."""
        connector = job.connector
        needs_keys = connector.routing.by == "key" or reads_keys(connector.transforms)
        return RouteRules(
            routing=connector.routing,
            tables=tuple((name, connector.table(name)) for name in connector.tables),
            only=None if job.is_for_all_tables else frozenset(job.slice.tables),
            rejects_records=job.rejects_records,
            reserved=(job.plan.dead_letters or "").lower() or None,
            closed=unknown_table_reason(connector) if self.are_all else None,
            redriven=job.slice.dead_letters if job.is_redrive else None,
            value_converter=connector.value_converter,
            key_converter=connector.key_converter if needs_keys else None,
            transforms=connector.transforms,
        )


def unknown_table_reason(connector: Connector) -> str:
    """Return why a table that records name does not exist."""
    if not connector.creation.is_on:
        return "does not exist, and iceberg.tables.auto-create-enabled is false"
    return (
        "does not exist, and this run creates none beyond floe.route.max-new-tables "
        f"({connector.routing.max_new_tables}), nor one whose records have no field"
    )


def _existence(table: SliceTable) -> tuple[bool, bool]:
    return table.table is not None, table.problem is not None


# One table of a slice: what it takes, what tasks receive about it, and its part of the announcement.


NewOffsets = tuple[tuple[OffsetRange, Intervals], ...]


@dataclass(frozen=True)
class SliceTable:
    """A table with the content of its ledger for the slice.

    ``new_offsets``: of the ranges whose rows it takes, the offsets to be written; of a table that refuses, those whose
    records are dead letters, and none where it is behind. ``recovered``: dead letters in these ranges whose records are rows
    according to its ledger. ``mode``: how it gets its rows; None where it takes none.
    """

    state: TableState
    new_offsets: NewOffsets = ()
    recovered: Mapping[LogId, Intervals] = field(default_factory=dict)
    mode: WriteMode | None = None

    @classmethod
    def of(cls, job: SliceJob, state: TableState) -> SliceTable:
        """Return what a table takes of a slice; one that refuses, or that no file can be written for, takes nothing."""
        if state.problem is not None:
            return cls(state)
        scope = job.scope
        mode, taken = mode_of(scope, state.name), scope.taken(state.name)
        new: NewOffsets = ()
        try:
            mode.check(state, scope, job.connector)
            new = tuple((r, mode.wanted(state, scope, r)) for r in taken)
            recovered = {LogId.of(r): rows for r in taken if (rows := state.ledger.recovered(r))}
            found = cls(state, new, recovered, mode)
            check_writable(found.target(job))
        except REFUSALS as error:
            return cls(state, new).refused(job, error)
        return found

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def table(self) -> Table | None:
        """The table; None while it does not exist, and where it refuses."""
        return self.state.table

    @property
    def problem(self) -> FloeError | None:
        """Why the table takes nothing."""
        return self.state.problem

    @property
    def names_dead_letters(self) -> bool:
        """Whether its dead letters of the ranges are announced, and their records are watched."""
        return self.mode is not None and self.mode.names_dead_letters

    @property
    def is_for_dead_letters(self) -> bool:
        """Whether the table refuses and its records become dead letters; if it refuses otherwise, it is behind."""
        return self.problem is not None and bool(self.new_offsets)

    def in_state(self, job: SliceJob, state: TableState) -> SliceTable:
        """Return the table after a change of it."""
        return replace(self, state=state) if state.problem is None else self.refused(job, state.problem)

    def refused(self, job: SliceJob, problem: FloeError) -> SliceTable:
        """Return the table as one that takes nothing. Where its ledger is known, its records can be dead letters."""
        is_known = self.table is not None and job.gives_dead_letters_for(self.name)
        return SliceTable(self.state.refused(problem), self.new_offsets if is_known else ())

    def without_rows(self, job: SliceJob) -> SliceTable:
        """Return a table that refuses, and that contains no row of the slice: all its records become dead letters."""
        taken = job.plan.taken(job.slice, self.name)
        return replace(self, new_offsets=tuple((r, _whole(r)) for r in taken))

    def target(self, job: SliceJob, open_dead_letters: DeadLetterOffsets | None = None) -> TableTarget:
        """Return what a worker needs to know of the table."""
        # every task contains this: of thousands of ranges only those that the table already contains in a repeated run
        held = {r: held for r, new in self.new_offsets if (held := _whole(r) - new)}
        backlog = frozenset(job.slice.ranges) - {r for r, _ in self.new_offsets}
        watched = {r: found for r in job.slice.ranges if (found := self._watched(r, open_dead_letters))}
        refusal = _refusal(self.name, self.problem) if self.is_for_dead_letters else None
        target = replace(
            new_target(self.name, job.connector), held=held, backlog=backlog, dead_letters=watched, refusal=refusal
        )
        if self.table is None:
            return target
        # workers need schema, spec, location and properties; the snapshots would be shipped to each of them
        slim = self.table.metadata.model_copy(
            update={"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}, "current_snapshot_id": None}
        )
        properties = {**self.table.metadata.properties, **job.connector.write_props}
        return replace(target, metadata=slim, io=self.table.io, properties=properties)

    def _watched(self, r: OffsetRange, open_dead_letters: DeadLetterOffsets | None) -> Intervals:
        """Return the records whose outcome counts: with open dead letters, and those recovered that are to be replaced."""
        waiting = open_dead_letters.reaching(self.name, r) if open_dead_letters else Intervals()
        return waiting | self.recovered.get(LogId.of(r), Intervals()) if self.names_dead_letters else waiting

    def written(self, connector: Connector, files: Iterable[SpecFiles]) -> TableFiles | None:
        """Return what is to be committed to the table; None where nothing is.

        Raises SliceRefused for more recovered dead letters than an announcement can name.
        """
        by_spec = _by_spec(files)
        is_announced = bool(by_spec) or (self.mode is not None and self.mode.commits_without_files)
        if self.table is None or not is_announced:
            return None
        metadata = self.table.metadata
        if not by_spec:
            spec_id = metadata.default_spec_id
            by_spec[spec_id] = SpecFiles(spec_id, partition_type_of(metadata.spec(), metadata.schema()), ())
        seen = self.recovered if self.names_dead_letters else {}
        if sum(len(offsets.spans) for offsets in seen.values()) > MAX_SPANS:
            msg = (
                f"table {self.name!r} has rows of dead letters in more than {MAX_SPANS} spans of the offsets that are to be "
                "replaced: an announcement names no more. Nothing was announced; replay with a smaller max_records"
            )
            raise SliceRefused(msg)
        *namespace, name = self.name.split(".")
        return TableFiles(
            reference=TableReference(connector.catalog.name, tuple(namespace), name, metadata.table_uuid),
            branch=self.state.branch,
            schema_id=metadata.current_schema_id,
            new_ranges=self.new_offsets,
            routes=self.state.routes,
            files=tuple(by_spec.values()),
            seen=seen,
        )


def raise_if_none_is_left(tables: Sequence[SliceTable]) -> None:
    """Raise the first problem when no table takes anything of the slice."""
    problem = next((table.problem for table in tables if table.problem is not None), None)
    if problem is not None and not any(table.new_offsets for table in tables):
        raise problem


def new_target(name: str, connector: Connector) -> TableTarget:
    """Return what a worker receives about a table that does not exist."""
    schema = connector.schema
    rules = ColumnRules(
        evolve=schema.evolve,
        case_insensitive=schema.case_insensitive,
        on_conflict=schema.on_conflict,
        force_optional=schema.force_optional,
        debezium_types=schema.debezium_types,
        case_twins=schema.case_twins,
    )
    return TableTarget(name, rules=rules, transforms=connector.transforms)


def _refusal(name: str, problem: FloeError | None) -> str:
    """Describe why a record is a dead letter, and what to do; the end of it is never cut."""
    remedy = "; fix the table, then trigger the replay DAG with dead_letters"
    begin = f"table {clip(name, 80)!r} takes no rows: {' '.join(str(problem).split())}"
    return clip(begin.rstrip("."), REASON_LENGTH - len(remedy)) + remedy


def _whole(r: OffsetRange) -> Intervals:
    return Intervals.of([(r.start, r.end)])


def _by_spec(written: Iterable[SpecFiles]) -> dict[int, SpecFiles]:
    """Put the files of several tasks together by partition spec."""
    by_spec: dict[int, SpecFiles] = {}
    for spec in written:
        known = by_spec.get(spec.spec_id)
        files = spec.files if known is None else known.files + spec.files
        by_spec[spec.spec_id] = SpecFiles(spec.spec_id, (known or spec).partition_type, files)
    return by_spec


# Checks before a slice is read that files can be written for a table. If not, it refuses, and the others continue.


_MAX_PARAMETER = 2**31 - 1
_UNSUPPORTED = (UnsupportedColumn, UnsupportedFileFormat)
_UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, NotImplementedError, pa.ArrowException)
"""What libraries raise for values of properties that they cannot read."""


def check_writable(target: TableTarget) -> None:
    """Create what a worker creates for a table, and a file without rows in memory.

    Raises TableUnsuitable for columns, partitions, sort orders, properties and locations that no file can be written with.
    Whether the store accepts files there is not checked.
    """
    if target.metadata is None or target.io is None:
        return
    try:
        # the columns that no row can be made for are the same for all converters
        TableRows(target, 0, converters_of(PLAIN_JSON, ConverterContext.of_attempt("", LookupRecorder())))
        properties = dict(target.properties)
        metadata, schema = target.metadata, target.metadata.schema()
        writer = TableWriter(metadata, target.io, schema, metadata.spec(), properties, "check")
        writer.try_out()
        _check_partitions(metadata.spec(), schema)
        _check_location(writer.location(), metadata, target.io)
    except _UNSUPPORTED as error:
        raise _unsuitable(target, str(error)) from error
    except _UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}. Check the table's properties and iceberg.tables.write-props.*"
        raise _unsuitable(target, reason) from error


def _check_partitions(spec: PartitionSpec, schema: Schema) -> None:
    """Raise ValueError for a partition field that no row has a value of. Some of them crash the process that tries."""
    for part in spec.fields:
        transform, source = part.transform, schema.find_type(part.source_id)
        parameter = 1
        if isinstance(transform, BucketTransform):
            parameter = transform.num_buckets
        elif isinstance(transform, TruncateTransform):
            parameter = transform.width
        is_known = not isinstance(transform, UnknownTransform) and transform.can_transform(source)
        if not is_known or not 1 <= parameter <= _MAX_PARAMETER:
            msg = f"partition field {part.name!r} is {transform} of a {source}"
            raise ValueError(msg)


def _check_location(location: str, metadata: TableMetadata, io: FileIO) -> None:
    """Raise ValueError for a location that is not the table's, or in a store that PyIceberg does not know."""
    if not is_inside(location, roots_of(metadata)):
        msg = f"its files would be at {location!r}, which is not inside {roots_of(metadata)}"
        raise ValueError(msg)
    if "\0" in location:
        msg = f"its files would be at {location!r}, and no path has a NUL"
        raise ValueError(msg)
    io.new_output(location)


def _unsuitable(target: TableTarget, reason: str) -> TableUnsuitable:
    return TableUnsuitable(
        f"table {target.name!r} cannot be written: {reason}. Nothing was written for it. Fix the table",
        code="FLOE-418",
    )
