"""The structs of the events, those of the Java classes, with their field ids, names and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from floe.control.wire import events
from floe.control.wire.events import EventType, PartitionType, Payload

EVENTS = "org.apache.iceberg.connect.events"
FILES = "org.apache.iceberg"


@dataclass(frozen=True, slots=True)
class WireList:
    """A list, none of whose elements is null."""

    element_id: int
    element: WireType


@dataclass(frozen=True, slots=True)
class WireMap:
    """A map from int to a value that is never null."""

    key_id: int
    value_id: int
    value: str


@dataclass(frozen=True, slots=True)
class WireField:
    """A field of a struct; the value's attribute has the same name."""

    field_id: int
    name: str
    type: WireType
    optional: bool = False
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """A record: its Java class, its fields, and the Python class of its values (``tuple``: just the values)."""

    java_class: str
    made: type[Any]
    fields: tuple[WireField, ...]


WireType: TypeAlias = str | WireList | WireMap | Struct
"""A type of a field; a text names an Iceberg primitive type."""

PARTITION = 102
PAYLOAD = 10504

_TABLE_REFERENCE = Struct(
    f"{EVENTS}.TableReference",
    events.TableReference,
    (
        WireField(10600, "catalog", "string"),
        WireField(10601, "namespace", WireList(10602, "string")),
        WireField(10603, "name", "string"),
        WireField(10604, "table_uuid", "uuid", optional=True),
    ),
)

_TOPIC_PARTITION_OFFSET = Struct(
    f"{EVENTS}.TopicPartitionOffset",
    events.TopicPartitionOffset,
    (
        WireField(10700, "topic", "string"),
        WireField(10701, "partition", "int"),
        WireField(10702, "offset", "long", optional=True),
        WireField(10703, "timestamp", "timestamptz", optional=True),
    ),
)


_COUNTS = "Map of column id to total count, including null and NaN"
_NANS = "Map of column id to number of NaN values in the column"
_REFERENCED = "Fully qualified location (URI with FS scheme) of a data file that all deletes reference"


def _file(java_class: str, partition_type: PartitionType) -> Struct:
    values = tuple(WireField(f.field_id, f.name, f.type, optional=True) for f in partition_type.fields)
    partition = Struct(f"{FILES}.PartitionData", tuple, values)
    return Struct(
        f"{FILES}.{java_class}",
        events.DataFile,
        (
            WireField(
                134, "content", "int", True, "Contents of the file: 0=data, 1=position deletes, 2=equality deletes"
            ),
            WireField(100, "file_path", "string", doc="Location URI with FS scheme"),
            WireField(101, "file_format", "string", doc="File format name: avro, orc, or parquet"),
            WireField(141, "spec_id", "int", True, "Partition spec ID"),
            WireField(
                PARTITION, "partition", partition, doc="Partition data tuple, schema based on the partition spec"
            ),
            WireField(103, "record_count", "long", doc="Number of records in the file"),
            WireField(104, "file_size_in_bytes", "long", doc="Total file size in bytes"),
            WireField(108, "column_sizes", WireMap(117, 118, "long"), True, "Map of column id to total size on disk"),
            WireField(109, "value_counts", WireMap(119, 120, "long"), True, _COUNTS),
            WireField(
                110, "null_value_counts", WireMap(121, 122, "long"), True, "Map of column id to null value count"
            ),
            WireField(137, "nan_value_counts", WireMap(138, 139, "long"), True, _NANS),
            WireField(125, "lower_bounds", WireMap(126, 127, "binary"), True, "Map of column id to lower bound"),
            WireField(128, "upper_bounds", WireMap(129, 130, "binary"), True, "Map of column id to upper bound"),
            WireField(131, "key_metadata", "binary", True, "Encryption key metadata blob"),
            WireField(132, "split_offsets", WireList(133, "long"), True, "Splittable offsets"),
            WireField(135, "equality_ids", WireList(136, "int"), True, "Equality comparison field IDs"),
            WireField(140, "sort_order_id", "int", True, "Sort order ID"),
            WireField(142, "first_row_id", "long", True, "The first row ID assigned to the first row in the data file"),
            WireField(143, "referenced_data_file", "string", True, _REFERENCED),
            WireField(144, "content_offset", "long", True, "The offset in the file where the content starts"),
            WireField(
                145, "content_size_in_bytes", "long", True, "The length of referenced content stored in the file"
            ),
        ),
    )


def event_struct(event: EventType, partition_type: PartitionType) -> Struct:
    """Return the struct of an event of this type; the partition type is used for DATA_WRITTEN only."""
    return Struct(
        f"{EVENTS}.Event",
        events.Event,
        (
            WireField(10500, "id", "uuid"),
            WireField(10501, "type", "int"),
            WireField(10502, "timestamp", "timestamptz"),
            WireField(10503, "group_id", "string"),
            WireField(PAYLOAD, "payload", _PAYLOADS[event](partition_type)),
        ),
    )


def _struct(payload: type[Payload], *fields: WireField) -> Struct:
    return Struct(f"{EVENTS}.{payload.__name__}", payload, fields)


def _data_written(partition_type: PartitionType) -> Struct:
    return _struct(
        events.DataWritten,
        WireField(10300, "commit_id", "uuid"),
        WireField(10301, "table_reference", _TABLE_REFERENCE),
        WireField(10302, "data_files", WireList(10303, _file("GenericDataFile", partition_type)), optional=True),
        WireField(10304, "delete_files", WireList(10305, _file("GenericDeleteFile", partition_type)), optional=True),
    )


_START_COMMIT = _struct(events.StartCommit, WireField(10200, "commit_id", "uuid"))
_DATA_COMPLETE = _struct(
    events.DataComplete,
    WireField(10100, "commit_id", "uuid"),
    WireField(10101, "assignments", WireList(10102, _TOPIC_PARTITION_OFFSET), optional=True),
)
_COMMIT_TO_TABLE = _struct(
    events.CommitToTable,
    WireField(10400, "commit_id", "uuid"),
    WireField(10401, "table_reference", _TABLE_REFERENCE),
    WireField(10402, "snapshot_id", "long", optional=True),
    WireField(10403, "valid_through_ts", "timestamptz", optional=True),
)
_COMMIT_COMPLETE = _struct(
    events.CommitComplete,
    WireField(10000, "commit_id", "uuid"),
    WireField(10001, "valid_through_ts", "timestamptz", optional=True),
)

_PAYLOADS: Mapping[EventType, Callable[[PartitionType], Struct]] = {
    EventType.START_COMMIT: lambda _: _START_COMMIT,
    EventType.DATA_WRITTEN: _data_written,
    EventType.DATA_COMPLETE: lambda _: _DATA_COMPLETE,
    EventType.COMMIT_TO_TABLE: lambda _: _COMMIT_TO_TABLE,
    EventType.COMMIT_COMPLETE: lambda _: _COMMIT_COMPLETE,
}

EVENT_OF_CLASS: Mapping[str, EventType] = {make(PartitionType()).java_class: e for e, make in _PAYLOADS.items()}
"""The event's type by the full name of its payload's record, as in the Java sink."""
