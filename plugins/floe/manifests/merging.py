"""Merging small manifests into larger ones, as Iceberg's Java library does in each append."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self

from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.utils.bin_packing import ListPacker
from pyiceberg.utils.properties import property_as_bool, property_as_int

from floe.manifests.manifest import entry_of, existing

Write = Callable[[int, Sequence[ManifestEntry]], ManifestFile]
"""Writes a manifest of a spec's id and entries."""

Read = Callable[[ManifestFile], Sequence[ManifestEntry]]
"""Reads a manifest's entries, those of deleted files too."""


@dataclass(frozen=True)
class Merging:
    """When to merge: manifests up to ``target_bytes`` together; those of the newest snapshot from ``fewest`` on."""

    is_enabled: bool
    target_bytes: int
    fewest: int

    @classmethod
    def of(cls, metadata: TableMetadata) -> Self:
        """Return what a table's properties say."""
        of, properties = TableProperties, metadata.properties
        return cls(
            property_as_bool(properties, of.MANIFEST_MERGE_ENABLED, of.MANIFEST_MERGE_ENABLED_DEFAULT),
            _number(properties, of.MANIFEST_TARGET_SIZE_BYTES, of.MANIFEST_TARGET_SIZE_BYTES_DEFAULT),
            _number(properties, of.MANIFEST_MIN_MERGE_COUNT, of.MANIFEST_MIN_MERGE_COUNT_DEFAULT),
        )

    def merged(
        self, manifests: Sequence[ManifestFile], snapshot_id: int, read: Read, write: Write
    ) -> Sequence[ManifestFile]:
        """Return the manifests of a snapshot, the newest first, small ones of one spec merged."""
        if not self.is_enabled or not manifests:
            return manifests
        packer: ListPacker[ManifestFile] = ListPacker(self.target_bytes, lookback=1, largest_bin_first=False)
        found: list[ManifestFile] = []
        by_spec = sorted(manifests, key=_spec_id, reverse=True)
        for spec_id, group in groupby(by_spec, _spec_id):
            for bin_ in packer.pack_end(list(group), lambda one: one.manifest_length):
                is_newest = manifests[0] in bin_
                if len(bin_) == 1 or (is_newest and len(bin_) < self.fewest):
                    found += bin_
                else:
                    entries = [entry for one in bin_ for entry in _kept(read(one), snapshot_id)]
                    found.append(write(spec_id, entries))
        return found


def _number(properties: dict[str, str], name: str, default: int) -> int:
    found = property_as_int(properties, name, default)
    return default if found is None else found


def _spec_id(manifest: ManifestFile) -> int:
    return manifest.partition_spec_id


def _kept(entries: Sequence[ManifestEntry], snapshot_id: int) -> list[ManifestEntry]:
    """Return entries as they are in the merged manifest: what this snapshot did stays, what others deleted goes."""
    kept = []
    for entry in entries:
        if entry.snapshot_id == snapshot_id and entry.status == ManifestEntryStatus.ADDED:
            kept.append(entry_of(ManifestEntryStatus.ADDED, snapshot_id, entry.data_file))
        elif entry.snapshot_id == snapshot_id and entry.status == ManifestEntryStatus.DELETED:
            kept.append(entry)
        elif entry.status != ManifestEntryStatus.DELETED:
            kept.append(existing(entry))
    return kept
