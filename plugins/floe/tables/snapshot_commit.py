"""One change of one branch: files, ledger and requirements as a single catalog commit that is sent once.

PyIceberg's own commit loop is not used: it appends the same files again after a conflict, and on a lost answer it may
delete the manifests of a snapshot that was committed. Updates and requirements go to the catalog directly, and nothing
that was written is ever deleted here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AssertTableUUID,
    RemovePropertiesUpdate,
    SetPropertiesUpdate,
    TableRequirement,
    TableUpdate,
)

from floe.catalogs.commit_check import SentCommit, check_answer, check_stored, is_proven
from floe.catalogs.providers.catalog_providers import provider_of
from floe.config.secrets.mask import clip
from floe.exceptions import FloeError
from floe.model.ledger import Anchor, Ledger
from floe.model.ledger_codec import stale_properties, write_properties
from floe.tables.change import Change, SpecFile, append_files
from floe.tables.exceptions import TableRefused
from floe.tables.expiry import Changes, expiring, taking_out
from floe.tables.new_snapshot import NewSnapshot, PreparedUpdates

COMES_AGAIN = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, NotImplementedError)
"""What values raise that cannot be read or written, Arrow's errors among them; those of stores are OSErrors."""


class LedgerUpdate(NamedTuple):
    """The ledger that goes with a snapshot, and the name of its property.

    ``keeps_anchor``: its history is still to be decided about, so it goes on referring to the snapshot it referred to.
    """

    name: str
    ledger: Ledger
    keeps_anchor: bool = False


class Committed(NamedTuple):
    """What a commit made: the table's metadata after it, and the id of its snapshot, None where it made none."""

    metadata: TableMetadata
    snapshot_id: int | None


def append(
    table: Table,
    branch: str,
    files: Sequence[SpecFile],
    properties: Mapping[str, str],
    ledger_name: str,
    ledger: Ledger,
) -> int:
    """Commit files and ledger in one snapshot on ``branch`` and return its id; raises what :func:`commit_change` raises."""
    change = append_files(table, branch, properties, files)
    return _commit_snapshot(table, change, LedgerUpdate(ledger_name, ledger))[1]


def commit_change(table: Table, change: Change, update: LedgerUpdate | None = None) -> Committed:
    """Send a change, the ledger that goes with its snapshot, and what is due to expire then, in one catalog commit.

    The ledger's anchor is set to the snapshot, unless it keeps its own. Raises ValueError for a ledger without a snapshot,
    which no branch head would guard, and TableRefused where no commit to the table can be made: nothing was sent. Raises
    CommitFailedException after a conflict, CommitAltered if the catalog does not keep what was sent. Whatever else is
    raised after the request was sent leaves the outcome unknown: load the table and compare.
    """
    if change.operation is None:
        if update is not None:
            msg = f"a change without a snapshot takes no ledger ({update.name}). Nothing was sent"
            raise ValueError(msg)
        metadata = _send(table, ((), ()), (taking_out(table, change.expired),), expired=change.expired.snapshots)
        return Committed(metadata, None)
    return Committed(*_commit_snapshot(table, change, update))


def _commit_snapshot(table: Table, change: Change, update: LedgerUpdate | None) -> tuple[TableMetadata, int]:
    snapshot = NewSnapshot(table, change)
    if update is None:
        with _prepared(table):
            prepared = snapshot.prepare()
        return _send(table, prepared, (), change.branch, snapshot.snapshot_id), snapshot.snapshot_id
    before, name, ledger = table.metadata, update.name, update.ledger
    if not update.keeps_anchor:
        ledger = ledger.anchored(Anchor(snapshot.snapshot_id, before.next_sequence_number()))
    properties = write_properties(name, ledger, provider_of(table).max_property_length)
    with _prepared(table):
        updates, requirements = snapshot.prepare()
        expiry = expiring(table, change.branch, updates, name, ledger)
    ledger_changes = Changes(properties=properties, removals=stale_properties(name, before.properties, properties))
    changes = (ledger_changes, expiry)
    return _send(table, (updates, requirements), changes, change.branch, snapshot.snapshot_id), snapshot.snapshot_id


def _send(
    table: Table,
    prepared: PreparedUpdates,
    changes: Sequence[Changes],
    branch: str | None = None,
    snapshot_id: int | None = None,
    expired: Sequence[int] = (),
) -> TableMetadata:
    """Send what was prepared for a snapshot, none where it is empty, and what goes with it.

    ``expired``: snapshots that must be gone, or the commit was for nothing.
    """
    updates, requirements = prepared
    properties = {name: value for one in changes for name, value in one.properties.items()}
    removals = [name for one in changes for name in one.removals]
    of_properties: list[TableUpdate] = [SetPropertiesUpdate(updates=properties)] if properties else []
    if removals:
        of_properties.append(RemovePropertiesUpdate(removals=removals))
    sent = SentCommit.of(branch, snapshot_id, properties, removals, updates, expired)
    return send(
        table,
        (*requirements, *(required for one in changes for required in one.requirements)),
        (*updates, *of_properties, *(update for one in changes for update in one.updates)),
        sent,
    )


@contextmanager
def _prepared(table: Table) -> Iterator[None]:
    """Turn errors that every commit to this table would repeat into TableRefused; nothing was sent by then."""
    try:
        yield
    except FloeError:
        raise
    except (*COMES_AGAIN, FileNotFoundError) as error:
        msg = (
            f"no commit can be made to table {'.'.join(table.name())!r} as it is ({type(error).__name__}: "
            f"{clip(str(error), 300)}). Nothing was committed to it. Undo the last change of the table, or roll it back to "
            "the snapshot before"
        )
        raise TableRefused(msg, code="FLOE-412") from error


# How a table's snapshots and ledger are changed: sent once, for the table as it was loaded, and compared with the
# answer.


def send(
    table: Table, requirements: Sequence[TableRequirement], updates: Sequence[TableUpdate], sent: SentCommit
) -> TableMetadata:
    """Send updates in one catalog commit and return the table's metadata after it.

    Raises CommitFailedException after a conflict, CommitAltered if the catalog does not keep what was ``sent``, and
    whatever leaves the outcome unknown.
    """
    provider = provider_of(table)
    is_same = AssertTableUUID(uuid=table.metadata.table_uuid)
    answer = provider.commit(table, (is_same, *requirements), tuple(updates)).metadata
    check_answer(table, sent, answer)
    if provider.is_committed_by_server and not is_proven(table.metadata, sent.properties):
        check_stored(table, sent)
    provider.tidy(table, answer)
    return answer
