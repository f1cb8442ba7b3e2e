"""Replace: rows of the ranges are removed and all of them written, in one snapshot; the replay's id identifies a repeat.

As in ``append``: sent once, the table's UUID and the branch's head required, nothing that was written ever deleted.
"""

from collections.abc import Mapping

from pyiceberg.table import Table

from floe.config import Connector
from floe.control.table_work import TableWork
from floe.model.holding import LogId
from floe.model.ledger import CommitState, Ledger
from floe.model.offsets import Intervals, OffsetRange, ranges_to_json
from floe.model.slice_scope import SliceScope
from floe.modes.append import AppendAgain, is_known
from floe.modes.write_mode import SnapshotMaker, spec_files, stale_message
from floe.tables.change import Change, replace_files
from floe.tables.file_checks import file_access
from floe.tables.history import REPLACED
from floe.tables.row_removal import OriginColumns, Removal, RowRemover, check_no_shared_offsets
from floe.tables.snapshot_summary import bounded
from floe.tables.table_state import TableState


class Replace(AppendAgain):
    """Removes the rows that a table has of the ranges, whoever wrote them, and appends those that the records make now."""

    commits_without_files = True
    needs_branch = True
    is_checked_first = True
    names_dead_letters = True

    def check(self, state: TableState, scope: SliceScope, connector: Connector) -> None:
        if state.table is not None:
            OriginColumns.of(state.table, connector)

    def state(self, ledger: Ledger, work: TableWork) -> CommitState:
        """Compare by the replay's id, and by rows of dead letters that its writer did not know: those would be removed."""
        if is_known(ledger, work):
            return CommitState.COMMITTED
        unseen = (ledger.recovered(r) - work.files.seen.get(LogId.of(r), Intervals()) for r in work.ranges)
        return CommitState.STALE if any(unseen) else CommitState.PENDING

    def stale_reason(self, work: TableWork) -> str:
        return stale_message(
            work,
            "another run made rows of dead letters of its range meanwhile, and those rows would be removed. Nothing of it "
            "was committed to the table. Trigger the replay again; it reads the range as it is now.",
        )

    def check_change(self, table: Table, work: TableWork, connector: Connector) -> None:
        with file_access(work.table):
            remover = RowRemover(OriginColumns.of(table, connector), work.ranges)
            remover.check_fits(table, work.branch)
            check_no_shared_offsets(table, work.branch, work.plan.group_id, remover.ranges)

    def snapshots(self, work: TableWork, connector: Connector) -> SnapshotMaker:
        return Replacing(work, connector)

    def ledger_after(self, ledger: Ledger, work: TableWork) -> Ledger:
        after = ledger.with_replaced(work.routed).with_recovered(work.recovered)
        return after.with_replay(work.plan.plan_id, work.slice.index)

    def contained(self, ledger: Ledger, r: OffsetRange, route: str) -> Intervals:
        """Return what the table had, under whatever route: a rollback brings those rows back."""
        return ledger.contained_by_any_route(r)

    def summary(self, work: TableWork) -> dict[str, str]:
        return {REPLACED: bounded(ranges_to_json(work.ranges))}


class Replacing:
    """The replacement of a work's ranges by its files."""

    def __init__(self, work: TableWork, connector: Connector) -> None:
        self._work = work
        self._connector = connector
        self._remover: RowRemover | None = None
        self._removal = Removal()

    def rewrite(self, table: Table) -> Mapping[str, str]:
        work, connector = self._work, self._connector
        if self._remover is None:
            self._remover = RowRemover(OriginColumns.of(table, connector), work.ranges, connector.write_props)
        check_no_shared_offsets(table, work.branch, work.plan.group_id, work.ranges)
        with file_access(work.table):
            self._removal = self._remover.remove(table, work.branch)
        return {"floe.removed-rows": str(self._removal.rows)}

    def change(self, table: Table, summary: Mapping[str, str]) -> Change:
        files = [*spec_files(self._work), *self._removal.rewritten]
        return replace_files(table, self._work.branch, summary, files, self._removal.removed)
