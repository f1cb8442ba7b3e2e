"""The write modes of dead letters: how a table gets their rows, and how the dead-letter table gets them."""

from __future__ import annotations

from floe.config import Connector
from floe.control.table_work import TableWork
from floe.model.holding import LogId
from floe.model.ledger import CommitState, Ledger
from floe.model.offsets import Intervals, OffsetRange
from floe.model.slice_scope import SliceScope
from floe.modes.append import Append, is_known, live_or_replayed
from floe.modes.write_mode import WriteMode, stale_message
from floe.tables.history import REPLACED
from floe.tables.table_state import TableState

# Recover: the table gets the rows of dead letters, whose offsets it contains without a row.


class Recover(Append):
    """Appends exactly the records of a slice's dead letters that have no row yet."""

    repeat_by = "replay"

    def check(self, state: TableState, scope: SliceScope, connector: Connector) -> None:
        return

    def wanted(self, state: TableState, scope: SliceScope, r: OffsetRange) -> Intervals:
        return scope.slice.dead_letters.reaching(state.name, r) - state.ledger.recovered(r)

    def check_routes(
        self, table: str, ledger: Ledger, scope: SliceScope, routed: list[tuple[OffsetRange, str]]
    ) -> None:
        return

    def state(self, ledger: Ledger, work: TableWork) -> CommitState:
        """Compare by the replay's id, and by what another redrive that was planned at the same time has recovered."""
        if is_known(ledger, work):
            return CommitState.COMMITTED
        own = work.announcement.recovered
        twice = (ledger.recovered(r) & own.at(work.table, LogId.of(r)) for r in work.ranges)
        return CommitState.STALE if any(twice) else CommitState.PENDING

    def stale_reason(self, work: TableWork) -> str:
        return stale_message(
            work,
            "another run wrote the rows of some of its dead letters meanwhile. Nothing of it was committed to the table. "
            "Trigger the redrive again; it reads those that are still open.",
        )

    def ledger_after(self, ledger: Ledger, work: TableWork) -> Ledger:
        after = ledger.with_redriven(work.new_offsets).with_recovered(work.recovered)
        return after.with_replay(work.plan.plan_id, work.slice.index)


# The dead-letter table: it gets the dead letters of a slice, however the other tables get their rows.


class DeadLetterMode(Append):
    """Appends dead letters. ``of_rows``: the mode that the slice's rows are written in.

    Dead letters belong to single tables: those of a table that catches up are new at offsets that the dead-letter table
    contains already. So its ledger remembers slices, and these identify a repeat.
    """

    def __init__(self, of_rows: WriteMode) -> None:
        self._of_rows = of_rows
        self.repeat_by = "replay" if of_rows.repeat_by == "replay" else "slice"

    def check_routes(
        self, table: str, ledger: Ledger, scope: SliceScope, routed: list[tuple[OffsetRange, str]]
    ) -> None:
        self._of_rows.check_routes(table, ledger, scope, routed)

    def state(self, ledger: Ledger, work: TableWork) -> CommitState:
        if (work.slice.is_replay and is_known(ledger, work)) or work.plan.slice_id(work.slice) in ledger.slices:
            return CommitState.COMMITTED
        is_same = all(ledger.new_offsets(r, route) == new_offsets for r, route, new_offsets in work.new_offsets)
        return CommitState.PENDING if is_same else CommitState.STALE

    def stale_reason(self, work: TableWork) -> str:
        return stale_message(
            work,
            "another run committed dead letters of its range meanwhile. Nothing of it was committed. The next run plans "
            "again; a replay must be triggered again.",
        )

    def ledger_after(self, ledger: Ledger, work: TableWork) -> Ledger:
        after = live_or_replayed(ledger.with_slice(work.plan.slice_id(work.slice)), work)
        return after.with_replay(work.plan.plan_id, work.slice.index) if work.slice.is_replay else after

    def contained(self, ledger: Ledger, r: OffsetRange, route: str) -> Intervals:
        return self._of_rows.contained(ledger, r, route)

    def summary(self, work: TableWork) -> dict[str, str]:
        return {name: value for name, value in self._of_rows.summary(work).items() if name != REPLACED}
