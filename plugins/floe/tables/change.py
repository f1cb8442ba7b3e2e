"""What one commit does to a table, before anything of it is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from floe.tables.exceptions import TableRefused
from floe.tables.expiry import Expired

NOTHING = Expired()


class SpecFile(NamedTuple):
    """A data file and the partition spec that its partition values belong to."""

    spec_id: int
    file: DataFile


@dataclass(frozen=True)
class Change:
    """The data files that a snapshot adds to a branch and removes from it, or what expires without a snapshot.

    ``operation``: None where no snapshot is made. ``summary``: properties of the snapshot's summary beside the counts.
    ``expired``: of a commit without a snapshot; one with a snapshot takes out what is due then.
    """

    branch: str
    operation: Operation | None
    added: Sequence[SpecFile] = ()
    removed: Sequence[DataFile] = ()
    summary: Mapping[str, str] = field(default_factory=dict)
    expired: Expired = NOTHING


def append_files(table: Table, branch: str, summary: Mapping[str, str], files: Sequence[SpecFile]) -> Change:
    """Return the append of files. Raises TableRefused for files of a spec that the table does not have."""
    _check_known_specs(table, files)
    return Change(branch, Operation.APPEND, files, summary=summary)


def replace_files(
    table: Table, branch: str, summary: Mapping[str, str], files: Sequence[SpecFile], removed: Sequence[DataFile]
) -> Change:
    """Return the replacement of files by others on a branch that exists.

    Raises TableRefused for files of a spec that the table does not have.
    """
    _check_known_specs(table, files)
    return Change(branch, Operation.OVERWRITE, files, removed, summary)


def expire(branch: str, expired: Expired) -> Change:
    """Return the expiry of snapshots, branches and tags, which makes no snapshot."""
    return Change(branch, None, expired=expired)


def _check_known_specs(table: Table, files: Sequence[SpecFile]) -> None:
    unknown = {f.spec_id for f in files} - set(table.metadata.specs())
    if unknown:
        msg = (
            f"table {table.name()} has no partition spec {sorted(unknown)}: the table was replaced. Nothing was "
            "committed. Run again"
        )
        raise TableRefused(msg, code="FLOE-409")
