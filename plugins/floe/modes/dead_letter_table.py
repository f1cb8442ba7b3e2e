"""The dead-letter table: it gets the dead letters of a slice, however the other tables get their rows."""

from floe.control.table_work import TableWork
from floe.model.intervals import Intervals
from floe.model.ledger import CommitState, Ledger
from floe.model.ranges import OffsetRange
from floe.model.slice_scope import SliceScope
from floe.modes.append import Append, live_or_replayed
from floe.modes.append_again import is_known
from floe.modes.base import WriteMode, stale_message
from floe.tables.history import REPLACED


class DeadLetterTable(Append):
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
