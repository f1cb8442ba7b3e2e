"""Landing one slice in one table: look at the ledger, append once, and look again when the answer is not a yes."""

import logging
from dataclasses import dataclass

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from floe.catalogs.client import Tables
from floe.catalogs.exceptions import CatalogUnreachable
from floe.config.sections.table_properties import unusable_for_commits
from floe.control.announcement import Announcement, TableShare
from floe.control.data_files import to_pyiceberg
from floe.crash_points import CrashPoint, reach
from floe.model.ledger import Ledger, Standing
from floe.model.ledger_codec import property_name
from floe.model.plan import Plan, Slice
from floe.model.slice_kind import WriteModeName
from floe.modes.base import ledger_after, stale_reason, standing_of
from floe.modes.replace import replace
from floe.tables.exceptions import SliceStale, TableRefused
from floe.tables.file_checks import check_files, file_access
from floe.tables.history import find_slice
from floe.tables.retry import attempts
from floe.tables.row_removal import Remover, refuse_shared_offsets
from floe.tables.snapshot_commit import SpecFile, append, append_nothing
from floe.tables.snapshot_summary import snapshot_properties
from floe.tables.source_columns import OriginColumns
from floe.tables.table_ledger import ledger_of, refuse_other_routes

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Landed:
    """One table, committed: by this call, or found to be so already."""

    share: TableShare
    snapshot_id: int | None
    already: bool


def land(tables: Tables, plan: Plan, announcement: Announcement, share: TableShare, patience: float) -> Landed:
    """Commit one slice's files to one table, exactly once, however often and by however many this is called.

    Conflicts, lost answers and an unreachable catalog are tried again for ``patience`` seconds, each time from the
    table's present state. Raises TableRefused, SliceStale, AnnouncementVoid, or TableNotCommitted at the end.
    """
    piece = plan.slice_of(announcement.slice_id)
    checked = False
    replaces = piece.mode is WriteModeName.REPLACE and share.table != plan.letters
    remover: Remover | None = None
    for reason in attempts(f"table {share.table!r}", patience):
        try:
            table, ledger, landed = _look(tables, plan, announcement, share)
            if landed:
                snapshot = find_slice(table.metadata, share.branch, announcement.slice_id)
                return Landed(share, snapshot.snapshot_id if snapshot else None, already=True)
            if not checked:
                check_files(table, share)
                checked = True
            if not table.metadata.snapshots and share.branch != MAIN_BRANCH:
                with tables.changing(share.table):
                    append_nothing(table)
                table = _load(tables, share)
            if replaces and share.branch not in table.metadata.refs:
                with tables.changing(share.table):
                    append_nothing(table, share.branch)
                table = _load(tables, share)
            if replaces and remover is None:
                connector = tables.connector
                ranges = [r for r, _ in share.nets]
                remover = Remover(OriginColumns.of(table, connector), ranges, connector.write_props)
            reach(CrashPoint.COMMIT_TABLE)
            snapshot_id = _send(tables, table, plan, piece, announcement, share, ledger, remover)
            reach(CrashPoint.COMMIT_TABLE_LANDED)
            return Landed(share, snapshot_id, already=False)
        except CommitFailedException as error:
            reason.append(f"somebody else committed first ({error})")
        except CatalogUnreachable as error:
            reason.append(str(error))
    raise AssertionError  # attempts raises at its end


def is_landed(tables: Tables, plan: Plan, announcement: Announcement, share: TableShare, patience: float) -> bool:
    """Say whether a replacement is in a table; raise what :func:`land` would raise, as far as that shows before."""
    for reason in attempts(f"table {share.table!r}", patience):
        try:
            table, _, landed = _look(tables, plan, announcement, share)
            if not landed:
                check_files(table, share)
                with file_access(share.table):
                    remover = Remover(OriginColumns.of(table, tables.connector), [r for r, _ in share.nets])
                    remover.refuse_unfit(table, share.branch)
                    refuse_shared_offsets(table, share.branch, plan.group_id, remover.ranges)
        except CatalogUnreachable as error:
            reason.append(str(error))
        else:
            return landed
    raise AssertionError  # attempts raises at its end


def _look(tables: Tables, plan: Plan, announcement: Announcement, share: TableShare) -> tuple[Table, Ledger, bool]:
    """Return the table, its ledger, and whether the slice is in it; raise when it cannot land there any more."""
    piece = plan.slice_of(announcement.slice_id)
    table = _load(tables, share)
    ledger = ledger_of(table, share.branch, plan)
    refuse_other_routes(share.table, ledger, piece, [(r, share.routes[r.topic]) for r, _ in share.nets])
    standing = standing_of(ledger, plan, piece, announcement, share)
    if standing is Standing.STALE:
        raise SliceStale(stale_reason(plan, piece, announcement, share))
    return table, ledger, standing is Standing.LANDED


def _load(tables: Tables, share: TableShare) -> Table:
    table = tables.load(share.table)
    if table is None:
        msg = (
            f"table {share.table!r} was dropped after it was written for: its files cannot be committed. The next run "
            "creates it again if it may, and reads the range anew; earlier rows come back by the replay DAG."
        )
        raise TableRefused(msg, code="FLOE-409")
    if table.metadata.table_uuid != share.reference.table_uuid:
        msg = (
            f"table {share.table!r} was replaced after it was written for (its UUID is {table.metadata.table_uuid}, the "
            f"files are for {share.reference.table_uuid}). The next run reads the range anew; earlier rows come back by "
            "the replay DAG."
        )
        raise TableRefused(msg, code="FLOE-409")
    if problems := unusable_for_commits(table.properties):
        msg = (
            f"table {share.table!r} has properties that no commit can be made with: {'; '.join(problems)}. Set or unset "
            "them (ALTER TABLE … SET TBLPROPERTIES): its rows wait until then."
        )
        raise TableRefused(msg, code="FLOE-412")
    return table


def _send(
    tables: Tables,
    table: Table,
    plan: Plan,
    piece: Slice,
    announcement: Announcement,
    share: TableShare,
    ledger: Ledger,
    remover: Remover | None,
) -> int:
    """Append once, or replace once with a ``remover``; any error but a conflict is an unknown outcome."""
    files = [
        SpecFile(spec.spec_id, to_pyiceberg(file, spec.partition_type)) for spec in share.files for file in spec.files
    ]
    properties = snapshot_properties(plan, announcement, share, table.metadata, ledger)
    name, grown = property_name(plan.group_id, share.branch), ledger_after(ledger, plan, piece, announcement, share)
    if remover is None:
        with tables.committing(share.table):
            return append(table, share.branch, files, properties, name, grown)
    refuse_shared_offsets(table, share.branch, plan.group_id, remover.ranges)
    with file_access(share.table):
        removal = remover.remove(table, share.branch)
    properties["floe.removed-rows"] = str(removal.rows)
    with tables.committing(share.table):
        return replace(table, share.branch, files, removal, properties, name, grown)
