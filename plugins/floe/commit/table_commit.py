"""The commit of a slice to one table: compare with the ledger, send once, and compare again when it is not confirmed."""

import logging
from dataclasses import dataclass

from pyiceberg.table import Table

from floe.config.sections.table_properties import unusable_for_commits
from floe.control.announcement import TableFiles
from floe.control.table_work import TableWork
from floe.crash_points import CrashPoint, reach
from floe.model.accounting import TableCounts
from floe.model.ledger import CommitState, Ledger
from floe.modes.write_mode import SnapshotMaker, WriteMode
from floe.modes.write_modes import mode_of
from floe.tables.exceptions import SliceStale, TableRefused
from floe.tables.file_checks import check_files
from floe.tables.history import find_slice
from floe.tables.lake import Lake
from floe.tables.retry import retry
from floe.tables.snapshot_summary import snapshot_properties
from floe.tables.table_state import SINCE_WRITTEN, TableState

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TableCommit:
    """One table, committed: by this call, or found to be so already."""

    table_files: TableFiles
    counts: TableCounts
    snapshot_id: int | None
    already: bool


def commit_table(lake: Lake, work: TableWork, retry_for: float) -> TableCommit:
    """Commit one slice's files to one table, exactly once, however often and by however many processes this is called.

    Conflicts, lost answers and an unreachable catalog are tried again for ``retry_for`` seconds, each time from the
    table's present state. Raises TableRefused, SliceStale, AnnouncementVoid, or TableNotCommitted at the end.
    """
    mode = mode_of(work.scope, work.table)
    snapshots: SnapshotMaker | None = None

    def attempt() -> TableCommit:
        nonlocal snapshots
        table, ledger, is_committed = _compare(lake, work, mode)
        if is_committed:
            snapshot = find_slice(table.metadata, work.branch, work.slice_id)
            return TableCommit(work.files, work.counts, snapshot.snapshot_id if snapshot else None, already=True)
        if snapshots is None:
            check_files(table, work.files)
            snapshots = mode.snapshots(work, lake.connector)
        table = _with_branch(lake, work, table) if mode.needs_branch else table
        reach(CrashPoint.COMMIT_TABLE)
        snapshot_id = _send(lake, table, work, mode, ledger, snapshots)
        reach(CrashPoint.COMMIT_TABLE_LANDED)
        return TableCommit(work.files, work.counts, snapshot_id, already=False)

    return retry(f"table {work.table!r}", retry_for, attempt)


def check_table(lake: Lake, work: TableWork, retry_for: float) -> bool:
    """Return whether a slice is in a table; raise what :func:`commit_table` would raise, as far as that shows before."""
    mode = mode_of(work.scope, work.table)

    def attempt() -> bool:
        table, _, is_committed = _compare(lake, work, mode)
        if not is_committed:
            check_files(table, work.files)
            mode.check_change(table, work, lake.connector)
        return is_committed

    return retry(f"table {work.table!r}", retry_for, attempt)


def _compare(lake: Lake, work: TableWork, mode: WriteMode) -> tuple[Table, Ledger, bool]:
    """Return the table, its ledger, and whether the slice is in it; raise when it cannot be committed there any more."""
    opened = _opened(lake, work)
    table, ledger = opened.required(), opened.ledger
    mode.check_routes(work.table, ledger, work.scope, work.routed)
    state = mode.state(ledger, work)
    if state is CommitState.STALE:
        raise SliceStale(mode.stale_reason(work))
    return table, ledger, state is CommitState.COMMITTED


def _opened(lake: Lake, work: TableWork) -> TableState:
    """Open the table that files were written for. Raises TableRefused when it is gone, or takes no commits."""
    uuid = {work.table: work.files.reference.table_uuid}
    opened = lake.state(work.table, uuid=uuid, since=SINCE_WRITTEN, branch=work.branch)
    if problems := unusable_for_commits(opened.required().properties):
        msg = (
            f"table {work.table!r} has properties with which no commit is possible: {'; '.join(problems)}. Set or unset "
            "them (ALTER TABLE … SET TBLPROPERTIES). Nothing is committed to it until then."
        )
        raise TableRefused(msg, code="FLOE-412")
    return opened


def _with_branch(lake: Lake, work: TableWork, table: Table) -> Table:
    """Return the table with the branch that rows are to be removed from."""
    if work.branch not in table.metadata.refs:
        lake.make_branch(table, work.branch)
        table = _opened(lake, work).required()
    return table


def _send(
    lake: Lake, table: Table, work: TableWork, mode: WriteMode, ledger: Ledger, snapshots: SnapshotMaker
) -> int | None:
    """Send the snapshot once; any error but a conflict is an unknown outcome. What has to be rewritten is so before."""
    properties = snapshot_properties(
        work, table.metadata, lambda r, route: mode.contained(ledger, r, route), mode.summary(work)
    )
    properties |= snapshots.rewrite(table)
    return lake.commit(table, snapshots.change(table, properties), mode.ledger_after(ledger, work)).snapshot_id
