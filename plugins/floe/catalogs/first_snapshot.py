"""Requirements of a commit whose snapshot has no parent: the first of a table, or of a branch that does not start at main."""

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
