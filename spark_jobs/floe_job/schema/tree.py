"""The tree of a table's columns: found by path, known by id, widened."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, IcebergType, ListType, MapType, NestedField, PrimitiveType, StructType

from floe_job.schema.proposal import Path


def paths(schema: Schema) -> dict[int, Path]:
    """Return the paths of all columns by field id; what is inside a map's key has none."""
    return {nested.field_id: path for path, nested in _walk(schema.as_struct(), ())}


def columns(schema: Schema) -> dict[Path, NestedField]:
    """Return all columns by path, see ``paths``."""
    return dict(_walk(schema.as_struct(), ()))


def _walk(target: IcebergType, path: Path) -> Iterator[tuple[Path, NestedField]]:
    for nested in _inside(target):
        inner = (*path, nested.name)
        yield inner, nested
        yield from _walk(nested.field_type, inner)


def _inside(target: IcebergType) -> tuple[NestedField, ...]:
    if isinstance(target, StructType):
        return target.fields
    if isinstance(target, ListType):
        return (target.element_field,)
    return (target.value_field,) if isinstance(target, MapType) else ()


def resolve(parent: IcebergType, path: Path) -> IcebergType | None:
    """Follow a path of names; None where the table has changed and the path does not exist any more."""
    current: IcebergType = parent
    for name in path:
        found = next((field for field in _inside(current) if field.name == name), None)
        if found is None:
            return None
        current = found.field_type
    return current


def is_wider(known: IcebergType, wanted: PrimitiveType) -> bool:
    """Return whether a type can be promoted to another one by the rules of Iceberg v2."""
    if isinstance(known, DecimalType) and isinstance(wanted, DecimalType):
        return known.scale == wanted.scale and known.precision < wanted.precision
    return (str(known), str(wanted)) in {("int", "long"), ("float", "double")}


def widened(schema: Schema, promoted: Mapping[int, PrimitiveType], optional: Container[int]) -> Schema:
    """Return a schema with columns promoted, or made optional, by field id. Nothing is checked."""

    def of(target: IcebergType) -> IcebergType:
        if isinstance(target, StructType):
            return StructType(*map(column, target.fields))
        if isinstance(target, ListType):
            element = column(target.element_field)
            return ListType(target.element_id, element.field_type, element_required=element.required)
        if isinstance(target, MapType):
            entry = column(target.value_field)
            return MapType(
                target.key_id, target.key_type, target.value_id, entry.field_type, value_required=entry.required
            )
        return target

    def column(known: NestedField) -> NestedField:
        return NestedField(
            known.field_id,
            known.name,
            promoted.get(known.field_id) or of(known.field_type),
            required=known.required and known.field_id not in optional,
        )

    return Schema(*map(column, schema.fields), schema_id=schema.schema_id)
