"""Append again: the table gets all offsets, also those that it contains; the replay's id identifies a repeat."""

from floe.config import Connector
from floe.control.table_work import TableWork
from floe.model.intervals import Intervals
from floe.model.ledger import CommitState, Ledger
from floe.model.ranges import OffsetRange, ranges_to_json
from floe.model.slice_scope import SliceScope
from floe.modes.append import Append
from floe.tables.snapshot_summary import bounded
from floe.tables.table_state import TableState


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
