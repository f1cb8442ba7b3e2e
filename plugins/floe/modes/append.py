"""Append: the table gets the offsets that it does not contain, and its ledger identifies a repeat."""

from collections.abc import Mapping

from pyiceberg.table import Table

from floe.config import Connector
from floe.control.table_work import TableWork
from floe.model.intervals import Intervals
from floe.model.ledger import CommitState, Ledger
from floe.model.plan import Plan, Slice
from floe.model.ranges import OffsetRange
from floe.modes.base import SnapshotMaker, spec_files, stale_message
from floe.tables.change import Change, append_files
from floe.tables.table_ledger import check_ledger_routes, check_seeded
from floe.tables.table_state import TableState


class Append:
    """Appends what is new: live runs, backlogs, and replays that leave out what a table contains."""

    def check(self, state: TableState, plan: Plan, slice_: Slice, connector: Connector) -> None:
        if slice_.is_replay and state.table is not None:
            check_seeded(state.table, state.branch, plan, state.ledger)
        taken = plan.taken(slice_, state.name)
        self.check_routes(state.name, state.ledger, slice_, [(r, state.routes[r.topic]) for r in taken])

    def wanted(self, table: str, ledger: Ledger, slice_: Slice, r: OffsetRange, route: str) -> Intervals:
        return ledger.new_offsets(r, route)

    def check_routes(self, table: str, ledger: Ledger, slice_: Slice, routed: list[tuple[OffsetRange, str]]) -> None:
        check_ledger_routes(table, ledger, slice_, routed)

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
