"""A snapshot on its way into a branch: its manifests, its manifest list, its summary, and what is sent to the catalog.

PyIceberg's own producers are not used: they write no deletes and nothing of format 3, and build the schemas of each
manifest again, which takes half of a commit.
"""

import uuid
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import count, groupby

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.locations import LocationProvider
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot, SnapshotSummaryCollector, Summary, update_snapshot_summaries
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from floe.catalogs.clock import dated
from floe.catalogs.commit_check import with_first_snapshot
from floe.manifests.manifest import ManifestWriter, existing
from floe.manifests.manifest_list import manifests_of, write_manifest_list
from floe.manifests.merging import Merging
from floe.manifests.partition_summaries import readable
from floe.tables.change import Change, SpecFile

PreparedUpdates = tuple[tuple[TableUpdate, ...], tuple[TableRequirement, ...]]
"""What is sent to a catalog for one snapshot."""


class NewSnapshot:
    """The snapshot of one change of a table, as the table was loaded.

    A new branch grows from main's head; where main has none, it begins with this snapshot, and main stays empty.
    """

    def __init__(self, table: Table, change: Change) -> None:
        self._table = table
        self._metadata = table.metadata
        self._change = change
        self._paths = count()
        self._commit = uuid.uuid4()
        self.snapshot_id = table.metadata.new_snapshot_id()

    def prepare(self) -> PreparedUpdates:
        """Write the manifests and their list, and return what is to be sent, as of a time after the table's last one.

        The branch keeps its own retention. Raises ValueError for a branch that is a tag, for removed files that the branch
        does not have, and for metadata that cannot be read; and what the store raises.
        """
        metadata, change = self._metadata, self._change
        ref = metadata.refs.get(change.branch)
        if ref is not None and ref.snapshot_ref_type != SnapshotRefType.BRANCH:
            msg = f"{change.branch!r} is a tag, not a branch"
            raise ValueError(msg)
        snapshot = Snapshot.model_validate(
            {
                "snapshot-id": self.snapshot_id,
                "parent-snapshot-id": None if self._parent is None else self._parent.snapshot_id,
                "manifest-list": self._location(f"snap-{self.snapshot_id}-0-{self._commit}.avro"),
                "sequence-number": metadata.next_sequence_number(),
                "summary": self._summary(),
                "schema-id": metadata.current_schema_id,
            }
        )
        manifests = readable(self._manifests(), metadata)
        files = self._table.io
        write_manifest_list(
            files, snapshot.manifest_list, metadata.format_version, snapshot, manifests, self._writer.codec
        )
        updates = (AddSnapshotUpdate(snapshot=snapshot), self._ref_update(snapshot, ref))
        requirement = AssertRefSnapshotId.model_validate(
            {"snapshot-id": None if ref is None else ref.snapshot_id, "ref": change.branch}
        )
        requirements = with_first_snapshot(metadata, updates, (requirement,))
        return dated(updates, ".".join(self._table.name()), metadata), requirements

    @cached_property
    def _parent(self) -> Snapshot | None:
        """The snapshot that this one follows."""
        refs = self._metadata.refs
        ref = refs.get(self._change.branch) or refs.get(MAIN_BRANCH)
        return None if ref is None else self._metadata.snapshot_by_id(ref.snapshot_id)

    @cached_property
    def _locations(self) -> LocationProvider:
        return self._table.location_provider()

    @cached_property
    def _writer(self) -> ManifestWriter:
        metadata = self._metadata
        codec = metadata.properties.get(
            TableProperties.WRITE_AVRO_COMPRESSION, TableProperties.WRITE_AVRO_COMPRESSION_DEFAULT
        )
        return ManifestWriter(self._table.io, metadata.format_version, metadata.schema(), self.snapshot_id, codec)

    def _manifests(self) -> Sequence[ManifestFile]:
        """Write what changes and return all manifests, the newest first."""
        added = [
            self._write(spec_id, [self._writer.added(one.file) for one in group])
            for spec_id, group in groupby(sorted(self._change.added, key=_spec_id), _spec_id)
        ]
        before = [] if self._parent is None else manifests_of(self._table.io, self._parent)
        if self._change.removed:
            return [*added, *self._without_removed(before)]
        data = [*added, *(one for one in before if one.content == ManifestContent.DATA and _has_live(one))]
        deletes = [one for one in before if one.content == ManifestContent.DELETES and _has_live(one)]
        merged = Merging.of(self._metadata).merged(data, self.snapshot_id, self._entries, self._write)
        return [*merged, *deletes]

    def _without_removed(self, before: Sequence[ManifestFile]) -> list[ManifestFile]:
        """Rewrite the manifests of removed files, and write a manifest per spec that says which were removed."""
        paths = {file.file_path for file in self._change.removed}
        kept: list[ManifestFile] = []
        gone: dict[int, list[ManifestEntry]] = {}
        for manifest in before:
            entries = self._live(manifest) if manifest.content == ManifestContent.DATA else []
            going = [entry for entry in entries if entry.data_file.file_path in paths]
            if not going:
                kept.append(manifest)
                continue
            spec_id = manifest.partition_spec_id
            gone.setdefault(spec_id, []).extend(self._writer.deleted(entry) for entry in going)
            if staying := [existing(entry) for entry in entries if entry.data_file.file_path not in paths]:
                kept.append(self._write(spec_id, staying))
        self._check_all_found(paths, [entry.data_file for entries in gone.values() for entry in entries])
        return [*(self._write(spec_id, entries) for spec_id, entries in gone.items()), *kept]

    def _check_all_found(self, paths: Collection[str], found: Sequence[DataFile]) -> None:
        if missing := sorted(set(paths) - {file.file_path for file in found}):
            msg = f"the branch {self._change.branch!r} does not have the files that are to be removed: {', '.join(missing)}"
            raise ValueError(msg)

    def _live(self, manifest: ManifestFile) -> list[ManifestEntry]:
        return manifest.fetch_manifest_entry(self._table.io)

    def _entries(self, manifest: ManifestFile) -> list[ManifestEntry]:
        return manifest.fetch_manifest_entry(self._table.io, discard_deleted=False)

    def _write(self, spec_id: int, entries: Sequence[ManifestEntry]) -> ManifestFile:
        path = self._location(f"{self._commit}-m{next(self._paths)}.avro")
        return self._writer.write(path, self._metadata.specs()[spec_id], entries)

    def _location(self, name: str) -> str:
        return self._locations.new_metadata_location(name)

    def _summary(self) -> Summary:
        """Count files, each by its own partition spec, and add the totals of the parent's summary."""
        metadata, schema = self._metadata, self._metadata.schema()
        limit = int(metadata.properties.get(TableProperties.WRITE_PARTITION_SUMMARY_LIMIT, "0"))
        collector = SnapshotSummaryCollector(partition_summary_limit=limit)
        specs = metadata.specs()
        for spec_id, file in self._change.added:
            collector.add_file(file, schema=schema, partition_spec=specs[spec_id])
        for file in self._change.removed:
            collector.remove_file(file, schema=schema, partition_spec=specs[file.spec_id])
        return update_snapshot_summaries(
            summary=Summary(operation=self._change.operation, **collector.build(), **self._change.summary),
            previous_summary=None if self._parent is None else self._parent.summary,
        )

    def _ref_update(self, snapshot: Snapshot, ref: SnapshotRef | None) -> SetSnapshotRefUpdate:
        """Return what moves the branch, with its own retention: without, the catalog would take that away."""
        update = SetSnapshotRefUpdate.model_validate(
            {"ref-name": self._change.branch, "type": SnapshotRefType.BRANCH, "snapshot-id": snapshot.snapshot_id}
        )
        retention = {} if ref is None else {name: getattr(ref, name) for name in _RETENTION}
        return update.model_copy(update=retention)


_RETENTION = ("max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep")


def _spec_id(spec_file: SpecFile) -> int:
    return spec_file.spec_id


def _has_live(manifest: ManifestFile) -> bool:
    """Return whether a manifest has files that are not deleted."""
    return manifest.has_added_files() or manifest.has_existing_files()
