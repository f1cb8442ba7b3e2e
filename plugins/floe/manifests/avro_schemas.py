"""The Avro schemas of manifests and manifest lists, by format version and partition type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

import fastavro
from pyiceberg.manifest import (
    MANIFEST_LIST_FILE_SCHEMAS,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.schema import Schema
from pyiceberg.types import (
    IcebergType,
    NestedField,
    PrimitiveType,
    StructType,
    UnknownType,
    UUIDType,
)
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from floe.manifests.avro_file import AvroSchema

FORMATS: Final = (1, 2)
"""Format versions that are written."""

_PARTITION: Final = 102
_CACHED: Final = 256


class EntrySchema(NamedTuple):
    """The schema of a manifest's entries. ``partition``: for each partition field its name in the file, and what makes its
    value one that is written.
    """

    avro: AvroSchema
    partition: tuple[tuple[str, Callable[[Any], Any]], ...]


def entry_schema(version: int, partition: StructType) -> EntrySchema:
    """Return the schema of a manifest's entries. Raises ValueError for a format version that is not written."""
    return _entry_schema(version, tuple((f.field_id, f.name, f.field_type, f.required) for f in partition.fields))


@lru_cache(maxsize=len(FORMATS))
def list_schema(version: int) -> AvroSchema:
    """Return the schema of a manifest list. Raises ValueError for a format version that is not written."""
    _check(version)
    return _avro(MANIFEST_LIST_FILE_SCHEMAS[version], "manifest_file")


@lru_cache(maxsize=_CACHED)
def _entry_schema(version: int, fields: tuple[tuple[int, str, IcebergType, bool], ...]) -> EntrySchema:
    _check(version)
    struct = StructType(*(NestedField(id_, name, of, required=required) for id_, name, of, required in fields))
    data_file = data_file_with_partition(struct, version)  # type: ignore[arg-type]
    avro = _avro(manifest_entry_schema_with_data_file(version, data_file), "manifest_entry")  # type: ignore[arg-type]
    written = _field(_field(avro, 2)["type"], _PARTITION)["type"]["fields"]
    names = (one["name"] for one in written)
    return EntrySchema(avro, tuple((name, _writable(one[2])) for name, one in zip(names, fields, strict=True)))


def _check(version: int) -> None:
    if version not in FORMATS:
        msg = f"manifests of format version {version} are not written"
        raise ValueError(msg)


def _avro(schema: Schema, name: str) -> AvroSchema:
    converted = AvroSchemaConversion().iceberg_to_avro(schema, schema_name=name)
    _repair(converted, set())
    parsed: AvroSchema = fastavro.parse_schema(converted)
    return parsed


def _repair(node: Any, names: set[str]) -> None:
    """Make a schema of PyIceberg one that every parser takes.

    Two fields of one fixed type define the same name twice, and an unknown type, which has nothing but nulls, is a union of
    null and null.
    """
    if isinstance(node, list):
        for one in node:
            _repair(one, names)
    elif isinstance(node, dict):
        if node.get("type") == ["null", "null"]:
            node["type"] = "null"
        if node.get("type") == "fixed":
            base, number = node["name"], 2
            while node["name"] in names:
                node["name"], number = f"{base}_{number}", number + 1
            names.add(node["name"])
        for one in node.values():
            _repair(one, names)


def _field(record: Mapping[str, Any], field_id: int) -> Any:
    return next(one for one in record["fields"] if one["field-id"] == field_id)


def _writable(of: IcebergType) -> Callable[[Any], Any]:
    """Return what makes a partition value one that fastavro writes: decimals as they are, times as the numbers they are."""
    match of:
        case UUIDType():
            return lambda value: value.bytes if isinstance(value, UUID) else value
        case UnknownType():
            return lambda _: None
        case PrimitiveType():
            return _same
    msg = f"a partition field of type {of} cannot be written: it is not primitive"
    raise ValueError(msg)


def _same(value: Any) -> Any:
    return value
