"""Recover: the table gets the rows of dead letters, whose offsets it contains without a row."""

from floe.config import Connector
from floe.control.table_work import TableWork
from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe.model.ledger import CommitState, Ledger
from floe.model.ranges import OffsetRange
from floe.model.slice_scope import SliceScope
from floe.modes.append import Append
from floe.modes.append_again import is_known
from floe.modes.base import stale_message
from floe.tables.table_state import TableState


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
