"""Dead letters whose records still have rows: a replacement that was never finished has not removed them.

A replacement commits its dead letters before it removes rows, so that no record is ever without both. If its run
ends in between and is not cleared, the table's ledger does not name the replacement, and the table has the rows that it had.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe.model.plan import commit_id_of
from floe.model.ranges import OffsetRange
from floe.tables.exceptions import TableRefused
from floe.tables.lake import Lake
from floe.tables.open_dead_letters import dead_letters_of_commits
from floe.tables.row_removal import check_no_shared_offsets
from floe.tables.source_columns import OriginColumns
from floe.tables.table_state import TableState


def dead_letters_with_rows(
    lake: Lake,
    dead_letters: TableState,
    found: DeadLetterOffsets,
    ranges: Sequence[OffsetRange],
) -> DeadLetterOffsets:
    """Return those of the ``found`` dead letters that replays made which a table does not have, though it has the row.

    A table whose rows do not record their source has none: nothing of it can be replaced. Nor are there any of replays that
    the dead-letter table (``dead_letters``) has forgotten: it remembers the last 100. Raises what loading tables raises.
    """
    connector, replays = lake.connector, _replays(dead_letters)
    if dead_letters.table is None or not replays or not found:
        return DeadLetterOffsets()
    commits = {str(commit_id_of(connector.group_id, plan_id)): plan_id for plan_id in replays}
    with lake.client.reading(dead_letters.name):
        by_commit = dead_letters_of_commits(
            dead_letters.table, dead_letters.branch, connector.name, ranges, list(commits)
        )
    made = {commits[commit_id]: offsets & found for commit_id, offsets in by_commit.items()}
    made = {plan_id: offsets for plan_id, offsets in made.items() if offsets}
    names = {name for offsets in made.values() for name in offsets.by_table}
    tables = (names | set(connector.tables) if None in names else names) - {None}
    kept = DeadLetterOffsets()
    for name in sorted(name for name in tables if name is not None) if made else ():
        state = lake.state(name)
        known = _replays(state)
        unfinished = [offsets for plan_id, offsets in made.items() if known.get(plan_id, 0) < replays[plan_id]]
        doubtful = DeadLetterOffsets.of(
            entry for offsets in unfinished for entry in offsets if entry[0] in (name, None)
        )
        kept |= _with_rows(lake, state, doubtful)
    return kept


def _replays(state: TableState) -> dict[str, int]:
    """Return how many slices of each replay a table has."""
    return {plan_id: int(count) for plan_id, count in (entry.rsplit("/", 1) for entry in state.ledger.replays)}


def _with_rows(lake: Lake, state: TableState, dead_letters: DeadLetterOffsets) -> DeadLetterOffsets:
    """Return the dead letters whose records have rows in a table."""
    if state.table is None or not dead_letters:
        return DeadLetterOffsets()
    ranges = [OffsetRange(*log_id, start, end) for _, log_id, offsets in dead_letters for start, end in offsets]
    try:
        columns = OriginColumns.of(state.table, lake.connector)
        check_no_shared_offsets(state.table, state.branch, lake.connector.group_id, ranges)
    except TableRefused:
        return DeadLetterOffsets()  # no replacement was possible: none was left unfinished
    with lake.client.reading(state.name):
        rows = offsets_with_rows(state.table, state.branch, columns, ranges)
    return DeadLetterOffsets.of(
        (table, log_id, offsets & rows.get(log_id, Intervals())) for table, log_id, offsets in dead_letters
    )


def offsets_with_rows(
    table: Table, branch: str, columns: OriginColumns, ranges: Sequence[OffsetRange]
) -> Mapping[LogId, Intervals]:
    """Return the offsets that a branch has rows of, per log, in and between some ranges; it reads three columns."""
    refs = table.metadata.refs
    ref = refs.get(branch) or refs.get(MAIN_BRANCH)
    if ref is None:
        return {}
    found: dict[LogId, Intervals] = {}
    scan = table.scan(columns.condition(ranges), selected_fields=columns.names, snapshot_id=ref.snapshot_id)
    for batch in scan.to_arrow_batch_reader():
        topics, partitions, offsets = columns.values(batch)
        for log_id in {LogId.of(r) for r in ranges}:
            mask = pc.and_(pc.equal(topics, log_id.topic), pc.equal(partitions, log_id.partition))
            spans = _spans(offsets.filter(mask))
            found[log_id] = found.get(log_id, Intervals()) | spans
    return found


def _spans(offsets: pa.Array) -> Intervals:
    """Join offsets to intervals."""
    numbers = np.unique(offsets.to_numpy(zero_copy_only=False))
    if not len(numbers):
        return Intervals()
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    starts, ends = [0, *(breaks + 1)], [*breaks, len(numbers) - 1]
    return Intervals.of((int(numbers[s]), int(numbers[e]) + 1) for s, e in zip(starts, ends, strict=True))
