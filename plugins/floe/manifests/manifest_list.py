"""Manifest lists: the manifests of one snapshot, each with what decides whether a reader opens it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent, ManifestFile, PartitionFieldSummary
from pyiceberg.table.snapshots import Snapshot

from floe.manifests.avro_file import read_records, write_records
from floe.manifests.avro_schemas import list_schema
from floe.manifests.manifest import UNASSIGNED

_FIELDS: Final = {
    500: "manifest_path",
    501: "manifest_length",
    502: "partition_spec_id",
    517: "content",
    515: "sequence_number",
    516: "min_sequence_number",
    503: "added_snapshot_id",
    504: "added_files_count",
    505: "existing_files_count",
    506: "deleted_files_count",
    512: "added_rows_count",
    513: "existing_rows_count",
    514: "deleted_rows_count",
    507: "partitions",
    519: "key_metadata",
}
"""The fields of a manifest list, by id, in the order that PyIceberg's record of a manifest has."""

_BEFORE_FORMAT_2: Final = {"content": 0, "sequence_number": 0, "min_sequence_number": 0}
_REQUIRED: Final = ("manifest_path", "manifest_length", "partition_spec_id")


def manifests_of(files: FileIO, snapshot: Snapshot) -> list[ManifestFile]:
    """Read the manifests of a snapshot. Raises ValueError for a list that is none, and what the store raises."""
    schema, records = read_records(files, snapshot.manifest_list)
    names = _names(schema)
    missing = [name for field_id, name in _FIELDS.items() if name in _REQUIRED and field_id not in names]
    if missing:
        msg = f"{snapshot.manifest_list} is no manifest list: it has no field {', '.join(missing)}"
        raise ValueError(msg)
    return [_manifest(record, names) for record in records]


def write_manifest_list(
    files: FileIO, path: str, version: int, snapshot: Snapshot, manifests: Iterable[ManifestFile], codec: str
) -> None:
    """Write the list of a snapshot's manifests. Those without a sequence number are the snapshot's own, and get its.

    Raises ValueError for a manifest of another snapshot without one, and what fastavro and the store raise.
    """
    metadata = {
        "snapshot-id": str(snapshot.snapshot_id),
        "parent-snapshot-id": "null" if snapshot.parent_snapshot_id is None else str(snapshot.parent_snapshot_id),
        "format-version": str(version),
        **({"sequence-number": str(snapshot.sequence_number)} if version > 1 else {}),
    }
    records = [_record(manifest, snapshot) for manifest in manifests]
    write_records(files, path, list_schema(version), records, metadata, codec)


def _names(schema: Mapping[str, Any]) -> dict[int, str]:
    """Return the name that a list has for each field: older writers had others."""
    return {one["field-id"]: one["name"] for one in schema.get("fields", ()) if "field-id" in one}


def _manifest(record: Mapping[str, Any], names: Mapping[int, str]) -> ManifestFile:
    values: dict[str, Any] = {
        name: record[names[field_id]] if field_id in names else _BEFORE_FORMAT_2.get(name)
        for field_id, name in _FIELDS.items()
    }
    values["content"] = ManifestContent(values["content"] or 0)
    if values["partitions"] is not None:
        values["partitions"] = [_summary(one) for one in values["partitions"]]
    return ManifestFile(*values.values())


def _summary(record: Mapping[str, Any]) -> PartitionFieldSummary:
    return PartitionFieldSummary(
        record["contains_null"], record.get("contains_nan"), record.get("lower_bound"), record.get("upper_bound")
    )


def _record(manifest: ManifestFile, snapshot: Snapshot) -> Mapping[str, Any]:
    record: dict[str, Any] = {name: getattr(manifest, name) for name in _FIELDS.values()}
    for name in ("sequence_number", "min_sequence_number"):
        if record[name] == UNASSIGNED:
            if manifest.added_snapshot_id != snapshot.snapshot_id:
                msg = f"{manifest.manifest_path} has no sequence number, though it is not a manifest of this snapshot"
                raise ValueError(msg)
            record[name] = snapshot.sequence_number
    record["content"] = manifest.content.value
    if manifest.partitions is not None:
        record["partitions"] = ("array", [_summary_record(one) for one in manifest.partitions])
    return record


def _summary_record(summary: PartitionFieldSummary) -> Mapping[str, Any]:
    return {
        "contains_null": summary.contains_null,
        "contains_nan": summary.contains_nan,
        "lower_bound": summary.lower_bound,
        "upper_bound": summary.upper_bound,
    }
