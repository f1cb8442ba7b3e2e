"""Manifests: the files of one partition spec, each with what became of it in a snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DEFAULT_BLOCK_SIZE,
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    PartitionFieldSummary,
    construct_partition_summaries,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

from floe.manifests.avro_file import write_records
from floe.manifests.avro_schemas import EntrySchema, entry_schema

UNASSIGNED: Final = -1
"""A sequence number that is the snapshot's: it is known when the manifest list is written."""

_MAPS: Final = (
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
)
_LISTS: Final = ("split_offsets", "equality_ids")
_PLAIN: Final = ("file_path", "record_count", "file_size_in_bytes", "key_metadata", "sort_order_id")


@dataclass(frozen=True)
class ManifestWriter:
    """Writes the manifests of one snapshot. ``version``: the table's format version; ``codec``: the name that Iceberg has."""

    files: FileIO
    version: int
    schema: Schema
    snapshot_id: int
    codec: str

    def write(self, path: str, spec: PartitionSpec, entries: Sequence[ManifestEntry]) -> ManifestFile:
        """Write a manifest of data files and return what a manifest list says of it.

        Raises ValueError for an entry that inherits a sequence number though it is not new, and for a format version that
        is not written; what fastavro raises for values that do not fit; and what the store raises.
        """
        partition = spec.partition_type(self.schema)
        schema = entry_schema(self.version, partition)
        metadata = {
            "schema": self.schema.model_dump_json(),
            "partition-spec": f"[{','.join(one.model_dump_json() for one in spec.fields)}]",
            "partition-spec-id": str(spec.spec_id),
            "format-version": str(self.version),
            **({"content": "data"} if self.version > 1 else {}),
        }
        records = [_record(self._checked(entry), schema) for entry in entries]
        length = write_records(self.files, path, schema.avro, records, metadata, self.codec)
        files, rows = _counts(entries)
        live = (one.sequence_number for one in entries if one.status != ManifestEntryStatus.DELETED)
        return ManifestFile.from_args(
            manifest_path=path,
            manifest_length=length,
            partition_spec_id=spec.spec_id,
            content=ManifestContent.DATA,
            sequence_number=UNASSIGNED,
            min_sequence_number=min((number for number in live if number is not None), default=UNASSIGNED),
            added_snapshot_id=self.snapshot_id,
            added_files_count=files[ManifestEntryStatus.ADDED],
            existing_files_count=files[ManifestEntryStatus.EXISTING],
            deleted_files_count=files[ManifestEntryStatus.DELETED],
            added_rows_count=rows[ManifestEntryStatus.ADDED],
            existing_rows_count=rows[ManifestEntryStatus.EXISTING],
            deleted_rows_count=rows[ManifestEntryStatus.DELETED],
            partitions=self._summaries(spec, entries),
            key_metadata=None,
        )

    def added(self, file: DataFile) -> ManifestEntry:
        """Return the entry of a new file."""
        return entry_of(ManifestEntryStatus.ADDED, self.snapshot_id, file)

    def deleted(self, entry: ManifestEntry) -> ManifestEntry:
        """Return the entry of a file that goes."""
        return entry_of(ManifestEntryStatus.DELETED, self.snapshot_id, entry.data_file, entry)

    def _checked(self, entry: ManifestEntry) -> ManifestEntry:
        if entry.sequence_number is None and self.version > 1:
            is_new = entry.status == ManifestEntryStatus.ADDED and entry.snapshot_id in (None, self.snapshot_id)
            if not is_new:
                msg = f"{entry.data_file.file_path} has no sequence number, though it is not a file of this snapshot"
                raise ValueError(msg)
        return entry

    def _summaries(self, spec: PartitionSpec, entries: Iterable[ManifestEntry]) -> list[PartitionFieldSummary]:
        if not spec.fields:
            return []
        return construct_partition_summaries(spec, self.schema, [one.data_file.partition for one in entries])


def existing(entry: ManifestEntry) -> ManifestEntry:
    """Return the entry of a file that was there before and stays."""
    return entry_of(ManifestEntryStatus.EXISTING, entry.snapshot_id, entry.data_file, entry)


def entry_of(
    status: ManifestEntryStatus, snapshot_id: int | None, file: DataFile, of: ManifestEntry | None = None
) -> ManifestEntry:
    """Return an entry; its sequence numbers are those of another one, or the snapshot's."""
    sequence_number, file_sequence_number = (of.sequence_number, of.file_sequence_number) if of else (None, None)
    return ManifestEntry(status, snapshot_id, sequence_number, file_sequence_number, file)


def _counts(entries: Iterable[ManifestEntry]) -> tuple[Counter[ManifestEntryStatus], Counter[ManifestEntryStatus]]:
    """Return how many files and rows have each status."""
    files: Counter[ManifestEntryStatus] = Counter()
    rows: Counter[ManifestEntryStatus] = Counter()
    for one in entries:
        files[one.status] += 1
        rows[one.status] += one.data_file.record_count
    return files, rows


def _record(entry: ManifestEntry, schema: EntrySchema) -> Mapping[str, Any]:
    return {
        "status": entry.status.value,
        "snapshot_id": entry.snapshot_id,
        "sequence_number": entry.sequence_number,
        "file_sequence_number": entry.file_sequence_number,
        "data_file": _file_record(entry.data_file, schema),
    }


def _file_record(file: DataFile, schema: EntrySchema) -> Mapping[str, Any]:
    """Return a file as fastavro writes it; the type of a list is named, or fastavro would try all its values first."""
    record: dict[str, Any] = {name: getattr(file, name) for name in _PLAIN}
    for name in _MAPS:
        pairs = getattr(file, name)
        record[name] = None if pairs is None else ("array", [{"key": k, "value": v} for k, v in pairs.items()])
    for name in _LISTS:
        values = getattr(file, name)
        record[name] = None if values is None else ("array", values)
    record["content"] = file.content.value
    record["file_format"] = file.file_format.value
    record["block_size_in_bytes"] = DEFAULT_BLOCK_SIZE
    record["partition"] = {
        name: write(value) for (name, write), value in zip(schema.partition, _values(file.partition), strict=True)
    }
    return record


def _values(partition: Record) -> list[Any]:
    return [partition[place] for place in range(len(partition))]
