"""A branch's history, read against the ledger's anchor: is this still the table that the ledger speaks of?"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping

from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from floe.config.secrets.mask import clip
from floe.model.ledger import Anchor, Ledger
from floe.tables.exceptions import TableRefused

log = logging.getLogger(__name__)

GROUP = "floe.group"
SLICE = "floe.slice"
NET = "floe.net"
REPLACED = "floe.replaced"
REVIVED = "floe.revived"
ROUTE = "floe.route"
BRANCH = "floe.branch"

LINKS = "floe.history"
"""Table property: from snapshots whose parents floe expired, to the next ancestors that are left."""


def snapshot_property(snapshot: Snapshot, name: str) -> str | None:
    """Read one property of a snapshot's summary."""
    # not by its truth, which is the number of its properties
    return None if snapshot.summary is None else snapshot.summary.additional_properties.get(name)


def branch_history(metadata: TableMetadata, branch: str) -> Iterator[Snapshot]:
    """Yield the branch's snapshots from its head backwards, as far as they are retained.

    Over a gap that floe's expiry left, it goes on with the next one that was kept.
    """
    ref = metadata.refs.get(branch)
    return iter(()) if ref is None else line_of(metadata, ref.snapshot_id)


def line_of(metadata: TableMetadata, snapshot_id: int) -> Iterator[Snapshot]:
    """Yield a snapshot and its ancestors, as far as they are retained."""
    return lineage({s.snapshot_id: s for s in metadata.snapshots}, links_of(metadata), snapshot_id)


def lineage(by_id: Mapping[int, Snapshot], links: Mapping[int, int], snapshot_id: int) -> Iterator[Snapshot]:
    """Yield a snapshot and its ancestors among those of ``by_id``; ``links`` lead over gaps."""
    seen: set[int] = set()
    at = snapshot_id if snapshot_id in by_id else None
    while at is not None and at not in seen:
        yield by_id[at]
        seen.add(at)
        at = parent_of(by_id, links, at)


def parent_of(by_id: Mapping[int, Snapshot], links: Mapping[int, int], snapshot_id: int) -> int | None:
    """Return the next ancestor of a snapshot among those of ``by_id``; None where its history ends."""
    parent = by_id[snapshot_id].parent_snapshot_id
    if parent is not None and parent in by_id:
        return parent
    linked = links.get(snapshot_id)
    return linked if linked is not None and linked in by_id else None


def is_before(snapshot: Snapshot, sequence_number: int | None) -> bool:
    """Say whether a snapshot was made up to a sequence number, or may have been: in tables of format 1 all have 0."""
    return (snapshot.sequence_number or 0) <= (sequence_number or 0)


def links_of(metadata: TableMetadata) -> dict[int, int]:
    """Read the links of a table; none of a property that was changed by hand: then walks end where a parent is gone."""
    try:
        return {
            int(child): int(ancestor) for child, ancestor in json.loads(metadata.properties.get(LINKS, "{}")).items()
        }
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        log.warning("table property %r cannot be read: %r", LINKS, clip(metadata.properties[LINKS], 200))
        return {}


def links_text(links: Mapping[int, int]) -> str:
    """Write links as the property has them; nothing for none."""
    texts = {str(child): str(ancestor) for child, ancestor in sorted(links.items())}
    return json.dumps(texts, separators=(",", ":")) if links else ""


def find_slice(metadata: TableMetadata, branch: str, slice_id: str) -> Snapshot | None:
    """Return the snapshot of the branch that committed a slice."""
    return next((s for s in branch_history(metadata, branch) if snapshot_property(s, SLICE) == slice_id), None)


def refuse_changed_history(table: Table, branch: str, group_id: str, ledger: Ledger) -> None:
    """Raise TableRefused when the branch no longer leads back to the ledger's anchor."""
    change = changed_history(".".join(table.name()), table.metadata, branch, group_id, ledger, older_metadata(table))
    if change is not None:
        raise TableRefused(change, code="FLOE-408")


def older_metadata(table: Table) -> Iterator[TableMetadata]:
    """Yield the table's older metadata, the newest first, as far as its files are there."""
    for entry in reversed(table.metadata.metadata_log):
        try:
            yield FromInputFile.table_metadata(table.io.new_input(entry.metadata_file))
        except FileNotFoundError:
            return


def changed_history(
    table: str,
    metadata: TableMetadata,
    branch: str,
    group_id: str,
    ledger: Ledger,
    older: Iterable[TableMetadata] = (),
) -> str | None:
    """Say how the branch no longer leads back to the ledger's anchor, and what to do; None when it does.

    Walked are only retained snapshots. When the anchor has expired (floe's own expiry keeps it), or what leads to it while a
    tag keeps it, ``older`` metadata must show that what is left descends from it: a branch that was rolled back before looks
    the same.
    """
    anchor = ledger.anchor
    if anchor is None:
        return None
    oldest: Snapshot | None = None
    for snapshot in branch_history(metadata, branch):
        if snapshot.snapshot_id == anchor.snapshot_id:
            return None
        if snapshot_property(snapshot, GROUP) == group_id:
            return (
                f"table {table!r} was rolled back: the newest snapshot of {group_id!r} on branch {branch!r} is "
                f"{snapshot.snapshot_id}, but its ledger speaks of {anchor.snapshot_id}. {_ways_out(table, anchor)}"
            )
        oldest = snapshot
    if oldest is not None and oldest.parent_snapshot_id == anchor.snapshot_id:
        return None
    if (
        oldest is None
        or oldest.parent_snapshot_id is None
        or not _may_have_expired(metadata, anchor, oldest)
        or not any(_descends(one, branch, oldest, anchor) for one in older)
    ):
        return (
            f"table {table!r} was rolled back or replaced, or its branch {branch!r} emptied: snapshot "
            f"{anchor.snapshot_id}, which its ledger speaks of, is no ancestor of its head "
            f"({metadata.refs[branch].snapshot_id if branch in metadata.refs else None}). {_ways_out(table, anchor)}"
        )
    what = "snapshot" if metadata.snapshot_by_id(anchor.snapshot_id) is None else "what led to snapshot"
    log.warning("table %s: %s %s of the ledger has expired; going on", table, what, anchor.snapshot_id)
    return None


def _ways_out(table: str, anchor: Anchor) -> str:
    return (
        f"Set the branch to {anchor.snapshot_id} again; or trigger the DAG with "
        f'rolled_back={{"{table}": "replay"}} to have the lost rows read again, or with "accept" to leave them out. '
        "Nothing is written meanwhile."
    )


def _may_have_expired(metadata: TableMetadata, anchor: Anchor, oldest: Snapshot) -> bool:
    """Say whether expiry can be why the branch does not lead to the anchor, which is older than all that is left of it.

    Where the anchor itself is still there, and floe's links were changed by hand, they may be why.
    """
    is_gone = metadata.snapshot_by_id(anchor.snapshot_id) is None
    has_lost_links = LINKS in metadata.properties and not links_of(metadata)
    return anchor.sequence_number <= (oldest.sequence_number or 0) and (is_gone or not has_lost_links)


def _descends(older: TableMetadata, branch: str, snapshot: Snapshot, anchor: Anchor) -> bool:
    """Say whether a snapshot came after the anchor on a branch, as it was then."""
    is_after = False
    for one in branch_history(older, branch):
        if is_after and one.snapshot_id == anchor.snapshot_id:
            return True
        is_after = is_after or one.snapshot_id == snapshot.snapshot_id
        if is_after and one.parent_snapshot_id == anchor.snapshot_id:
            return True
    return False


def refuse_lost_ledger(table: str, metadata: TableMetadata, branch: str, group_id: str) -> None:
    """Raise TableRefused when the branch has snapshots of this group but the table has no ledger of it."""
    for snapshot in branch_history(metadata, branch):
        if snapshot_property(snapshot, GROUP) == group_id:
            msg = (
                f"table {table!r} has snapshot {snapshot.snapshot_id} of {group_id!r} but its property "
                f"'floe.ledger.{group_id}.{branch}' was removed. Set it back from the table's "
                "metadata log; nothing is written meanwhile."
            )
            raise TableRefused(msg, code="FLOE-410")
