"""Landing one slice in one table: look at the ledger, append once, and look again when the answer is not a yes."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyiceberg.exceptions import CommitFailedException, ForbiddenError, UnauthorizedError
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType

from floe.catalogs.catalog import Tables
from floe.catalogs.exceptions import CatalogUnreachable
from floe.commit.ancestry import branch_history, find_slice, refuse_changed_history, refuse_lost_ledger
from floe.commit.append import SpecFile, append, append_nothing
from floe.commit.control_offsets import committed_offsets, offsets_property
from floe.commit.exceptions import SliceStale, TableRefused
from floe.commit.files import check_files
from floe.commit.origin import OriginColumns
from floe.commit.patience import attempts
from floe.commit.removal import Remover, refuse_shared_offsets
from floe.commit.replace import replace
from floe.commit.standing import ledger_after, stale_reason, standing_of
from floe.commit.summary import snapshot_properties
from floe.control.announcement import Announcement, TableShare
from floe.control.data_files import to_pyiceberg
from floe.crash import CrashPoint, reach
from floe.offsets.ledger import Ledger, Standing
from floe.offsets.ledger_property import property_name, read_properties
from floe.offsets.plan import Plan, Slice, SliceKind
from floe.offsets.ranges import OffsetRange
from floe.offsets.routing import branch_route

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
    piece = plan.slice_of(announcement.slice_id)
    checked = False
    replaces = piece.kind is SliceKind.REPLACE and share.table != plan.letters
    remover: Remover | None = None
    for reason in attempts(f"table {share.table!r}", patience):
        try:
            table = _load(tables, share)
            ledger = ledger_of(table, share.branch, plan)
            refuse_other_routes(share.table, ledger, piece.kind, [(r, share.routes[r.topic]) for r, _ in share.nets])
            standing = standing_of(ledger, plan, piece, announcement, share)
            if standing is Standing.LANDED:
                snapshot = find_slice(table.metadata, share.branch, announcement.slice_id)
                return Landed(share, snapshot.snapshot_id if snapshot else None, already=True)
            if standing is Standing.STALE:
                raise SliceStale(stale_reason(piece, announcement, share))
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
            snapshot_id = _send(table, plan, piece, announcement, share, ledger, remover)
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
            f"table {share.table!r} was dropped after it was written for: its files cannot be committed. The next run "
            "creates it again if it may, and reads the range anew; earlier rows come back by the replay DAG."
        )
        raise TableRefused(msg)
    if table.metadata.table_uuid != share.reference.table_uuid:
        msg = (
            f"table {share.table!r} was replaced after it was written for (its UUID is {table.metadata.table_uuid}, the "
            f"files are for {share.reference.table_uuid}). The next run reads the range anew; earlier rows come back by "
            "the replay DAG."
        )
        raise TableRefused(msg)
    return table


def ledger_of(table: Table, branch: str, plan: Plan) -> Ledger:
    """Return the connector's ledger of a branch, an empty one if there is none, after the table's history was checked.

    A branch that does not exist yet, or that was made of a main that holds all its ledger says, begins with what main
    holds. Raises TableRefused.
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
    origin = origin_of(metadata, branch, plan.group_id)
    ledger = read_properties(property_name(plan.group_id, origin), metadata.properties)
    if ledger is None:
        refuse_lost_ledger(name, metadata, origin, plan.group_id)
        return Ledger(plan.cluster_id)
    if ledger.cluster_id != plan.cluster_id:
        msg = (
            f"table {name!r} holds offsets of cluster {ledger.cluster_id!r} for {plan.group_id!r}, this is cluster "
            f"{plan.cluster_id!r}: check the Kafka connection; to read the new cluster as a new generation, trigger the "
            'DAG with adopt=["*"]'
        )
        raise TableRefused(msg)
    refuse_changed_history(table, origin, plan.group_id, ledger)
    if origin == branch:
        return ledger
    return ledger.rerouted({route: branch_route(route, branch) for route in ledger.routes()})


def refuse_unseeded(table: Table, branch: str, plan: Plan, ledger: Ledger) -> None:
    """Raise TableRefused for a table that a Kafka Connect sink filled and whose ledger does not tell with what.

    A replay that skips what is held would double its rows.
    """
    name = offsets_property(plan.control_topic, plan.group_id)
    if ledger.holdings or committed_offsets(table.metadata, branch, name).offsets == {}:
        return
    msg = (
        f"table {'.'.join(table.name())!r} was filled by a Kafka Connect sink of {plan.group_id!r} and is not taken over: "
        "which offsets it holds cannot be told. Take over with the table in iceberg.tables, or append on purpose "
        "(overlap=append)."
    )
    raise TableRefused(msg)


def origin_of(metadata: TableMetadata, branch: str, group_id: str) -> str:
    """Return the branch whose ledger speaks of what ``branch`` holds: its own, or main's where it was made of it.

    A branch that is gone but has a ledger was dropped, with the rows that it speaks of.
    """
    if property_name(group_id, branch) in metadata.properties:
        return branch
    if branch not in metadata.refs:
        return MAIN_BRANCH
    main = read_properties(property_name(group_id, MAIN_BRANCH), metadata.properties)
    anchor = main.anchor.snapshot_id if main is not None and main.anchor is not None else None
    is_made_of_main = any(s.snapshot_id == anchor for s in branch_history(metadata, branch))
    return MAIN_BRANCH if is_made_of_main else branch


def refuse_other_routes(table: str, ledger: Ledger, kind: SliceKind, ranges: Iterable[tuple[OffsetRange, str]]) -> None:
    """Raise TableRefused when the table holds offsets that were routed otherwise.

    At or above a range they would be passed over or doubled by reading on; a replay that skips what is held minds only
    those inside; one that appends, replaces, or writes what had no row, none.
    """
    if kind.is_by_id:
        return
    for r, route in ranges:
        if kind is SliceKind.SKIP:
            others = ledger.elsewhere(r, route)
            way_out = (
                "Replay the rest of the range, or replace it (overlap=replace), or append on purpose (overlap=append)."
            )
        else:
            others = ledger.other_routes(r, route)
            way_out = (
                "The connector was changed between a failed run and this one. Clear the failed run first (its plan holds "
                "the old configuration), then run again."
            )
        if others:
            msg = f"table {table!r} holds offsets {list(others)[:20]} of {r.tp} that were routed otherwise. {way_out}"
            raise TableRefused(msg)


def _send(
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
        with sent(share.table):
            return append(table, share.branch, files, properties, name, grown)
    origin = origin_of(table.metadata, share.branch, plan.group_id)
    refuse_shared_offsets(table, origin, plan.group_id, remover.ranges)
    with sent(share.table):
        removal = remover.remove(table, share.branch)
        properties["floe.removed-rows"] = str(removal.rows)
        return replace(table, share.branch, files, removal, properties, name, grown)


@contextmanager
def sent(table: str) -> Iterator[None]:
    """Turn what a commit raises into a conflict, a refusal, or CatalogUnreachable: look again."""
    try:
        yield
    except (CommitFailedException, TableRefused):
        raise
    except (ForbiddenError, UnauthorizedError) as error:
        msg = f"not allowed to commit to table {table!r}: {error}. Check the catalog's credentials and grants."
        raise TableRefused(msg) from error
    except Exception as error:
        # an answer that is not a clear no may hide a commit that landed: whatever it was, the table tells
        msg = f"the outcome of a commit to table {table!r} is unknown ({type(error).__name__}: {error})"
        raise CatalogUnreachable(msg) from error
