"""Metadata files, read and written in less time than PyIceberg takes for tables that retain many snapshots.

A snapshot is made of its fields without validating each of them, and goes into the next file as it stood in the last.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import from_json, to_json
from pyiceberg.io import InputFile, OutputFile
from pyiceberg.serializers import Compressor
from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.snapshots import Operation, Snapshot, SnapshotLogEntry, Summary
from pyiceberg.table.update import AddSnapshotUpdate, RemoveSnapshotsUpdate, SetSnapshotRefUpdate, TableUpdate
from pyiceberg.utils.properties import property_as_int


def concerned(metadata: TableMetadata, updates: Iterable[TableUpdate]) -> TableMetadata:
    """Return the metadata with the snapshots that updates and requirements look at only, and without logs."""
    named = {ref.snapshot_id for ref in metadata.refs.values()}
    named.update(s.snapshot_id for s in metadata.snapshots[-1:])  # requirements ask whether there are any
    for update in updates:
        match update:
            case AddSnapshotUpdate():
                named.add(update.snapshot.snapshot_id)
            case SetSnapshotRefUpdate():
                named.add(update.snapshot_id)
            case RemoveSnapshotsUpdate():
                named.update(update.snapshot_ids)
    snapshots = [s for s in metadata.snapshots if s.snapshot_id in named]
    return metadata.model_copy(update={"snapshots": snapshots, "snapshot_log": [], "metadata_log": []})


def completed(
    updated: TableMetadata, given: TableMetadata, whole: TableMetadata, updates: Iterable[TableUpdate]
) -> TableMetadata:
    """Return what ``updated`` would be, had it been made of ``whole`` and not of ``given``, the part that counts.

    A snapshot keeps the id of a parent that was removed, the log ends at removed ones, and statistics of all kinds go with
    them, as in Iceberg's Java library.
    """
    known = {s.snapshot_id for s in given.snapshots}
    left = {s.snapshot_id for s in updated.snapshots}
    removed = known - left
    kept = [s for s in whole.snapshots if s.snapshot_id not in removed] if removed else whole.snapshots
    # as they were sent: PyIceberg takes the parent's id away from one whose parent the same commit removes
    sent = (update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
    added = [s for s in sent if s.snapshot_id in left - known]
    log = [*whole.snapshot_log, *updated.snapshot_log]
    most = property_as_int(
        updated.properties,
        TableProperties.METADATA_PREVIOUS_VERSIONS_MAX,
        TableProperties.METADATA_PREVIOUS_VERSIONS_MAX_DEFAULT,
    )
    return updated.model_copy(
        update={
            "snapshots": [*kept, *added],
            "partition_statistics": [p for p in updated.partition_statistics if p.snapshot_id not in removed],
            "snapshot_log": _without_gaps(log, removed) if removed else log,
            "metadata_log": [*whole.metadata_log, *updated.metadata_log][-max(1, most or 1) :],
        }
    )


def _without_gaps(log: Sequence[SnapshotLogEntry], removed: set[int]) -> list[SnapshotLogEntry]:
    """Return the entries after the last removed one: across a gap, the table would be read as of a wrong time."""
    gaps = [i for i, entry in enumerate(log) if entry.snapshot_id in removed]
    return list(log[gaps[-1] + 1 :]) if gaps else list(log)


Fields = dict[str, Any]
"""A JSON object."""

_OPERATIONS = {operation.value: operation for operation in Operation}
_KNOWN = frozenset(
    (
        "snapshot-id",
        "parent-snapshot-id",
        "sequence-number",
        "timestamp-ms",
        "manifest-list",
        "summary",
        "schema-id",
    )
)
_OF_SNAPSHOT, _OF_SUMMARY = set(Snapshot.model_fields), {"operation"}
_OPTIONAL_INT = (int, type(None))


class MetadataFile(NamedTuple):
    """The metadata of a table, and its snapshots as the file has them, by id."""

    metadata: TableMetadata
    snapshots: Mapping[int, Fields]


def read_metadata(file: InputFile) -> MetadataFile:
    """Read a metadata file. Raises what PyIceberg or the store raises."""
    with file.open() as stream, Compressor.get_compressor(file.location).stream_decompressor(stream) as plain:
        text = plain.read()
    with _undisturbed():
        fields: Fields = from_json(text)
        found = fields.get("snapshots")
        if not isinstance(found, list):
            return MetadataFile(TableMetadataUtil.parse_obj(fields), {})
        snapshots = [snapshot_of(one) for one in found]
        metadata = TableMetadataUtil.parse_obj({**fields, "snapshots": snapshots})
        return MetadataFile(metadata, {s.snapshot_id: one for s, one in zip(snapshots, found, strict=True)})


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Make thousands of objects without a search for garbage among them, which takes longer than making them.

    Nor afterwards: they count as old, and are looked through when all are. What somebody else has frozen stays so.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if was_enabled:
            gc.enable()


def write_metadata(file: OutputFile, metadata: TableMetadata, snapshots: Mapping[int, Fields]) -> None:
    """Write a metadata file of format 2, snapshots that are known already as they stood."""
    with _undisturbed():
        fields = metadata.model_dump(mode="json", exclude={"snapshots"})
        fields["snapshots"] = [
            snapshots.get(s.snapshot_id) or s.model_dump(mode="json", exclude_none=True) for s in metadata.snapshots
        ]
        text = to_json(fields)
    compressed = Compressor.get_compressor(file.location).bytes_compressor()(text)
    with file.create(overwrite=False) as stream:
        stream.write(compressed)


def snapshot_of(fields: Fields) -> Snapshot:
    """Return what PyIceberg would make of a snapshot's fields; what is unusual in any way is left to it."""
    get = fields.get
    snapshot_id, sequence_number, moment = get("snapshot-id"), get("sequence-number"), get("timestamp-ms")
    parent, schema_id, manifests, summary = (
        get("parent-snapshot-id"),
        get("schema-id"),
        get("manifest-list"),
        get("summary"),
    )
    is_usual = (
        type(snapshot_id) is type(sequence_number) is type(moment) is int
        and type(parent) in _OPTIONAL_INT
        and type(schema_id) in _OPTIONAL_INT
        and type(manifests) is str
        and type(summary) is dict
        and summary.get("operation") in _OPERATIONS
        and fields.keys() <= _KNOWN
    )
    if not is_usual:
        return Snapshot.model_validate(fields)
    told = dict(cast(Fields, summary))
    operation = _OPERATIONS[told.pop("operation")]
    values = {
        "snapshot_id": snapshot_id,
        "parent_snapshot_id": parent,
        "sequence_number": sequence_number,
        "timestamp_ms": moment,
        "manifest_list": manifests,
        "summary": _made(Summary, _OF_SUMMARY, {"operation": operation}, {"_additional_properties": told}),
        "schema_id": schema_id,
        "first_row_id": None,
        "added_rows": None,
    }
    return _made(Snapshot, _OF_SNAPSHOT, values, None)


_Model = TypeVar("_Model", bound=BaseModel)
_set = object.__setattr__


def _made(kind: type[_Model], names: set[str], values: Fields, private: Fields | None) -> _Model:
    """Make a model of values that were looked at, in the state that pydantic leaves one in."""
    model = kind.__new__(kind)
    _set(model, "__dict__", values)
    _set(model, "__pydantic_fields_set__", names)  # shared: models are frozen, and a copy gets its own
    _set(model, "__pydantic_extra__", None)
    _set(model, "__pydantic_private__", private)
    return model
