"""The control topic: the events in it and their bytes."""

from floe.control.exceptions import DataFileConversionError, EventDecodeError, EventEncodeError
from floe.control.wire.events import (
    CommitComplete,
    CommitToTable,
    DataComplete,
    DataFile,
    DataWritten,
    Event,
    EventType,
    FileContent,
    PartitionFieldType,
    PartitionType,
    Payload,
    StartCommit,
    TableReference,
    TopicPartitionOffset,
)

__all__ = [
    "CommitComplete",
    "CommitToTable",
    "DataComplete",
    "DataFile",
    "DataFileConversionError",
    "DataWritten",
    "Event",
    "EventDecodeError",
    "EventEncodeError",
    "EventType",
    "FileContent",
    "PartitionFieldType",
    "PartitionType",
    "Payload",
    "StartCommit",
    "TableReference",
    "TopicPartitionOffset",
]
