"""One change of one branch: files, ledger and requirements as a single catalog commit that is sent once.

PyIceberg's own commit loop is not used: it appends the same files again after a conflict, and on a lost answer it may
delete the manifests of a snapshot that was committed. Updates and requirements go to the catalog directly, and nothing
that was written is ever deleted here.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import RemovePropertiesUpdate, SetPropertiesUpdate, TableUpdate

from floe.catalogs.commit_check import SentCommit
from floe.catalogs.providers.registry import provider_of
from floe.config.secrets.mask import clip
from floe.exceptions import FloeError
from floe.model.ledger import Anchor, Ledger
from floe.model.ledger_codec import stale_properties, write_properties
from floe.tables.catalog_commit import send
from floe.tables.change import Change, SpecFile, append_files
from floe.tables.exceptions import TableRefused
from floe.tables.expiry_updates import expiring
from floe.tables.new_snapshot import NewSnapshot

COMES_AGAIN = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, NotImplementedError)
"""What values raise that cannot be read or written, Arrow's errors among them; those of stores are OSErrors."""


def append(
    table: Table,
    branch: str,
    files: Sequence[SpecFile],
    properties: Mapping[str, str],
    ledger_name: str,
    ledger: Ledger,
    *,
    keep_anchor: bool = False,
) -> int:
    """Commit files and ledger in one snapshot on ``branch`` and return its id.

    The ledger's anchor is set to that snapshot, or kept where the history is still to be decided about. Whatever is
    raised after the request was sent leaves the outcome unknown: reload the table and compare. Raises TableRefused for
    files of a spec that the table does not have.
    """
    change = append_files(table, branch, properties, files)
    return commit_snapshot(table, change, ledger_name, ledger, keep_anchor=keep_anchor)


def commit_snapshot(
    table: Table,
    change: Change,
    ledger_name: str,
    ledger: Ledger,
    *,
    keep_anchor: bool = False,
) -> int:
    """Send a snapshot, the ledger that goes with it, and what expires, in one catalog commit; return the snapshot's id.

    Raises CommitAltered if the catalog does not keep what was sent.
    """
    metadata, branch = table.metadata, change.branch
    snapshot = NewSnapshot(table, change)
    if not keep_anchor:
        ledger = ledger.anchored(Anchor(snapshot.snapshot_id, metadata.next_sequence_number()))
    properties = write_properties(ledger_name, ledger, provider_of(table).max_property_length)
    with _prepared(table):
        updates, requirements = snapshot.prepare()
        changes = expiring(table, branch, updates, ledger_name, ledger)
    extra: list[TableUpdate] = [SetPropertiesUpdate(updates={**properties, **changes.properties})]
    removals = [*stale_properties(ledger_name, metadata.properties, properties), *changes.removals]
    if removals:
        extra.append(RemovePropertiesUpdate(removals=removals))
    sent = SentCommit.of(branch, snapshot.snapshot_id, {**properties, **changes.properties}, removals, updates)
    send(table, (*requirements, *changes.requirements), (*updates, *extra, *changes.updates), sent)
    return snapshot.snapshot_id


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


def append_nothing(table: Table, branch: str = MAIN_BRANCH) -> None:
    """Add an empty snapshot, such as a new branch's first, for rows to be replaced on it."""
    snapshot = NewSnapshot(table, append_files(table, branch, {}, ()))
    updates, requirements = snapshot.prepare()
    send(table, requirements, updates, SentCommit.of(branch, snapshot.snapshot_id, {}, (), updates))
