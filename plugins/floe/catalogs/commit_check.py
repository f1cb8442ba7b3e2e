"""Whether a catalog kept a commit as it was sent: the ledger, the snapshot with its summary, the head of the branch.

A catalog that drops, cuts or ignores any of it would have rows in a table that its ledger does not know: the next run would
read them again. So every answer is compared. Where a server makes the commit, its answer may only repeat the request: then
the table is loaded a second time, unless the ledger that it had before proves that the catalog keeps ledgers of that size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from floe.catalogs.exceptions import CommitAltered
from floe.config.secrets.mask import clip, hide

_SHOWN_CHARACTERS = 60
_SHOWN_FINDINGS = 5


@dataclass(frozen=True)
class SentCommit:
    """What a commit must leave in a table. ``properties``: of ledger and history; ``removed``: those that must be gone.

    ``branch`` and ``snapshot_id``: the new head, None where no snapshot was added. ``expired``: snapshots that must be gone.
    """

    branch: str | None
    snapshot_id: int | None
    properties: Mapping[str, str] = field(repr=False)
    removed: Collection[str] = ()
    summary: Mapping[str, str] = field(default_factory=dict, repr=False)
    expired: Collection[int] = ()

    @classmethod
    def of(
        cls,
        branch: str | None,
        snapshot_id: int | None,
        properties: Mapping[str, str],
        removed: Collection[str],
        updates: Collection[TableUpdate],
        expired: Collection[int] = (),
    ) -> SentCommit:
        """Read what is sent. ``updates``: of the snapshot, which names its summary."""
        added = (update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
        summary = next((one.summary for one in added if one.snapshot_id == snapshot_id), None)
        said = {} if summary is None else summary.additional_properties
        return cls(branch, snapshot_id, properties, removed, said, expired)

    def lost_in(self, metadata: TableMetadata) -> Iterator[str]:
        """Yield what a table does not have as it was sent, in words."""
        if self.branch is not None and self.snapshot_id is not None:
            yield from self._lost_snapshot(metadata, self.branch, self.snapshot_id)
        yield from _differences("table property", self.properties, metadata.properties)
        for name in self.removed:
            if name in metadata.properties:
                yield f"table property {clip(name, _SHOWN_CHARACTERS)!r} was to be removed and is there"
        there = {snapshot.snapshot_id for snapshot in metadata.snapshots} if self.expired else frozenset[int]()
        for one in self.expired:
            if one in there:
                yield f"snapshot {one} was to expire and is there"

    def _lost_snapshot(self, metadata: TableMetadata, branch: str, snapshot_id: int) -> Iterator[str]:
        head = _head(metadata, branch)
        if head != snapshot_id:
            yield f"branch {branch!r} is at {head}, not at {snapshot_id}"
        snapshot = metadata.snapshot_by_id(snapshot_id)
        if snapshot is None:
            yield f"snapshot {snapshot_id} is not there"
        else:
            found = {} if snapshot.summary is None else snapshot.summary.additional_properties
            yield from _differences("summary property", self.summary, found)


def _differences(what: str, sent: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(sent, key=lambda one: not one.startswith("floe.")):
        value, kept = sent[name], found.get(name)
        if kept != value:
            state = "is not there" if kept is None else f"has {len(kept)} of {len(value)} characters, or other ones"
            yield f"{what} {clip(name, _SHOWN_CHARACTERS)!r} {state}"


def check_answer(table: Table, sent: SentCommit, answer: TableMetadata) -> None:
    """Raise CommitAltered unless a catalog's answer has what was sent; ``table``: as it was loaded before the commit.

    An answer may be of a moment at which another commit was made on the branch already: then nothing can be said, and
    nothing is raised.
    """
    _check(table, sent, answer, "answers that it has made the commit otherwise than it was sent")


def check_stored(table: Table, sent: SentCommit) -> None:
    """Load a table again after a commit and compare it, as :func:`check_answer` does."""
    stored = table.catalog.load_table(table.name()).metadata
    _check(table, sent, stored, "does not keep a commit as it was sent")


def is_proven(before: TableMetadata, properties: Mapping[str, str]) -> bool:
    """Say whether a table, as it was loaded before the commit, has the ledger in values of the size that is sent now.

    Sizes are compared by powers of two, so that a growing ledger is proven a dozen times in its life.
    """
    known = max((len(value) for name, value in before.properties.items() if name in properties), default=0)
    return known.bit_length() >= max(map(len, properties.values()), default=0).bit_length()


def _next_step(sent: SentCommit) -> str:
    """Say what state an altered commit leaves, and what to do."""
    if sent.snapshot_id is None:
        return (
            "No row was touched. Compare the table's snapshots and properties with those of its metadata file before, and "
            "use a catalog, or a version of it, that makes commits as they are sent"
        )
    return (
        "Rows may be in the table that its ledger does not know. No offset was committed. Roll the table back to the "
        f"snapshot before {sent.snapshot_id}, and use a catalog, or a version of it, that keeps properties and summaries "
        "whole"
    )


def _head(metadata: TableMetadata, branch: str) -> int | None:
    ref = metadata.refs.get(branch)
    return None if ref is None else ref.snapshot_id


def _check(table: Table, sent: SentCommit, found: TableMetadata, verdict: str) -> None:
    head = None if sent.branch is None else _head(found, sent.branch)
    before = None if sent.branch is None else _head(table.metadata, sent.branch)
    is_of_others = head not in (None, sent.snapshot_id, before)
    lost = [] if is_of_others else list(sent.lost_in(found))
    if not lost:
        return
    more = f" and {len(lost) - _SHOWN_FINDINGS} more" if len(lost) > _SHOWN_FINDINGS else ""
    name, kind = ".".join(table.name()), type(table.catalog).__name__
    msg = (
        f"catalog {table.catalog.name!r} ({kind}) {verdict}: of table {name!r} {'; '.join(lost[:_SHOWN_FINDINGS])}{more}. "
        f"{_next_step(sent)}"
    )
    raise CommitAltered(hide(msg))


# Requirements of a commit whose snapshot has no parent: the first of a table, or of a branch that does not start at
# main.


class NewBranch(AssertRefSnapshotId):
    """A branch must not exist, and the table must have no more snapshots than are known.

    PyIceberg's own requirement refuses every branch but main in a table without snapshots. Catalogs accept a snapshot
    without a parent under any sequence number, even a used one. So a client that checks requirements refuses new snapshots.
    """

    next_sequence_number: int = Field(exclude=True)

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        """Raise CommitFailedException if the requirement is not met."""
        if base_metadata is None or self.ref in base_metadata.refs:
            msg = f"Requirement failed: branch {self.ref} was created meanwhile, or the table is gone"
            raise CommitFailedException(msg)
        if base_metadata.next_sequence_number() != self.next_sequence_number:
            msg = f"Requirement failed: the table has other snapshots than when branch {self.ref} was begun"
            raise CommitFailedException(msg)


def with_first_snapshot(
    metadata: TableMetadata, updates: Sequence[TableUpdate], requirements: tuple[TableRequirement, ...]
) -> tuple[TableRequirement, ...]:
    """Return a commit's requirements; for a snapshot without a parent: no such branch yet, and all others unchanged.

    main is required to be absent if it does not exist: a new branch would start at it.
    """
    has_parent = any(u.snapshot.parent_snapshot_id is not None for u in updates if isinstance(u, AddSnapshotUpdate))
    branch = next((u.ref_name for u in updates if isinstance(u, SetSnapshotRefUpdate)), None)
    if has_parent or branch is None or branch in metadata.refs:
        return requirements
    others = {MAIN_BRANCH: None, **{name: ref.snapshot_id for name, ref in metadata.refs.items()}}
    others.pop(branch, None)
    return (
        NewBranch(ref=branch, next_sequence_number=metadata.next_sequence_number()),
        *(AssertRefSnapshotId.model_validate({"ref": n, "snapshot-id": at}) for n, at in others.items()),
    )
