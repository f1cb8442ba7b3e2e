"""Dead letters at a commit: none that is new may be replaced, and those that became rows are marked ``resolved``."""

import logging
from collections.abc import Collection, Iterator, Mapping

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table

from floe.control.announcement import Announcement
from floe.crash_points import CrashPoint, reach
from floe.model.dead_letters import DeadLetterKind, DeadLetterOffsets
from floe.model.plan import Plan
from floe.parquet.table_writer import TableWriter
from floe.tables.change import SpecFile, append_files
from floe.tables.exceptions import SliceStale
from floe.tables.file_checks import file_access
from floe.tables.lake import Lake
from floe.tables.open_dead_letters import scan_open_dead_letters
from floe.tables.retry import retry
from floe.tables.snapshot_summary import marks_properties

log = logging.getLogger(__name__)

BATCH_ROWS = 100_000
"""Of resolved markers that are in memory before they are handed to the writer."""


def append_resolved_markers(
    lake: Lake, plan: Plan, announcement: Announcement, name: str, branch: str, retry_for: float
) -> None:
    """Mark the dead letters that a slice dealt with, those that are still open, once, however often this is called.

    Conflicts and lost answers are tried again for ``retry_for`` seconds, each time from the table's present state. Raises
    TableRefused, CatalogError, or TableNotCommitted at the end.
    """
    if not announcement.resolved:
        return
    mark_id = f"{announcement.slice_id}/resolved"
    files: tuple[SpecFile, ...] = ()
    written_for: tuple[object, ...] | None = None

    def attempt() -> None:
        nonlocal files, written_for
        state = lake.state(name, branch=branch)
        table, ledger = state.table, state.ledger
        if table is None:
            # its dead letters went with it: nothing is left that could be read as open
            log.warning(
                ("dead-letter table %s does not exist any more: dead letters that slice %s resolved are not marked"),
                name,
                mark_id,
            )
            return
        if mark_id in ledger.slices:
            return
        with file_access(name):
            marks = scan_open_dead_letters(table, branch, plan.connector, announcement.ranges) & announcement.resolved
        if not marks:
            return
        reach(CrashPoint.COMMIT_MARKS)
        wanted_for = (table.metadata.table_uuid, table.spec().spec_id, marks)
        if wanted_for != written_for:
            with file_access(name):
                files = _write(table, plan, marks, lake.connector.write_props)
            written_for = wanted_for
        change = append_files(table, branch, marks_properties(plan, announcement, branch, marks), files)
        lake.commit(table, change, ledger.with_slice(mark_id))
        reach(CrashPoint.COMMIT_MARKS_LANDED)
        log.info("table %s: %s dead letters are resolved", name, marks.count)
        return

    retry(f"table {name!r}", retry_for, attempt)


def check_no_new_dead_letters(
    lake: Lake, plan: Plan, announcement: Announcement, branch: str, waiting: Collection[str]
) -> None:
    """Raise SliceStale when records of a replacement got dead letters, for the tables ``waiting``, since it was written.

    It has rows of them, or did not check them. Its own dead letters are not new: an earlier attempt may have written them.
    """
    name, slice_ = plan.dead_letters or "", plan.slice_of(announcement.slice_id)
    state = lake.state(name, branch=branch)
    if state.table is None or slice_.index < state.ledger.next_of_replay(plan.plan_id):
        return
    with lake.client.reading(name):
        new = scan_open_dead_letters(state.table, branch, plan.connector, announcement.ranges) - announcement.known
    found = DeadLetterOffsets.of(entry for entry in new if entry[0] is None or entry[0] in waiting)
    if found:
        msg = (
            f"{found.count} records of slice {announcement.slice_id} got dead letters since it was written: another replay "
            "replaced them meanwhile. Nothing of it was committed. Trigger the replay again; it reads the range as it is "
            "now."
        )
        raise SliceStale(msg)


def _write(table: Table, plan: Plan, marks: DeadLetterOffsets, write_props: Mapping[str, str]) -> tuple[SpecFile, ...]:
    """Write the rows of the resolved markers and return their files."""
    properties = {**table.metadata.properties, **write_props}
    writer = TableWriter(table.metadata, table.io, table.schema(), table.spec(), properties, "resolved")
    try:
        for rows in _batched(_rows(table, plan, marks)):
            writer.write(rows)
        return tuple(SpecFile(table.spec().spec_id, file) for file in writer.close())
    except BaseException:
        writer.abort()
        raise


def _rows(table: Table, plan: Plan, marks: DeadLetterOffsets) -> Iterator[pa.Table]:
    """Yield the rows of the resolved markers: the place of the dead letter, no record."""
    schema = schema_to_pyarrow(table.schema())
    for dead_letter_table, log_id, offsets in marks:
        for start, end in offsets:
            for first in range(start, end, BATCH_ROWS):
                count = min(end - first, BATCH_ROWS)
                values = {
                    **log_id._asdict(),
                    "kind": DeadLetterKind.RESOLVED.value,
                    "table": dead_letter_table,
                    "connector": plan.connector,
                    "commit_id": str(plan.commit_id),
                }
                columns = [
                    pa.nulls(count, field.type)
                    if values.get(field.name) is None
                    else pa.repeat(pa.scalar(values[field.name], field.type), count)
                    for field in schema
                ]
                columns[schema.get_field_index("offset")] = pa.array(range(first, first + count), pa.int64())
                yield pa.Table.from_arrays(columns, schema=schema)


def _batched(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Join tables up to about ROWS_AT_ONCE rows."""
    waiting: list[pa.Table] = []
    for one in tables:
        waiting.append(one)
        if sum(part.num_rows for part in waiting) >= BATCH_ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
