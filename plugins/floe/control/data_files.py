"""Conversion of data files between events and PyIceberg."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record, TableVersion

from floe.control.exceptions import DataFileConversionError
from floe.control.wire.events import DataFile, FileContent, PartitionFieldType, PartitionType, PartitionValue

_SAME = (
    "file_path",
    "record_count",
    "file_size_in_bytes",
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
    "key_metadata",
    "split_offsets",
    "equality_ids",
    "sort_order_id",
)
"""Fields that both sides have; PyIceberg's have maps as dicts and lists as lists."""

_VERSION_3 = ("first_row_id", "referenced_data_file", "content_offset", "content_size_in_bytes")
"""Fields that PyIceberg has in format version 3 only, after all others and without properties."""


def partition_type_of(spec: PartitionSpec, schema: Schema) -> PartitionType:
    """Return the partition type of a table's spec, for an event of files written under it."""
    struct = spec.partition_type(schema)
    return PartitionType(tuple(PartitionFieldType(f.field_id, f.name, str(f.field_type)) for f in struct.fields))


def to_pyiceberg(file: DataFile, partition_type: PartitionType, format_version: TableVersion = 2) -> IcebergFile:
    """Return PyIceberg's data file, without loss of any field.

    Its `spec_id` is set if the event has one (``DataFile.from_args`` ignores it). Raises DataFileConversionError
    for a partition that is not of its type, and for a field that this format version does not have.
    """
    arguments: dict[str, object] = {name: _plain(getattr(file, name)) for name in _SAME}
    for name in _VERSION_3:
        value = getattr(file, name)
        if value is not None and format_version < 3:
            message = (
                f"{file.file_path!r} has {name}={value!r}, which PyIceberg holds in format version 3 only: "
                "commit it with the engine that wrote it"
            )
            raise DataFileConversionError(message)
        arguments[name] = value
    _check_width(file.file_path, len(file.partition), partition_type)
    result = IcebergFile.from_args(
        _table_format_version=format_version,
        content=DataFileContent(file.content.value),
        file_format=_format(file),
        partition=Record(*file.partition),
        **arguments,
    )
    if file.spec_id is not None:
        result.spec_id = file.spec_id
    return result


def from_pyiceberg(file: IcebergFile, partition_type: PartitionType, spec_id: int | None = None) -> DataFile:
    """Return the data file for an event.

    `spec_id` is needed for a file that has none of its own, such as a new one from PyIceberg's writers.
    """
    own = getattr(file, "spec_id", None)  # an error where it was not set
    if spec_id is None and own is None:
        message = f"{file.file_path!r} has no partition spec id: pass the one that it was written under"
        raise DataFileConversionError(message)
    _check_width(file.file_path, len(file.partition), partition_type)
    values = tuple(
        _partition_value(value, field)
        for value, field in zip(_values(file.partition), partition_type.fields, strict=True)
    )
    tail = dict(zip(_VERSION_3, _values(file)[16:], strict=False))
    return DataFile(
        content=FileContent(file.content.value),
        file_format=file.file_format.value,
        spec_id=own if spec_id is None else spec_id,
        partition=values,
        **{name: _frozen(getattr(file, name)) for name in _SAME},
        **tail,
    )


def _values(record: Record) -> list[Any]:
    return [record[i] for i in range(len(record))]


def _check_width(path: str, width: int, partition_type: PartitionType) -> None:
    if width != len(partition_type.fields):
        names = [field.name for field in partition_type.fields]
        message = f"{path!r} has {width} partition values for the fields {names!r}: pass the type of its own spec"
        raise DataFileConversionError(message)


def _format(file: DataFile) -> FileFormat:
    try:
        return FileFormat[file.file_format.upper()]
    except KeyError as error:
        message = f"{file.file_path!r} is in the format {file.file_format!r}, which PyIceberg does not know"
        raise DataFileConversionError(message) from error


def _partition_value(value: object, field: PartitionFieldType) -> PartitionValue:
    # PyIceberg's writers have a UUID as bytes, its manifest readers as a UUID; events contain the latter.
    if field.type == "uuid" and isinstance(value, bytes):
        return UUID(bytes=value)
    if value is None or isinstance(value, bool | int | float | str | bytes | Decimal | UUID):
        return value
    message = f"partition field {field.name!r} has {value!r}, which is not how PyIceberg holds a {field.type} inside"
    raise DataFileConversionError(message)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# Data files as they are announced, and as Spark's tasks report them.


@dataclass(frozen=True)
class SpecFiles:
    """Data files of one partition spec."""

    spec_id: int
    partition_type: PartitionType
    files: tuple[DataFile, ...]
