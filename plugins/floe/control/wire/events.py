"""The events of the control topic, as values.

Vocabulary, field ids and meaning are those of the Iceberg Kafka Connect sink, whose Java classes
(``org.apache.iceberg.connect.events``) read and write the same bytes. A number in a docstring is the Iceberg field id.
``floe.control.wire.codec`` makes the bytes; this module is independent of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from typing import ClassVar, TypeAlias
from uuid import UUID, uuid4

PartitionValue: TypeAlias = bool | int | float | str | bytes | Decimal | UUID | None
"""A partition value in PyIceberg's internal form: date = int days, time and timestamps = int, others unchanged."""


class EventType(IntEnum):
    """The type of an event (Java: ``PayloadType``)."""

    START_COMMIT = 0
    """The coordinator requests what has been written."""
    DATA_WRITTEN = 1
    """A writer announces files of one table."""
    DATA_COMPLETE = 2
    """A writer has announced all that it has."""
    COMMIT_TO_TABLE = 3
    """A table has a new snapshot; informational."""
    COMMIT_COMPLETE = 4
    """All tables of the commit are done; informational."""


class FileContent(IntEnum):
    """The content of a file (Java: ``FileContent``)."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


@dataclass(frozen=True, slots=True)
class TableReference:
    """Name a table (Java: ``TableReference``): 10600 catalog, 10601 namespace, 10603 name, 10604 table_uuid.

    The UUID is absent in events written before Iceberg 1.11.0.
    """

    catalog: str
    namespace: tuple[str, ...]
    name: str
    table_uuid: UUID | None = None


@dataclass(frozen=True, slots=True)
class TopicPartitionOffset:
    """How far a partition was read (Java: ``TopicPartitionOffset``): 10700 topic … 10703 timestamp.

    ``offset`` is the last offset read + 1; both it and ``timestamp`` are None for a partition without data.
    """

    topic: str
    partition: int
    offset: int | None = None
    timestamp: datetime | None = None


@dataclass(frozen=True, slots=True)
class PartitionFieldType:
    """A field of a partition type: its id (1000 and up), its name, and its Iceberg primitive type as text.

    ``type`` is the *result* type of the transform, e.g. ``int``, ``date``, ``decimal(9,2)``, ``fixed[16]``.
    """

    field_id: int
    name: str
    type: str

    def __post_init__(self) -> None:
        """Write the type without blanks, so that ``decimal(9, 2)`` and ``decimal(9,2)`` are one type."""
        object.__setattr__(self, "type", self.type.replace(" ", ""))


@dataclass(frozen=True, slots=True)
class PartitionType:
    """The struct type of a partition spec's values (Java: ``PartitionSpec.partitionType()``); all fields optional."""

    fields: tuple[PartitionFieldType, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A data or delete file (Java: ``GenericDataFile``, ``GenericDeleteFile``); fields in the order of the wire.

    134 content, 100 file_path, 101 file_format (upper-case), 141 spec_id, 102 partition, 103 record_count,
    104 file_size_in_bytes, 108 column_sizes, 109 value_counts, 110 null_value_counts, 137 nan_value_counts,
    125 lower_bounds, 128 upper_bounds, 131 key_metadata, 132 split_offsets, 135 equality_ids, 140 sort_order_id,
    142 first_row_id, 143 referenced_data_file, 144 content_offset, 145 content_size_in_bytes.
    """

    content: FileContent = FileContent.DATA
    file_path: str
    file_format: str = "PARQUET"
    spec_id: int | None = None
    partition: tuple[PartitionValue, ...] = ()
    """One value per field of the event's partition type."""
    record_count: int
    file_size_in_bytes: int
    column_sizes: Mapping[int, int] | None = None
    value_counts: Mapping[int, int] | None = None
    null_value_counts: Mapping[int, int] | None = None
    nan_value_counts: Mapping[int, int] | None = None
    lower_bounds: Mapping[int, bytes] | None = None
    upper_bounds: Mapping[int, bytes] | None = None
    key_metadata: bytes | None = None
    split_offsets: tuple[int, ...] | None = None
    equality_ids: tuple[int, ...] | None = None
    sort_order_id: int | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size_in_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class StartCommit:
    """Request what has been written (Java: ``StartCommit``): 10200 commit_id."""

    type: ClassVar[EventType] = EventType.START_COMMIT

    commit_id: UUID


@dataclass(frozen=True, slots=True)
class DataWritten:
    """Announce files of one table (Java: ``DataWritten``).

    10300 commit_id, 10301 table_reference, 10302 data_files, 10304 delete_files. The partition type is not a field. It
    is the type of field 102 in the schema of the message.
    """

    type: ClassVar[EventType] = EventType.DATA_WRITTEN

    commit_id: UUID
    table_reference: TableReference
    data_files: tuple[DataFile, ...] | None
    delete_files: tuple[DataFile, ...] | None = None
    partition_type: PartitionType = PartitionType()


@dataclass(frozen=True, slots=True)
class DataComplete:
    """Announce that all files are announced (Java: ``DataComplete``): 10100 commit_id, 10101 assignments.

    The assignments are *all* partitions of the writer, including those without data.
    """

    type: ClassVar[EventType] = EventType.DATA_COMPLETE

    commit_id: UUID
    assignments: tuple[TopicPartitionOffset, ...] | None


@dataclass(frozen=True, slots=True)
class CommitToTable:
    """Announce a table's new snapshot (Java: ``CommitToTable``).

    10400 commit_id, 10401 table_reference, 10402 snapshot_id, 10403 valid_through_ts.
    """

    type: ClassVar[EventType] = EventType.COMMIT_TO_TABLE

    commit_id: UUID
    table_reference: TableReference
    snapshot_id: int | None = None
    valid_through_ts: datetime | None = None


@dataclass(frozen=True, slots=True)
class CommitComplete:
    """Announce that every table is done (Java: ``CommitComplete``): 10000 commit_id, 10001 valid_through_ts."""

    type: ClassVar[EventType] = EventType.COMMIT_COMPLETE

    commit_id: UUID
    valid_through_ts: datetime | None = None


Payload: TypeAlias = StartCommit | DataWritten | DataComplete | CommitToTable | CommitComplete


@dataclass(frozen=True, slots=True)
class Event:
    """An event (Java: ``Event``): 10500 id, 10501 type, 10502 timestamp, 10503 group_id, 10504 payload.

    ``timestamp`` has a time zone and microseconds; ``group_id`` is ``connect-<name>``: readers ignore other groups.
    """

    id: UUID
    timestamp: datetime
    group_id: str
    payload: Payload

    @property
    def type(self) -> EventType:
        """Return the type that goes with the payload."""
        return self.payload.type

    @classmethod
    def of(cls, group_id: str, payload: Payload) -> Event:
        """Make an event with the current time and a random id."""
        return cls(uuid4(), datetime.now(UTC), group_id, payload)
