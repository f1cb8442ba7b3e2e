"""Landing one slice in one table: look at the ledger, append once, and look again when the answer is not a yes."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from pyiceberg.exceptions import CommitFailedException, ForbiddenError, UnauthorizedError
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType

from floe.catalogs.catalog import Tables
from floe.catalogs.exceptions import CatalogUnreachable
from floe.commit.ancestry import find_slice, refuse_changed_history, refuse_lost_ledger
from floe.commit.append import SpecFile, append, append_nothing
from floe.commit.exceptions import SliceStale, TableRefused
from floe.commit.files import check_files
from floe.commit.patience import attempts
from floe.commit.summary import snapshot_properties
from floe.control.announcement import Announcement, TableShare
from floe.control.data_files import to_pyiceberg
from floe.crash import CrashPoint, reach
from floe.offsets.ledger import Ledger, Standing, property_name, read_properties
from floe.offsets.plan import Plan
from floe.offsets.ranges import OffsetRange

log = logging.getLogger(__name__)

NEWEST_FORMAT = 2
"""The newest table format that PyIceberg writes."""


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
    checked = False
    for reason in attempts(f"table {share.table!r}", patience):
        try:
            table = _load(tables, share)
            ledger = ledger_of(table, share.branch, plan)
            refuse_other_routes(share.table, ledger, [(r, share.routes[r.topic]) for r, _ in share.nets])
            standing = ledger.standing((r, share.routes[r.topic], net) for r, net in share.nets)
            if standing is Standing.LANDED:
                snapshot = find_slice(table.metadata, share.branch, announcement.slice_id)
                return Landed(share, snapshot.snapshot_id if snapshot else None, already=True)
            if standing is Standing.STALE:
                msg = (
                    f"table {share.table!r} holds other offsets than when slice {announcement.slice_id} was written: "
                    "another run committed meanwhile. Nothing of this slice is committed, the next run plans anew."
                )
                raise SliceStale(msg)
            if not checked:
                check_files(table, share)
                checked = True
            if not table.metadata.snapshots and share.branch != MAIN_BRANCH:
                with tables.changing(share.table):
                    append_nothing(table)
                table = _load(tables, share)
            reach(CrashPoint.COMMIT_TABLE)
            snapshot_id = _append(table, plan, announcement, share, ledger)
            reach(CrashPoint.COMMIT_TABLE_LANDED)
            return Landed(share, snapshot_id, already=False)
        except CommitFailedException as error:
            reason.append(f"somebody else committed first ({error})")
        except CatalogUnreachable as error:
            reason.append(str(error))
    raise AssertionError  # attempts raises at its end


def _load(tables: Tables, share: TableShare) -> Table:
    table = tables.load(share.table)
    if table is None:
        msg = (
            f"table {share.table!r} was dropped after it was written for: its files cannot be committed. The position "
            "stays; the next run creates it again if it may, and reads the range anew."
        )
        raise TableRefused(msg)
    if table.metadata.table_uuid != share.reference.table_uuid:
        msg = (
            f"table {share.table!r} was replaced after it was written for (its UUID is {table.metadata.table_uuid}, the "
            f"files are for {share.reference.table_uuid}). The position stays; the next run reads the range anew."
        )
        raise TableRefused(msg)
    return table


def ledger_of(table: Table, branch: str, plan: Plan) -> Ledger:
    """Return the connector's ledger of a branch, an empty one if there is none, after the table's history was checked.

    A branch that does not exist yet begins with what main holds. Raises TableRefused.
    """
    name = ".".join(table.name())
    metadata = table.metadata
    ref = metadata.refs.get(branch)
    if ref is not None and ref.snapshot_ref_type != SnapshotRefType.BRANCH:
        msg = f"{branch!r} of table {name!r} is a tag, not a branch: mend iceberg.tables.default-commit-branch"
        raise TableRefused(msg)
    if metadata.format_version > NEWEST_FORMAT:
        msg = (
            f"table {name!r} has format version {metadata.format_version}, floe writes up to {NEWEST_FORMAT}: write to a "
            "table of version 2"
        )
        raise TableRefused(msg)
    # a branch that is gone but has a ledger was dropped, with the rows that it speaks of
    is_known = branch in metadata.refs or property_name(plan.group_id, branch) in metadata.properties
    origin = branch if is_known else MAIN_BRANCH
    ledger = read_properties(property_name(plan.group_id, origin), metadata.properties)
    if ledger is None:
        refuse_lost_ledger(name, metadata, origin, plan.group_id)
        return Ledger(plan.cluster_id)
    if ledger.cluster_id != plan.cluster_id:
        msg = (
            f"table {name!r} holds offsets of cluster {ledger.cluster_id!r} for {plan.group_id!r}, this is cluster "
            f"{plan.cluster_id!r}: check the Kafka connection; for a new cluster give the connector a new name"
        )
        raise TableRefused(msg)
    refuse_changed_history(name, metadata, origin, plan.group_id, ledger)
    return ledger


def refuse_other_routes(table: str, ledger: Ledger, ranges: Iterable[tuple[OffsetRange, str]]) -> None:
    """Raise TableRefused when the table holds offsets at or above a range that were routed otherwise."""
    for r, route in ranges:
        others = ledger.other_routes(r, route)
        if others:
            msg = (
                f"table {table!r} holds offsets {list(others)} of {r.tp} that were routed otherwise: the connector was "
                "changed between a failed run and this one. Clear the failed run first (its plan holds the old "
                "configuration), then run again."
            )
            raise TableRefused(msg)


def _append(table: Table, plan: Plan, announcement: Announcement, share: TableShare, ledger: Ledger) -> int:
    """Append once. Any error but a conflict is an unknown outcome: raised as CatalogUnreachable, to look again."""
    live = plan.live_ranges(r for r, _ in share.nets)
    grown = ledger.with_live((one, share.routes[one.range.topic]) for one in live)
    files = [
        SpecFile(spec.spec_id, to_pyiceberg(file, spec.partition_type)) for spec in share.files for file in spec.files
    ]
    properties = snapshot_properties(plan, announcement, share, table.metadata)
    try:
        return append(table, share.branch, files, properties, property_name(plan.group_id, share.branch), grown)
    except (CommitFailedException, TableRefused):
        raise
    except (ForbiddenError, UnauthorizedError) as error:
        msg = f"not allowed to commit to table {share.table!r}: {error}. Check the catalog's credentials and grants."
        raise TableRefused(msg) from error
    except Exception as error:
        # an answer that is not a clear no may hide a commit that landed: whatever it was, the table tells
        msg = f"the outcome of a commit to table {share.table!r} is unknown ({type(error).__name__}: {error})"
        raise CatalogUnreachable(msg) from error
