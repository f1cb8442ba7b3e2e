"""Removing rows of Kafka ranges from a branch: the data files that have some are rewritten without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import (
    AlwaysTrue,
    And,
    BooleanExpression,
    GreaterThanOrEqual,
    In,
    IsNull,
    LessThan,
    Or,
    Reference,
)
from pyiceberg.expressions.literals import literal
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.types import IcebergType, IntegerType, LongType, PrimitiveType, StringType

from floe.catalogs.pyiceberg_internals import read_delete_files, record_batches
from floe.config import Connector
from floe.config.sections.transforms import source_columns
from floe.config.transforms.options import SourceColumnNames
from floe.config.transforms.python_class import PythonClass
from floe.model.holding import LogId
from floe.model.ledger_codec import ledger_names, owner_of, property_name, read_properties
from floe.model.offsets import OffsetRange
from floe.parquet.file_rewriter import FileRewriter
from floe.tables.change import SpecFile
from floe.tables.exceptions import TableRefused
from floe.tables.history import branch_history


@dataclass(frozen=True)
class Removal:
    """``removed``: files that are removed. ``rewritten``: what is left of their rows. ``rows``: how many are gone."""

    removed: tuple[DataFile, ...] = ()
    rewritten: tuple[SpecFile, ...] = ()
    rows: int = 0


@dataclass
class RowRemover:
    """Removes the rows of ranges from one table's branch. What it has rewritten, it does not rewrite again.

    ``write_props``: table properties that the connector sets over those of the table, for files.
    """

    columns: OriginColumns
    ranges: Sequence[OffsetRange]
    write_props: Mapping[str, str] = field(default_factory=dict)
    _done: dict[str, tuple[int, SpecFile | None]] = field(default_factory=dict)

    def most(self, table: Table, branch: str) -> tuple[int, bool]:
        """Return how many rows may be removed, by metadata only, and whether that number is exact."""
        tasks = self._tasks(table, branch, self.columns.condition(self.ranges))
        is_exact = all(not task.delete_files and self._is_fully_covered(table.schema(), task.file) for task in tasks)
        return sum(task.file.record_count for task in tasks), is_exact

    def _is_fully_covered(self, schema: Schema, file: DataFile) -> bool:
        """Return whether the bounds of a file's columns show that all its rows are of one range."""
        low: list[Any] = []
        high: list[Any] = []
        for name in self.columns.names:
            one = schema.find_field(name)
            lower, upper = (file.lower_bounds or {}).get(one.field_id), (file.upper_bounds or {}).get(one.field_id)
            if lower is None or upper is None or not isinstance(one.field_type, PrimitiveType):
                return False
            low.append(from_bytes(one.field_type, lower))
            high.append(from_bytes(one.field_type, upper))
        has_nulls = any(
            (file.null_value_counts or {}).get(schema.find_field(n).field_id) != 0 for n in self.columns.names
        )
        return not has_nulls and any(
            low[:2] == high[:2] == [r.topic, r.partition] and r.start <= low[2] <= high[2] < r.end for r in self.ranges
        )

    def remove(self, table: Table, branch: str) -> Removal:
        """Rewrite the files that have rows of the ranges. Raises TableRefused, and what the store raises."""
        self.refuse_unknown(table, branch)
        removed: list[DataFile] = []
        rewritten: list[SpecFile] = []
        gone = 0
        for task in self._tasks(table, branch, self.columns.condition(self.ranges)):
            rows, left = self._rewritten(table, task)
            if rows:
                gone += rows
                removed.append(task.file)
                rewritten += [left] if left is not None else []
        return Removal(tuple(removed), tuple(rewritten), gone)

    def _tasks(self, table: Table, branch: str, condition: BooleanExpression) -> list[FileScanTask]:
        refs = table.metadata.refs
        ref = refs.get(branch) or refs.get(MAIN_BRANCH)
        if ref is None:
            return []
        try:
            found = list(table.scan(condition, snapshot_id=ref.snapshot_id).plan_files())
        except (ValueError, NotImplementedError) as error:
            if "equality deletes" not in str(error):
                raise
            msg = (
                f"table {'.'.join(table.name())!r} has equality deletes, which floe cannot apply when it rewrites files. "
                "No row was changed. Compact the table (rewrite_data_files), then clear the run"
            )
            raise TableRefused(msg, code="FLOE-305") from error
        return [task for task in found if isinstance(task, FileScanTask)]

    def check_fits(self, table: Table, branch: str) -> None:
        """Raise TableRefused for what :meth:`remove` would refuse, without writing anything."""
        self.refuse_unknown(table, branch)
        self._tasks(table, branch, self.columns.condition(self.ranges))

    def refuse_unknown(self, table: Table, branch: str) -> None:
        """Raise TableRefused when a row does not record its source."""
        for task in self._tasks(table, branch, self.columns.unknown()):
            for batch in _batches(table, task, table.schema().select(*self.columns.names)):
                try:
                    self.columns.mask(batch, ())
                except TableRefused as error:
                    name = ".".join(table.name())
                    msg = f"rows of table {name!r} cannot be replaced: {error}. One such file: {task.file.file_path}"
                    raise TableRefused(msg, code="FLOE-305") from None

    def _rewritten(self, table: Table, task: FileScanTask) -> tuple[int, SpecFile | None]:
        """Rewrite a file once, however often its commit is tried; each time where deletes apply to it, which may change."""
        if task.delete_files:
            return self._rewrite(table, task)
        path = task.file.file_path
        if path not in self._done:
            self._done[path] = self._rewrite(table, task)
        return self._done[path]

    def _rewrite(self, table: Table, task: FileScanTask) -> tuple[int, SpecFile | None]:
        """Return how many rows of a file are removed, and the file with the others: None when there are none, or all stay."""
        narrow = table.schema().select(*self.columns.names)
        gone = left = 0
        for batch in _batches(table, task, narrow):
            going = pc.sum(self.columns.mask(batch, self.ranges)).as_py() or 0
            gone, left = gone + going, left + len(batch) - going
        if not gone or not left:
            return gone, None
        kept = (
            batch.filter(pc.invert(self.columns.mask(batch, self.ranges)))
            for batch in _batches(table, task, table.schema())
        )
        properties = {**table.metadata.properties, **self.write_props}
        rewriter = FileRewriter(table.metadata, table.io, table.schema(), properties)
        return gone, SpecFile(task.file.spec_id, rewriter.rewrite(task.file, kept))


def check_no_shared_offsets(table: Table, branch: str, group_id: str, ranges: Sequence[OffsetRange]) -> None:
    """Raise TableRefused when other rows have the same topic, partition and offset as those of the ranges.

    Those are of another connector, or of an earlier topic of the same name: their columns do not distinguish them.
    """
    metadata, name = table.metadata, ".".join(table.name())
    here = {s.snapshot_id for s in branch_history(metadata, branch if branch in metadata.refs else MAIN_BRANCH)}
    # not all others: one that this branch led to may have lost what leads there to another program's expiry
    branches = [name for name, ref in metadata.refs.items() if ref.snapshot_ref_type == SnapshotRefType.BRANCH]
    elsewhere = {s.snapshot_id for name in branches for s in branch_history(metadata, name)} - here
    own = {property_name(group_id, one) for one in (branch, *metadata.refs)}
    for key in ledger_names(metadata.properties):
        ledger = read_properties(key, metadata.properties)
        if ledger is None or (ledger.anchor is not None and ledger.anchor.snapshot_id in elsewhere):
            continue  # it refers to another branch
        for log_id, holding in ledger.holdings.items():
            for r in ranges:
                is_own = key in own and log_id == LogId.of(r)
                met = [s for held in holding.held.values() for s in held if s[0] < r.end and r.start < s[1]]
                if is_own or (log_id.topic, log_id.partition) != r.tp or not met:
                    continue
                whose = (
                    f"an earlier topic {r.topic!r} (id {log_id.topic_id})"
                    if key in own
                    else f"another connector ({owner_of(key, metadata.refs)})"
                )
                msg = (
                    f"table {name!r} also contains offsets [{met[0][0]}, {met[0][1]}) of partition {r.partition} of "
                    f"{whose}, and floe cannot tell those rows from the rows to replace. No row was changed. Restrict "
                    "`ranges` to other offsets, or replay into another table"
                )
                raise TableRefused(msg, code="FLOE-305")


def _batches(table: Table, task: FileScanTask, schema: Schema) -> Iterator[pa.RecordBatch]:
    """Read a file batch by batch, without the rows that position deletes took out, in the table's present schema."""
    scan = ArrowScan(table.metadata, table.io, schema, AlwaysTrue())
    try:
        # its public method collects a whole file before it hands out the first batch
        yield from record_batches(scan, task, read_delete_files(table.io, [task]))
    except Exception as error:
        error.add_note(task.file.file_path)
        raise


# The columns that name the record a row came from, as KafkaMetadataTransform writes them.


_INTEGERS: tuple[type[IcebergType], ...] = (IntegerType, LongType)


@dataclass(frozen=True)
class OriginColumns:
    """The columns of a row's topic, partition and offset: paths of names, the last of them a column of its own type."""

    topic: tuple[str, ...]
    partition: tuple[str, ...]
    offset: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, connector: Connector) -> OriginColumns:
        """Find the columns of a table by the connector's transforms. Raises TableRefused, naming what to add."""
        name = ".".join(table.name())
        check_has_transform(name, connector)
        problems = []
        for names in source_columns(connector.transforms, connector.routing.field):
            wrong = _problems(table.schema(), names)
            if not wrong:
                return cls(names.topic, names.partition, names.offset)
            problems += wrong
        msg = (
            f"the rows of table {name!r} do not record their source offsets, so none can be replaced: {problems[0]}. "
            f"{_REMEDY}"
        )
        raise TableRefused(msg, code="FLOE-305")

    @property
    def names(self) -> tuple[str, str, str]:
        """The columns as scans and their filters know them: no text of a filter takes every name that a column may have."""
        topic, partition, offset = (".".join(path) for path in (self.topic, self.partition, self.offset))
        return topic, partition, offset

    def condition(self, ranges: Sequence[OffsetRange]) -> BooleanExpression:
        """Return a filter that all rows of some ranges pass; of several ranges others between them may, too."""
        topic, partition, offset = map(Reference, self.names)
        return And(
            In(term=topic, values={literal(r.topic) for r in ranges}),
            In(term=partition, values={literal(r.partition) for r in ranges}),
            GreaterThanOrEqual(term=offset, value=literal(min(r.start for r in ranges))),
            LessThan(term=offset, value=literal(max(r.end for r in ranges))),
        )

    def values(self, rows: pa.RecordBatch) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return topics, partitions and offsets of rows."""
        topic, partition, offset = (_column(rows, path) for path in (self.topic, self.partition, self.offset))
        return topic, partition, offset

    def unknown(self) -> BooleanExpression:
        """Return a filter of rows that do not record their source."""
        topic, partition, offset = map(Reference, self.names)
        return Or(IsNull(term=topic), IsNull(term=partition), IsNull(term=offset))

    def mask(self, rows: pa.RecordBatch, ranges: Sequence[OffsetRange]) -> pa.BooleanArray:
        """Return for each row whether it came from one of the ranges. Raises TableRefused for rows without a source."""
        topic, partition, offset = self.values(rows)
        if any(column.null_count for column in (topic, partition, offset)):
            raise TableRefused(UNKNOWN_ROWS, code="FLOE-305")
        found: pa.BooleanArray = pc.is_null(topic)  # none is
        for r in ranges:
            place = pc.and_(pc.equal(topic, r.topic), pc.equal(partition, r.partition))
            inside = pc.and_(pc.greater_equal(offset, r.start), pc.less(offset, r.end))
            found = pc.or_(found, pc.and_(place, inside))
        return found


def check_has_transform(table: str, connector: Connector) -> None:
    """Raise TableRefused when the connector writes no such columns."""
    if source_columns(connector.transforms, connector.routing.field):
        return
    reason, remedy = "the connector has no KafkaMetadataTransform", _REMEDY
    place = max((at for at, spec in enumerate(connector.transforms) if spec.options.source_columns), default=None)
    if place is not None:
        reason, wanted = _obstacle(connector, place)
        remedy = f"No row was changed. Replay the range with overlap=skip into a new table, by a connector {wanted}"
    msg = f"the rows of table {table!r} do not record their source offsets, so none can be replaced: {reason}. {remedy}"
    raise TableRefused(msg, code="FLOE-305")


def _obstacle(connector: Connector, place: int) -> tuple[str, str]:
    """Return why the columns of the KafkaMetadataTransform at a place do not say where rows come from, and who has no such.

    What may give records another topic comes first: without it the others can be in their order.
    """
    metadata, behind = connector.transforms[place], connector.transforms[place + 1 :]
    renaming = next((spec for spec in connector.transforms if spec.options.renames_topic), None)
    if renaming is not None:
        what = "is a class in Python, which may give" if isinstance(renaming.options, PythonClass) else "may give"
        then = "follows KafkaMetadataTransform" if renaming in behind else "the column of the topic has that one"
        return f"transform {renaming.alias!r} {what} records another topic, and {then}", "without that transform"
    if metadata.predicate is not None:
        return (
            f"transform {metadata.alias!r} has a predicate, so other rows have no such columns",
            "without the predicate",
        )
    other = next((spec for spec in behind if not spec.is_columnar), None)
    if other is not None:
        last = "whose last transform is KafkaMetadataTransform"
        return f"transform {other.alias!r} follows KafkaMetadataTransform, and may change its columns", last
    return f"the columns of transform {metadata.alias!r} route records", "that routes by something else"


UNKNOWN_ROWS = (
    "it has rows without topic, partition or offset, written before the transform was configured, or by another process. "
    "floe cannot determine their source, and replacing might duplicate them. No row was changed. Fill in these columns, or "
    "replay into a new table"
)

_REMEDY = (
    "No row was changed. Replay the range with overlap=skip into a new table, by a connector without that transform, or "
    "whose last one is KafkaMetadataTransform"
)

_REMEDY = (
    'Add "transforms": "meta", "transforms.meta.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform" to '
    "the connector. Rows written from then on can be replaced. Replay earlier ones with overlap=skip into a new table"
)


def _problems(schema: Schema, names: SourceColumnNames) -> list[str]:
    wanted = ((names.topic, (StringType,)), (names.partition, _INTEGERS), (names.offset, _INTEGERS))
    return [problem for path, types in wanted if (problem := _problem(schema, path, types))]


def _problem(schema: Schema, path: tuple[str, ...], types: tuple[type[IcebergType], ...]) -> str | None:
    name = ".".join(path)
    try:
        kind = schema.find_field(name).field_type
    except ValueError:
        return f"it has no column {name!r}"
    if not isinstance(kind, types):
        wanted = "int or long" if types == _INTEGERS else "string"
        return f"its column {name!r} is of type {kind}, and must be {wanted}"
    return None


def _column(rows: pa.RecordBatch, path: tuple[str, ...]) -> pa.Array:
    column = rows.column(path[0])
    return column if len(path) == 1 else pc.struct_field(column, list(path[1:]))
