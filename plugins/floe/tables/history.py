"""The history of a table's branches, and whether it still leads back to a ledger's anchor."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from floe.catalogs.metadata_files import read_metadata
from floe.catalogs.providers.catalog_providers import provider_of
from floe.config.secrets.mask import clip
from floe.model.ledger import Anchor, Ledger
from floe.tables.exceptions import TableRefused

log = logging.getLogger(__name__)

GROUP = "floe.group"
SLICE = "floe.slice"
NEW_OFFSETS = "floe.net"
REPLACED = "floe.replaced"
RECOVERED = "floe.revived"
ROUTE = "floe.route"
BRANCH = "floe.branch"
CODE = "floe.code"

LINKS = "floe.history"
"""Table property: from snapshots whose parents floe expired, to the next ancestors that are left."""


def snapshot_property(snapshot: Snapshot, name: str) -> str | None:
    """Read one property of a snapshot's summary."""
    # not by its truth, which is the number of its properties
    return None if snapshot.summary is None else snapshot.summary.additional_properties.get(name)


@dataclass(frozen=True)
class SnapshotGraph:
    """The retained snapshots of a table: which is an ancestor of which, over the gaps that floe's expiry left.

    ``snapshots``: by id. ``links``: over a gap, from each snapshot that is left to its next ancestor. ``heads``: where
    branches and tags are, by name.
    """

    snapshots: Mapping[int, Snapshot]
    links: Mapping[int, int]
    heads: Mapping[str, int]

    @classmethod
    def of(cls, metadata: TableMetadata) -> SnapshotGraph:
        """Read the graph of a table. Links that were changed manually are ignored, and walks end at the gaps."""
        return cls(
            snapshots={s.snapshot_id: s for s in metadata.snapshots},
            links=read_links(metadata),
            heads={name: ref.snapshot_id for name, ref in metadata.refs.items()},
        )

    def committed(self, branch: str, snapshot: Snapshot) -> SnapshotGraph:
        """Return the graph as it is once a snapshot is the head of a branch."""
        return replace(
            self,
            snapshots={**self.snapshots, snapshot.snapshot_id: snapshot},
            heads={**self.heads, branch: snapshot.snapshot_id},
        )

    def parent(self, snapshot_id: int) -> int | None:
        """Return the next retained ancestor of a snapshot; None where its history ends."""
        parent = self.snapshots[snapshot_id].parent_snapshot_id
        if parent is not None and parent in self.snapshots:
            return parent
        linked = self.links.get(snapshot_id)
        return linked if linked is not None and linked in self.snapshots else None

    def line(self, snapshot_id: int) -> Iterator[Snapshot]:
        """Yield a snapshot and its ancestors, as far as they are retained; nothing for one that is not there."""
        seen: set[int] = set()
        at = snapshot_id if snapshot_id in self.snapshots else None
        while at is not None and at not in seen:
            yield self.snapshots[at]
            seen.add(at)
            at = self.parent(at)

    def branch(self, name: str) -> Iterator[Snapshot]:
        """Yield a branch's snapshots from its head backwards; nothing for a branch that does not exist."""
        head = self.heads.get(name)
        return iter(()) if head is None else self.line(head)

    def line_down_to(self, snapshot_id: int, ends: Container[int]) -> Iterator[Snapshot]:
        """Yield a snapshot and its ancestors, the first of ``ends`` being the last of them."""
        for snapshot in self.line(snapshot_id):
            yield snapshot
            if snapshot.snapshot_id in ends:
                return

    def links_over(self, gone: Collection[int], ends: Collection[int]) -> dict[int, int]:
        """Return the links that are needed once ``gone`` are: from each child of a gap to its next ancestor of ``ends``."""
        found: dict[int, int] = {}
        behind: dict[int, int | None] = {}  # where walks came out that passed a snapshot before
        for child in self.snapshots.keys() - gone:
            at = self.parent(child)
            if at is None or (at not in gone and at == self.snapshots[child].parent_snapshot_id):
                continue
            passed: dict[int, None] = {}
            while at is not None and at not in ends and at not in behind and at not in passed:
                passed[at] = None
                at = self.parent(at)
            end = at if at in ends else behind.get(at) if at is not None else None
            behind.update(dict.fromkeys(passed, end))
            if end is not None:
                found[child] = end
        return found


def is_before(snapshot: Snapshot, sequence_number: int | None) -> bool:
    """Return whether a snapshot was made up to a sequence number, or may have been: in tables of format 1 all have 0."""
    return (snapshot.sequence_number or 0) <= (sequence_number or 0)


def branch_history(metadata: TableMetadata, branch: str) -> Iterator[Snapshot]:
    """Yield the snapshots of one branch of a table from its head backwards, as far as they are retained."""
    return SnapshotGraph.of(metadata).branch(branch) if branch in metadata.refs else iter(())


def read_links(metadata: TableMetadata) -> dict[int, int]:
    """Read the links of a table; none of a property that was changed manually, which is logged."""
    try:
        return {
            int(child): int(ancestor) for child, ancestor in json.loads(metadata.properties.get(LINKS, "{}")).items()
        }
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        log.warning("table property %r cannot be read: %r", LINKS, clip(metadata.properties[LINKS], 200))
        return {}


def write_links(links: Mapping[int, int]) -> str:
    """Write links as the property has them; nothing for none."""
    texts = {str(child): str(ancestor) for child, ancestor in sorted(links.items())}
    return json.dumps(texts, separators=(",", ":")) if links else ""


def find_slice(metadata: TableMetadata, branch: str, slice_id: str) -> Snapshot | None:
    """Return the snapshot of the branch that committed a slice."""
    return next((s for s in branch_history(metadata, branch) if snapshot_property(s, SLICE) == slice_id), None)


class HistoryState(Enum):
    """What became of the history that a ledger refers to."""

    INTACT = "intact"
    EXPIRED = "expired"
    """The anchor, or what led to it, has expired, and older metadata shows that the branch descends from it."""
    UNSEEN = "unseen"
    """The catalog shows only the newest snapshot, which another process made after the anchor."""
    ROLLED_BACK = "rolled back"
    """The branch leads to an older snapshot of the same connector."""
    CUT_OFF = "cut off"
    """The branch leads to no snapshot of the connector: rolled back, replaced, or emptied."""


@dataclass(frozen=True)
class HistoryCheck:
    """Whether a branch leads back to a ledger's ``anchor``, the snapshot that the ledger refers to.

    ``found``: the snapshot that the branch leads to instead, None where it has none.
    """

    finding: HistoryState
    anchor: Anchor | None = None
    found: int | None = None

    @property
    def leads_back(self) -> bool:
        """Whether the ledger refers to what the branch contains."""
        return self.finding in (HistoryState.INTACT, HistoryState.EXPIRED, HistoryState.UNSEEN)

    def problem(self, table: str, branch: str, group_id: str) -> str:
        """Describe how the branch does not lead back, and what to do."""
        anchor = None if self.anchor is None else self.anchor.snapshot_id
        remedy = (
            f'Set the branch to {anchor} again; or trigger the DAG with rolled_back={{"{table}": "replay"}} to have the '
            'lost rows read again, or with "accept" to leave them out. Nothing was written.'
        )
        if self.finding is HistoryState.ROLLED_BACK:
            return (
                f"table {table!r} was rolled back: the newest snapshot of {group_id!r} on branch {branch!r} is "
                f"{self.found}, but its ledger refers to {anchor}. {remedy}"
            )
        return (
            f"table {table!r} was rolled back or replaced, or its branch {branch!r} emptied: snapshot {anchor}, which its "
            f"ledger refers to, is no ancestor of its head ({self.found}). {remedy}"
        )


def check_unchanged_history(table: Table, branch: str, group_id: str, ledger: Ledger) -> None:
    """Raise TableRefused when the branch no longer leads back to the ledger's anchor."""
    check = check_table_history(table, branch, group_id, ledger)
    name = ".".join(table.name())
    if not check.leads_back:
        raise TableRefused(check.problem(name, branch, group_id), code="FLOE-408")
    if check.finding is HistoryState.EXPIRED and check.anchor is not None:
        anchor = check.anchor.snapshot_id
        what = "snapshot" if table.metadata.snapshot_by_id(anchor) is None else "the history before snapshot"
        log.warning("table %s: %s %s, which the ledger refers to, has expired. That is no error", name, what, anchor)


def check_table_history(table: Table, branch: str, group_id: str, ledger: Ledger) -> HistoryCheck:
    """Compare a branch of a table with its ledger's anchor, see :func:`check_history`.

    In a catalog that shows only the newest snapshot, the ancestors of one that another process made cannot be compared. Its
    sequence number must be above the anchor's: one that was rolled back to has a lower one.
    """
    check = check_history(table.metadata, branch, group_id, ledger, older_metadata(table))
    if check.finding is not HistoryState.CUT_OFF or check.anchor is None or check.found is None:
        return check
    found = table.metadata.snapshot_by_id(check.found)
    is_later = found is not None and (found.sequence_number or 0) > check.anchor.sequence_number
    return (
        HistoryCheck(HistoryState.UNSEEN, check.anchor) if is_later and not provider_of(table).keeps_history else check
    )


def older_metadata(table: Table) -> Iterator[TableMetadata]:
    """Yield the table's older metadata, the newest first, as far as its files are there."""
    for entry in reversed(table.metadata.metadata_log):
        try:
            yield read_metadata(table.io.new_input(entry.metadata_file))
        except FileNotFoundError:
            return


def check_history(
    metadata: TableMetadata, branch: str, group_id: str, ledger: Ledger, older: Iterable[TableMetadata] = ()
) -> HistoryCheck:
    """Compare a branch with its ledger's anchor.

    Only retained snapshots are walked. Where the anchor has expired (floe's own expiry keeps it), or what led to it while a
    tag keeps it, ``older`` metadata must show that what is left descends from it. A branch that was rolled back before looks
    the same.
    """
    anchor = ledger.anchor
    if anchor is None:
        return HistoryCheck(HistoryState.INTACT)
    oldest: Snapshot | None = None
    for snapshot in branch_history(metadata, branch):
        if snapshot.snapshot_id == anchor.snapshot_id:
            return HistoryCheck(HistoryState.INTACT, anchor)
        if snapshot_property(snapshot, GROUP) == group_id:
            return HistoryCheck(HistoryState.ROLLED_BACK, anchor, snapshot.snapshot_id)
        oldest = snapshot
    if oldest is not None and oldest.parent_snapshot_id == anchor.snapshot_id:
        return HistoryCheck(HistoryState.INTACT, anchor)
    if (
        oldest is None
        or oldest.parent_snapshot_id is None
        or not _may_have_expired(metadata, anchor, oldest)
        or not any(_descends(one, branch, oldest, anchor) for one in older)
    ):
        head = metadata.refs[branch].snapshot_id if branch in metadata.refs else None
        return HistoryCheck(HistoryState.CUT_OFF, anchor, head)
    return HistoryCheck(HistoryState.EXPIRED, anchor)


def _may_have_expired(metadata: TableMetadata, anchor: Anchor, oldest: Snapshot) -> bool:
    """Return whether expiry can be why the branch does not lead to the anchor, which is older than all that is left of it.

    Where the anchor itself is still there and floe's links were changed manually, those may be why.
    """
    is_gone = metadata.snapshot_by_id(anchor.snapshot_id) is None
    has_lost_links = LINKS in metadata.properties and not read_links(metadata)
    return anchor.sequence_number <= (oldest.sequence_number or 0) and (is_gone or not has_lost_links)


def _descends(older: TableMetadata, branch: str, snapshot: Snapshot, anchor: Anchor) -> bool:
    """Return whether a snapshot came after the anchor on a branch, as it was then."""
    is_after = False
    for one in branch_history(older, branch):
        if is_after and one.snapshot_id == anchor.snapshot_id:
            return True
        is_after = is_after or one.snapshot_id == snapshot.snapshot_id
        if is_after and one.parent_snapshot_id == anchor.snapshot_id:
            return True
    return False


def check_ledger_present(table: str, metadata: TableMetadata, branch: str, group_id: str) -> None:
    """Raise TableRefused when the branch has snapshots of this group but the table has no ledger of it."""
    for snapshot in branch_history(metadata, branch):
        if snapshot_property(snapshot, GROUP) == group_id:
            of_branch = snapshot_property(snapshot, BRANCH)
            if of_branch and of_branch != branch:
                msg = (
                    f"branch {branch!r} of table {table!r} has snapshot {snapshot.snapshot_id}, which {group_id!r} "
                    f"committed to branch {of_branch!r}: {branch!r} was made of it, or set to it, by others, and floe has "
                    f"no ledger of {branch!r}. Nothing was written. Commit to {of_branch!r}, or see docs/how-to/branches.md "
                    f"for how to go on in {branch!r}."
                )
                raise TableRefused(msg, code="FLOE-410")
            msg = (
                f"table {table!r} has snapshot {snapshot.snapshot_id} of {group_id!r} but its property "
                f"'floe.ledger.{group_id}.{branch}' was removed. Nothing was written. Set the property again, to its value "
                "in the table's metadata log."
            )
            raise TableRefused(msg, code="FLOE-410")
