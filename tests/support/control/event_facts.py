"""What an event says, printed as EventCheck.java prints it: numbers as text, bytes as hex, floats as their bits."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from floe.control.wire.events import DataFile, DataWritten, Event, PartitionType, TableReference, TopicPartitionOffset

MICROS_OF_SECOND = 1_000_000
OF_DELETES_ONLY = ("referenced_data_file", "content_offset", "content_size_in_bytes")


def facts(event: Event) -> dict[str, Any]:
    """Return the facts of an event; its payload's attributes are the Java accessors' names."""
    payload: dict[str, Any] = {"class": type(event.payload).__name__}
    for name in type(event.payload).__slots__:
        value = getattr(event.payload, name)
        if name in ("data_files", "delete_files") and isinstance(event.payload, DataWritten):
            payload[name] = _files(value, event.payload.partition_type, deletes=name == "delete_files")
        elif name != "partition_type":
            payload[name] = _fact(value)
    envelope = {"id": event.id, "type": event.type, "timestamp": event.timestamp, "group_id": event.group_id}
    return {name: _fact(value) for name, value in envelope.items()} | {"payload": payload}


def _files(files: Iterable[DataFile] | None, partition_type: PartitionType, deletes: bool) -> list[Any] | None:
    return None if files is None else [_file(file, partition_type, deletes) for file in files]


def _file(file: DataFile, partition_type: PartitionType, deletes: bool) -> dict[str, Any]:
    result = {name: _fact(getattr(file, name)) for name in DataFile.__slots__}
    types = [field.type for field in partition_type.fields]
    result["partition"] = [_fact(v, type_) for v, type_ in zip(file.partition, types, strict=True)]
    if file.spec_id is None:
        result["spec_id"] = "-1"
    # Java hides split offsets that do not lie within the file.
    if not file.split_offsets or file.split_offsets[-1] >= file.file_size_in_bytes:
        result["split_offsets"] = None
    if not deletes:
        result |= dict.fromkeys(OF_DELETES_ONLY)
    return result


def _fact(value: Any, type_: str = "") -> Any:
    match value:
        case None:
            return None
        case dict():
            return {str(key): _fact(inner) for key, inner in value.items()}
        case tuple():
            return [_fact(inner) for inner in value]
        case TableReference() | TopicPartitionOffset():
            return {name: _fact(getattr(value, name)) for name in type(value).__slots__}
    return _text(value, type_)


def _text(value: Any, type_: str) -> str:
    match value:
        case bool():
            return str(value).lower()
        case Enum():
            return str(value.value)
        case datetime():
            since = value - datetime(1970, 1, 1, tzinfo=UTC)
            return str((since.days * 86_400 + since.seconds) * MICROS_OF_SECOND + since.microseconds)
        case bytes():
            return value.hex()
        case float():
            bits = struct.pack(">f", value) if type_ == "float" else struct.pack(">d", value)
            return f"{int.from_bytes(bits, 'big'):x}"
        case Decimal():
            return f"{value:f}"
    return str(value)
