"""Planning a redrive: which open dead letters are read again, for which tables, in which slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from floe.config import Connector
from floe.config.sections.error_policy import DEAD_LETTER_TABLE
from floe.model.dead_letters import MAX_SPANS, DeadLetterOffsets
from floe.model.exceptions import PlanRefused
from floe.model.holding import LogId
from floe.model.ledger import Ledger
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import Slice, SliceKind, commit_id_of
from floe.planning.refusing_tables import of_takers
from floe.planning.replay_request import ReplayRequest
from floe.planning.slicing import cut
from floe.tables.exceptions import TableRefused
from floe.tables.lake import Lake
from floe.tables.open_dead_letters import dead_letters_of_commits
from floe.tables.row_removal import OriginColumns, check_no_shared_offsets
from floe.tables.table_state import TableState

KEPT_ROWS = (
    "their rows are still in the table: the replay that removes them did not finish. Clear its run or replace the range"
)


@dataclass(frozen=True, slots=True)
class DeadLetterForecast:
    """What a redrive means for the dead letters of one table and partition. It counts dead letters.

    ``table``: None for records that were refused before routing. ``range``: from the first to the last of them.
    ``recovered``: their rows are in the table, and only the marker is missing. ``left_out``: why they are not read, if so.
    """

    table: str | None
    range: OffsetRange
    dead_letters: int
    recovered: int = 0
    left_out: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "partition": self.range.partition,
            "range": [self.range.start, self.range.end],
            "letters": self.dead_letters,
            "revived": self.recovered,
            "left_out": self.left_out,
        }


@dataclass(frozen=True)
class Redrive:
    """The dead letters that a request asks for: those that are read again, and those that are not, with the reason."""

    chosen: DeadLetterOffsets
    left_out: Mapping[str | None, tuple[str, DeadLetterOffsets]]

    def met(self, ranges: Sequence[OffsetRange]) -> tuple[OffsetRange, ...]:
        """Return the ranges, each from its first dead letter to its last, without those that have none."""
        found = []
        for r in ranges:
            spans = [span for _, _, offsets in self.chosen.within([r]) for span in offsets]
            if spans:
                first, last = min(start for start, _ in spans), max(end for _, end in spans)
                found.append(OffsetRange(r.topic, r.topic_id, r.partition, first, last))
        return tuple(found)

    def slices(self, ranges: Sequence[OffsetRange], request: ReplayRequest, connector: Connector) -> tuple[Slice, ...]:
        """Cut the dead letters into slices, as other replays are cut."""
        new_ranges = {r: Intervals.of(s for _, _, offsets in self.chosen.within([r]) for s in offsets) for r in ranges}
        cuts = cut(ranges, [new_ranges], request.max_records)
        return tuple(self._slice(i, slice_, request, connector) for i, slice_ in enumerate(cuts))

    def _slice(
        self, index: int, ranges: tuple[OffsetRange, ...], request: ReplayRequest, connector: Connector
    ) -> Slice:
        dead_letters = self.chosen.within(ranges)
        tables: tuple[str, ...] = tuple(table for table in request.tables if table in dead_letters.tables)
        if None in dead_letters.by_table:
            tables = request.tables  # they may belong to any of them
        elif connector.routing.is_dynamic:
            tables = dead_letters.tables
        return Slice(index, SliceKind.REDRIVE, ranges, tables, dead_letters)

    def without(self, kept: DeadLetterOffsets) -> Redrive:
        """Return the same without dead letters whose records have rows: each would get a second one."""
        left_out = {table: (KEPT_ROWS, DeadLetterOffsets({table: kept.by_table[table]})) for table in kept.by_table}
        return Redrive(self.chosen - kept, {**self.left_out, **left_out}) if kept else self

    def forecasts(self, ledgers: Mapping[str, Ledger]) -> tuple[DeadLetterForecast, ...]:
        """Return what is done for each table and partition."""
        message = [
            _forecast(table, log_id, offsets, ledgers.get(table or "")) for table, log_id, offsets in self.chosen
        ]
        for why, dead_letters in self.left_out.values():
            message += [_forecast(table, log_id, offsets, None, why) for table, log_id, offsets in dead_letters]
        return tuple(message)


def dead_letter_table(target: Connector) -> str:
    """Return the table that a redrive reads. Raises PlanRefused where dead letters are not kept in a table."""
    name = target.errors.table
    if name is None:
        msg = (
            "the run asks for dead letters, but the connector has no dead-letter table: set floe.deadletter.table (and not "
            f"errors.tolerance=none); {DEAD_LETTER_TABLE} is {target.properties.get(DEAD_LETTER_TABLE)!r}. A dead-letter "
            "topic cannot be replayed"
        )
        raise PlanRefused(msg, code="FLOE-306")
    return name


def find_dead_letters(
    name: str, lake: Lake, connector: Connector, request: ReplayRequest, ranges: Sequence[OffsetRange]
) -> Redrive:
    """Look up the open dead letters of the ranges in table ``name`` and sort out those that the request is for.

    Raises PlanRefused for too many to be named in a plan, and what keeps the table from being read.
    """
    dead_letters = lake.state(name)  # it refuses a table that was rolled back: its dead letters may be open again
    redrive = _sorted_out(lake.open_dead_letters(ranges, dead_letters), connector, request)
    return redrive.without(dead_letters_with_rows(lake, dead_letters, redrive.chosen, ranges))


def _sorted_out(found: DeadLetterOffsets, connector: Connector, request: ReplayRequest) -> Redrive:
    is_dynamic = connector.routing.is_dynamic
    is_restricted = bool(request.tables) if is_dynamic else set(request.tables) != set(connector.tables)
    left_out: dict[str | None, tuple[str, DeadLetterOffsets]] = {}
    for table in found.by_table:
        if table is None:
            why = (
                ("they were never routed to a table: replay without `tables`, which routes them again")
                if is_restricted
                else None
            )
        elif table in request.tables or (is_dynamic and not request.tables):
            why = None
        else:
            known = table in connector.tables or is_dynamic
            why = "not among `tables`" if known else "the connector does not write the table any more"
        if why is not None:
            left_out[table] = (why, DeadLetterOffsets({table: found.by_table[table]}))
    chosen = DeadLetterOffsets({table: logs for table, logs in found.by_table.items() if table not in left_out})
    if chosen.spans > MAX_SPANS:
        msg = (
            f"{chosen.count} dead letters are open, in {chosen.spans} spans of offsets: a redrive takes at most "
            f"{MAX_SPANS}. Restrict `ranges`, times or `tables`{_first_part(chosen)}"
        )
        raise PlanRefused(msg, code="FLOE-306")
    return Redrive(chosen, left_out)


def _first_part(dead_letters: DeadLetterOffsets) -> str:
    """Name a range that is not too large to begin with."""
    left = MAX_SPANS
    by_log: dict[LogId, list[int]] = {}
    for _, log_id, offsets in dead_letters:
        by_log.setdefault(log_id, []).extend(end for _, end in offsets)
    log_id, ends = next(iter(sorted(by_log.items())))
    return f', e.g. ranges={{"{log_id.partition}": [null, {sorted(ends)[min(left, len(ends)) - 1]}]}}'


def dead_letter_ledgers(lake: Lake, names: Iterable[str]) -> dict[str, Ledger]:
    """Load the ledgers of the tables that dead letters are for; of those that do not refuse. Raises when all refuse."""
    found = lake.states(names, must_exist=not lake.connector.creation.is_on)
    return of_takers(found, lambda state: state.ledger)


def _forecast(
    table: str | None, log_id: LogId, offsets: Intervals, ledger: Ledger | None, left_out: str | None = None
) -> DeadLetterForecast:
    r = OffsetRange(*log_id, offsets.spans[0][0], offsets.spans[-1][1])
    recovered = 0 if ledger is None else (offsets & ledger.recovered(r)).offsets
    return DeadLetterForecast(table, r, offsets.offsets, recovered, left_out)


# Dead letters whose records still have rows: a replacement that was never finished has not removed them.
#
# A replacement commits its dead letters before it removes rows, so that no record is ever without both. If its run
# ends in between and is not cleared, the table's ledger does not name the replacement, and the table has the rows
# that it had.


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
