"""What a commit requires whose snapshot has no parent: the first of a table, or of a branch that does not grow from main."""

from collections.abc import Sequence

from pydantic import Field
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)


class NewBranch(AssertRefSnapshotId):
    """A branch must not exist, in a table that has no more snapshots than are known.

    PyIceberg's own refuses every branch but main of a table without snapshots. Catalogs take a snapshot without a parent
    under any sequence number, even one that is given away: so where the client checks requirements, none may have come.
    """

    next_sequence_number: int = Field(exclude=True)

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        """Raise CommitFailedException where the requirement is not met."""
        if base_metadata is None or self.ref in base_metadata.refs:
            msg = f"Requirement failed: branch {self.ref} was created meanwhile, or the table is gone"
            raise CommitFailedException(msg)
        if base_metadata.next_sequence_number() != self.next_sequence_number:
            msg = f"Requirement failed: the table has other snapshots than when branch {self.ref} was begun"
            raise CommitFailedException(msg)


def with_first_snapshot(
    metadata: TableMetadata, updates: Sequence[TableUpdate], requirements: tuple[TableRequirement, ...]
) -> tuple[TableRequirement, ...]:
    """Return a commit's requirements; of a snapshot without a parent: no such branch yet, and all others as they are known.

    Main is one of them where there is none: a new branch would grow from it.
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
