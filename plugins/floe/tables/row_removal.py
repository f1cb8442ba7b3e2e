"""Removing rows of Kafka ranges from a branch: the data files that have some are rewritten without them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.types import PrimitiveType

from floe.catalogs.pyiceberg_internals import read_delete_files, record_batches
from floe.model.holding import LogId
from floe.model.ledger_codec import ledger_names, owner_of, property_name, read_properties
from floe.model.ranges import OffsetRange
from floe.parquet.file_rewriter import FileRewriter
from floe.tables.change import SpecFile
from floe.tables.exceptions import TableRefused
from floe.tables.history import branch_history
from floe.tables.source_columns import OriginColumns


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
