"""The initial ledger: what the sink announced and did not commit, and the ledger of all it wrote, in one snapshot."""

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyiceberg
from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

import floe
from floe.control.data_files import to_pyiceberg
from floe.control.exceptions import DataFileConversionError
from floe.crash_points import CrashPoint, reach
from floe.model.holding import LogId
from floe.model.ledger import Ledger
from floe.model.plan import Plan
from floe.model.route_hash import KAFKA_CONNECT_ROUTE
from floe.tables.change import SpecFile, append_files
from floe.tables.exceptions import AnnouncementVoid
from floe.tables.file_checks import check_data_files
from floe.tables.history import GROUP, NEW_OFFSETS
from floe.tables.lake import Lake
from floe.tables.retry import retry
from floe.tables.snapshot_summary import Offsets, committed_offsets, offsets_property, raised
from floe.tables.table_state import Since, branch_ledger
from floe.takeover.exceptions import TakeoverRefused
from floe.takeover.pending_files import (
    LEAVE_OUT,
    START_IT,
    PendingFile,
    PendingFiles,
    check_footers,
    files_of,
    uncommitted,
    without_metrics,
)

log = logging.getLogger(__name__)

KIND = "takeover"

SINCE_TAKEN = Since("while it was taken over", "Nothing was done to it. Take over again")


@dataclass(frozen=True)
class TableTakeover:
    """One table, taken over. ``snapshot_id`` is None when it was so already, or when it does not exist."""

    table: str
    snapshot_id: int | None
    files: int = 0
    rows: int = 0


@dataclass(frozen=True)
class InitialLedger:
    """What goes into every table.

    ``plan``: a plan without slices, for ids and identity. ``positions``: offset and metadata by partition; ``written``:
    the partitions that the sink wrote. ``groups``: those whose control offsets are raised to ``ends``, the sink's last.
    """

    plan: Plan
    branch: str
    positions: Mapping[LogId, tuple[int, str]]
    written: Collection[LogId]
    groups: Sequence[str]
    ends: Offsets

    def added_to(self, ledger: Ledger) -> Ledger:
        """Return a table's ledger as it is to be. Raises TableRefused."""
        return ledger.seeded(self.positions, self.written, KAFKA_CONNECT_ROUTE)

    def left(self, table: Table, written: Sequence[PendingFiles]) -> list[PendingFile]:
        """Return the files of events that the table does not have: by its control offsets, and by their names."""
        name = offsets_property(self.plan.control_topic, self.groups[-1])
        files = files_of(uncommitted(written, committed_offsets(table.metadata, self.branch, name).offsets))
        held = _held(table, self.branch, {f.file.file_path for f in files})
        if held:
            log.warning("table %s has %s announced file(s) already, e.g. %s", table.name(), len(held), min(held))
        return [f for f in files if f.file.file_path not in held]

    def summary(self, table: Table, files: Sequence[PendingFile]) -> dict[str, str]:
        """Return the properties of the snapshot.

        Only the sink knew which offsets its files contain: so ``floe.net`` is a digest of their names, or nothing.
        """
        names = [offsets_property(self.plan.control_topic, group) for group in self.groups]
        paths = "\n".join(sorted(f.file.file_path for f in files))
        new_offsets = {"sha256": hashlib.sha256(paths.encode()).hexdigest(), "characters": len(paths)} if files else {}
        return {
            **{n: raised(committed_offsets(table.metadata, self.branch, n).offsets, self.ends) for n in names},
            "kafka.connect.commit-id": str(self.plan.commit_id),
            "kafka.connect.task-id": f"{self.plan.connector}-0",
            "engine-name": "floe",
            "engine-version": floe.__version__,
            "iceberg-version": f"PyIceberg {pyiceberg.__version__}",
            GROUP: self.plan.group_id,
            "floe.kind": KIND,
            NEW_OFFSETS: json.dumps(new_offsets, separators=(",", ":")),
        }


def check_table(table: Table, seed: InitialLedger, written: Sequence[PendingFiles]) -> None:
    """Raise TakeoverRefused or TableRefused unless the table can be taken over with the files of these events."""
    name = ".".join(table.name())
    seed.added_to(branch_ledger(table, seed.branch, seed.plan.group_id, seed.plan.cluster_id))
    files = seed.left(table, written)
    try:
        check_data_files(table, name, [f.file for f in files])
        check_footers(table, name, [f.file for f in files])
        spec_files(table, files)
    except (AnnouncementVoid, DataFileConversionError) as error:
        msg = f"what the sink announced for table {name!r} cannot be committed: {error}. {START_IT}; or {LEAVE_OUT}."
        raise TakeoverRefused(msg, code="FLOE-706") from error


def commit_takeover(
    lake: Lake, name: str, seed: InitialLedger, written: Sequence[PendingFiles], retry_for: float
) -> TableTakeover:
    """Commit files and ledger to one table in one snapshot, once, however often this is called.

    Conflicts and unclear answers are tried again for ``retry_for`` seconds from the table's present state. Raises
    TableRefused, or TableNotCommitted at the end.
    """
    wanted = {one.payload.table_reference.table_uuid for one in written} - {None}
    uuid = {name: wanted.pop() if len(wanted) == 1 else None} if wanted else {}

    def attempt() -> TableTakeover:
        state = lake.state(name, uuid=uuid, since=SINCE_TAKEN, branch=seed.branch)
        table, after = state.table, seed.added_to(state.ledger)
        if table is None:
            return TableTakeover(name, None)
        files = seed.left(table, written)
        if after == state.ledger and not files:
            return TableTakeover(name, None)
        reach(CrashPoint.TAKEOVER_TABLE)
        change = append_files(table, seed.branch, seed.summary(table, files), spec_files(table, files))
        snapshot_id = lake.commit(table, change, after).snapshot_id
        reach(CrashPoint.TAKEOVER_TABLE_LANDED)
        return TableTakeover(name, snapshot_id, len(files), sum(f.file.record_count for f in files))

    return retry(f"table {name!r}", retry_for, attempt)


def spec_files(table: Table, files: Iterable[PendingFile]) -> list[SpecFile]:
    """Return PyIceberg's data files under their partition specs. Raises AnnouncementVoid, DataFileConversionError."""
    specs = table.metadata.specs()
    converted = []
    for file, partition_type in files:
        spec = specs.get(file.spec_id) if file.spec_id is not None else None
        if spec is None or [f.field_id for f in spec.fields] != [f.field_id for f in partition_type.fields]:
            msg = (
                f"{file.file_path!r} was written under partition spec {file.spec_id} ({[*partition_type.fields]}), which "
                "the table does not have"
            )
            raise AnnouncementVoid(msg)
        converted.append(SpecFile(spec.spec_id, to_pyiceberg(without_metrics(file), partition_type)))
    return converted


def _held(table: Table, branch: str, paths: set[str]) -> set[str]:
    """Return which of these files the branch has, whatever snapshot added them."""
    ref = table.metadata.refs.get(branch) or table.metadata.refs.get(MAIN_BRANCH)
    snapshot = table.metadata.snapshot_by_id(ref.snapshot_id) if ref is not None else None
    if snapshot is None or not paths:
        return set()
    return {
        entry.data_file.file_path
        for manifest in snapshot.manifests(table.io)
        if manifest.content == ManifestContent.DATA
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
        if entry.data_file.file_path in paths
    }
