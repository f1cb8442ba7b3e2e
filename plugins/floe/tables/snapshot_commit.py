"""One append to one branch: files, ledger and requirements as a single catalog commit that is sent once.

PyIceberg's own commit loop is not used: it appends the same files again after a conflict, and on a lost answer it may
delete the manifests of a snapshot that was committed. Updates and requirements go to the catalog directly, and nothing
that was written is ever deleted here. (Private names of PyIceberg are leaned on; ``tests/unit/tables`` guards each.)
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from pyiceberg.manifest import DataFile, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef
from pyiceberg.table.snapshots import Operation, SnapshotSummaryCollector, Summary, update_snapshot_summaries
from pyiceberg.table.update import (
    AssertTableUUID,
    RemovePropertiesUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.typedef import EMPTY_DICT

from floe.catalogs.clock import dated
from floe.catalogs.commit_check import SentCommit, check_answer, check_stored, is_proven
from floe.catalogs.first_snapshot import with_first_snapshot
from floe.catalogs.providers.registry import provider_of
from floe.catalogs.pyiceberg_internals import (
    MergeAppendFiles,
    SnapshotProducer,
    metadata_of,
    prepared_updates,
    table_of,
)
from floe.config.secrets.mask import clip
from floe.exceptions import FloeError
from floe.model.ledger import Anchor, Ledger
from floe.model.ledger_codec import stale_properties, write_properties
from floe.parquet.partition_summaries import readable
from floe.tables.exceptions import TableRefused
from floe.tables.expiry_updates import expiring

COMES_AGAIN = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, NotImplementedError)
"""What values raise that cannot be read or written, Arrow's errors among them; those of stores are OSErrors."""


class SpecFile(NamedTuple):
    """A data file and the partition spec that its partition values belong to."""

    spec_id: int
    file: DataFile


PreparedUpdates = tuple[tuple[TableUpdate, ...], tuple[TableRequirement, ...]]
"""What is sent to a catalog for one snapshot."""


class SnapshotChange(Protocol):
    """One snapshot on its way into a branch: what a write mode makes, and what is sent with the ledger in one commit."""

    @property
    def snapshot_id(self) -> int: ...

    def prepare(self) -> PreparedUpdates:
        """Write the snapshot's manifests and return what is to be sent."""
        ...


class Unchanged(Transaction):
    """What PyIceberg's producers ask about a table whose present metadata they take: of PyIceberg's own, each of their
    twenty questions copies the metadata with all snapshots.
    """

    @property
    def table_metadata(self) -> TableMetadata:
        return self._table.metadata


class _Append(MergeAppendFiles):
    """PyIceberg's merge append, with one manifest per partition spec.

    A new branch grows from main's head; where main has none, it begins with this snapshot, and main stays empty.
    """

    def __init__(self, table: Table, branch: str, properties: Mapping[str, str], files: Sequence[SpecFile]) -> None:
        super().__init__(
            operation=Operation.APPEND,
            transaction=Unchanged(table),
            io=table.io,
            branch=branch,
            snapshot_properties=dict(properties),
        )
        self._files = sorted(files, key=lambda f: f.spec_id)
        for spec_file in self._files:
            self.append_data_file(spec_file.file)
        if branch not in table.metadata.refs:
            main = table.metadata.refs.get(MAIN_BRANCH)
            self._parent_snapshot_id = main.snapshot_id if main else None

    def _manifests(self) -> list[ManifestFile]:
        manifests = self._process_manifests(added_manifests(self, self._files) + self._existing_manifests())
        return readable(manifests, self._transaction.table_metadata)

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        metadata = self._transaction.table_metadata
        parent = self._parent_snapshot_id
        previous = metadata.snapshot_by_id(parent) if parent is not None else None
        return update_snapshot_summaries(
            summary=Summary(operation=self._operation, **counted(self, self._files).build(), **snapshot_properties),
            previous_summary=previous.summary if previous is not None else None,
        )

    def prepare(self) -> PreparedUpdates:
        return prepare_updates(self)


def counted(producer: SnapshotProducer[Any], files: Sequence[SpecFile]) -> SnapshotSummaryCollector:
    """Count files that are added, each by its own partition spec."""
    properties = metadata_of(producer).properties
    limit = int(properties.get(TableProperties.WRITE_PARTITION_SUMMARY_LIMIT, "0"))
    collector = SnapshotSummaryCollector(partition_summary_limit=limit)
    for spec_id, file in files:
        collector.add_file(file, schema=producer.schema(), partition_spec=producer.spec(spec_id))
    return collector


def added_manifests(producer: SnapshotProducer[Any], files: Sequence[SpecFile]) -> list[ManifestFile]:
    """Write a manifest per partition spec; PyIceberg takes all files for those of the table's present one."""
    manifests = []
    for spec_id, group in groupby(sorted(files, key=_spec_id), _spec_id):
        with producer.new_manifest_writer(producer.spec(spec_id)) as writer:
            for spec_file in group:
                writer.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED,
                        snapshot_id=producer.snapshot_id,
                        sequence_number=None,
                        file_sequence_number=None,
                        data_file=spec_file.file,
                    )
                )
        manifests.append(writer.to_manifest_file())
    return manifests


def _spec_id(spec_file: SpecFile) -> int:
    return spec_file.spec_id


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
    return commit_snapshot(table, branch, change, ledger_name, ledger, keep_anchor=keep_anchor)


def append_files(table: Table, branch: str, properties: Mapping[str, str], files: Sequence[SpecFile]) -> SnapshotChange:
    """Return the append of files. Raises TableRefused for files of a spec that the table does not have."""
    check_known_specs(table, files)
    return _Append(table, branch, properties, files)


def check_known_specs(table: Table, files: Sequence[SpecFile]) -> None:
    """Raise TableRefused for files of a partition spec that the table does not have."""
    unknown = {f.spec_id for f in files} - set(table.metadata.specs())
    if unknown:
        msg = (
            f"table {table.name()} has no partition spec {sorted(unknown)}: the table was replaced. Nothing was "
            "committed. Run again"
        )
        raise TableRefused(msg, code="FLOE-409")


def commit_snapshot(
    table: Table,
    branch: str,
    change: SnapshotChange,
    ledger_name: str,
    ledger: Ledger,
    *,
    keep_anchor: bool = False,
) -> int:
    """Send a snapshot, the ledger that goes with it, and what expires, in one catalog commit; return the snapshot's id.

    Raises CommitAltered if the catalog does not keep what was sent.
    """
    metadata = table.metadata
    if not keep_anchor:
        ledger = ledger.anchored(Anchor(change.snapshot_id, metadata.next_sequence_number()))
    provider = provider_of(table)
    properties = write_properties(ledger_name, ledger, provider.max_property_length)
    with _prepared(table):
        updates, requirements = change.prepare()
        changes = expiring(table, branch, updates, ledger_name, ledger)
    extra: list[TableUpdate] = [SetPropertiesUpdate(updates={**properties, **changes.properties})]
    removals = [*stale_properties(ledger_name, metadata.properties, properties), *changes.removals]
    if removals:
        extra.append(RemovePropertiesUpdate(removals=removals))
    response = provider.commit(
        table,
        (AssertTableUUID(uuid=metadata.table_uuid), *requirements, *changes.requirements),
        (*updates, *extra, *changes.updates),
    )
    sent = SentCommit.of(branch, change.snapshot_id, {**properties, **changes.properties}, removals, updates)
    check_answer(table, sent, response.metadata)
    if provider.is_committed_by_server and not is_proven(metadata, properties):
        check_stored(table, sent)
    provider.tidy(table, response.metadata)
    return change.snapshot_id


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


def prepare_updates(producer: SnapshotProducer[Any]) -> PreparedUpdates:
    """Write a snapshot's manifests and return what is to be sent, as of a time after the table's last one.

    The branch keeps its own retention: PyIceberg moves it without, and so takes it away.
    """
    updates, requirements = prepared_updates(producer)
    metadata = metadata_of(producer)
    kept = [_keeping_retention(metadata.refs, update) for update in updates]
    requirements = with_first_snapshot(metadata, updates, requirements)
    return dated(kept, ".".join(table_of(producer).name()), metadata), requirements


def _keeping_retention(refs: Mapping[str, SnapshotRef], update: TableUpdate) -> TableUpdate:
    ref = refs.get(update.ref_name) if isinstance(update, SetSnapshotRefUpdate) else None
    if ref is None:
        return update
    own = ("max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep")
    return update.model_copy(update={name: getattr(ref, name) for name in own})


def append_nothing(table: Table, branch: str = MAIN_BRANCH) -> None:
    """Add an empty snapshot, such as a new branch's first, for rows to be replaced on it."""
    updates, requirements = _Append(table, branch, {}, ()).prepare()
    provider_of(table).commit(table, (AssertTableUUID(uuid=table.metadata.table_uuid), *requirements), updates)
