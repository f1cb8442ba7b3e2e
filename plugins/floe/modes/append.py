"""Append: the table gets the offsets that it does not contain, and its ledger identifies a repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pyiceberg.table import Table

from floe.config import Connector
from floe.control.table_work import TableWork
from floe.model.ledger import CommitState, Ledger
from floe.model.offsets import Intervals, OffsetRange, ranges_to_json
from floe.model.slice_scope import SliceScope
from floe.modes.write_mode import SnapshotMaker, spec_files, stale_message
from floe.tables.change import Change, append_files
from floe.tables.snapshot_summary import bounded
from floe.tables.table_state import TableState, check_ledger_routes, check_seeded


class Append:
    """Appends what is new: live runs, backlogs, and replays that leave out what a table contains."""

    repeat_by: Literal["offsets", "replay", "slice"] = "offsets"
    commits_without_files = False
    needs_branch = False
    is_checked_first = False
    names_dead_letters = False

    def check(self, state: TableState, scope: SliceScope, connector: Connector) -> None:
        if scope.kind.is_replay and state.table is not None:
            check_seeded(state.table, state.branch, scope.plan, state.ledger)
        taken = scope.taken(state.name)
        self.check_routes(state.name, state.ledger, scope, [(r, state.routes[r.topic]) for r in taken])

    def wanted(self, state: TableState, scope: SliceScope, r: OffsetRange) -> Intervals:
        return state.ledger.new_offsets(r, state.routes[r.topic])

    def check_routes(
        self, table: str, ledger: Ledger, scope: SliceScope, routed: list[tuple[OffsetRange, str]]
    ) -> None:
        check_ledger_routes(table, ledger, routed, is_replay=scope.kind.is_replay)

    def state(self, ledger: Ledger, work: TableWork) -> CommitState:
        return ledger.state(work.new_offsets)

    def stale_reason(self, work: TableWork) -> str:
        return stale_message(
            work, "another run committed meanwhile. Nothing of this slice was committed. The next run plans again."
        )

    def check_change(self, table: Table, work: TableWork, connector: Connector) -> None:
        return

    def snapshots(self, work: TableWork, connector: Connector) -> SnapshotMaker:
        return Appending(work)

    def ledger_after(self, ledger: Ledger, work: TableWork) -> Ledger:
        return live_or_replayed(ledger, work).with_recovered(work.recovered)

    def contained(self, ledger: Ledger, r: OffsetRange, route: str) -> Intervals:
        return ledger.held(r, route)

    def summary(self, work: TableWork) -> dict[str, str]:
        return {}


def live_or_replayed(ledger: Ledger, work: TableWork) -> Ledger:
    """Return the ledger with the ranges in it; only those of a live or catch-up slice move its live ends."""
    if work.slice.is_replay:
        return ledger.with_replayed(work.routed)
    live = work.plan.live_ranges(work.ranges)
    return ledger.with_live((one, work.files.routes[one.range.topic]) for one in live)


class Appending:
    """The append of a work's files."""

    def __init__(self, work: TableWork) -> None:
        self._work = work

    def rewrite(self, table: Table) -> Mapping[str, str]:
        return {}

    def change(self, table: Table, summary: Mapping[str, str]) -> Change:
        return append_files(table, self._work.branch, summary, spec_files(self._work))


# Append again: the table gets all offsets, also those that it contains; the replay's id identifies a repeat.


class AppendAgain(Append):
    """Appends on purpose what a table may contain."""

    repeat_by = "replay"

    def check(self, state: TableState, scope: SliceScope, connector: Connector) -> None:
        return

    def wanted(self, state: TableState, scope: SliceScope, r: OffsetRange) -> Intervals:
        return Intervals(((r.start, r.end),))

    def check_routes(
        self, table: str, ledger: Ledger, scope: SliceScope, routed: list[tuple[OffsetRange, str]]
    ) -> None:
        return

    def state(self, ledger: Ledger, work: TableWork) -> CommitState:
        return CommitState.COMMITTED if is_known(ledger, work) else CommitState.PENDING

    def ledger_after(self, ledger: Ledger, work: TableWork) -> Ledger:
        after = ledger.with_replayed(work.routed).with_recovered(work.recovered)
        return after.with_replay(work.plan.plan_id, work.slice.index)

    def summary(self, work: TableWork) -> dict[str, str]:
        return {"floe.appended": bounded(ranges_to_json(work.ranges))}


def is_known(ledger: Ledger, work: TableWork) -> bool:
    """Return whether a ledger has the slice by the id of its replay. Raises ReplayForgotten."""
    return work.slice.index < ledger.next_of_replay(work.plan.plan_id)
