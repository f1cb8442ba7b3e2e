"""Schemas and fields of structs, as transforms make new ones of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.convert.typed.python_values import python_values
from floe_job.exceptions import TransformRefused, clip
from floe_job.types.typed_values import DayTime, Meant, Moment

Fields = Sequence[tuple[str, ConnectSchema]]


def struct_like(schema: ConnectSchema, fields: Iterable[tuple[str, ConnectSchema]], *, optional: bool) -> ConnectSchema:
    """Return the schema of a struct with the name, version and parameters of another. Raises TransformRefused."""
    made = tuple(fields)
    seen: set[str] = set()
    for name, _ in made:
        if name in seen:
            problem = f"two fields of the new struct are named {clip(repr(name), 60)}: choose another name"
            raise TransformRefused(problem)
        seen.add(name)
    return ConnectSchema(Kind.STRUCT, optional, schema.name, schema.version, schema.parameters, fields=made)


def defaults_of(schema: ConnectSchema, *, is_on: bool = True) -> dict[str, Any]:
    """Return the defaults that fields get for null; none unless ``is_on``."""
    if not is_on:
        return {}
    found = {name: default_of(one) for name, one in schema.fields}
    return {name: default for name, default in found.items() if default is not None}


def default_of(schema: ConnectSchema) -> Any:
    """Return a default as the values of the schema are; None for none."""
    if schema.default is ABSENT or schema.default is None:
        return None
    return python_values(pa.array([schema.default], arrow_type(schema)), schema)[0]


def filled(value: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a struct with defaults for null."""
    if not defaults:
        return dict(value)
    return {name: defaults.get(name) if one is None else one for name, one in value.items()}


def has_filled(column: pa.StructArray, schema: ConnectSchema, defaults: dict[str, Any]) -> bool:
    """Whether a default takes the place of a null in a column of structs."""
    return any(name in defaults and column.field(at).null_count for at, (name, _) in enumerate(schema.fields))


def struct_column(schema: ConnectSchema, arrays: Sequence[pa.Array]) -> pa.StructArray | None:
    """Return a column of structs, none of them null; None for those without fields."""
    if not arrays:
        return None
    fields = [pa.field(name, array.type) for (name, _), array in zip(schema.fields, arrays, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def in_java(value: Any) -> Any:
    """Return a value as Connect has it: the number or the text of a logical type that is not Connect's own."""
    if isinstance(value, Meant):
        return value.raw
    if isinstance(value, DayTime | Moment) and value.raw is not None:
        return value.raw
    return value


# What transforms require of a value, as Kafka Connect's ``Requirements`` do.


_SHOWN_CHARACTERS = 60


def required_object(value: Any, purpose: str) -> dict[str, Any]:
    """Return a value that is an object. Raises TransformRefused for another."""
    if type(value) is not dict:
        problem = f"only an object has fields for {purpose}, and the value is {shown(value)}"
        raise TransformRefused(problem)
    return value


def required_struct(schema: ConnectSchema, purpose: str) -> None:
    """Raise TransformRefused unless values of the schema are structs."""
    if schema.kind is not Kind.STRUCT:
        problem = f"only a struct has fields for {purpose}, and the value's schema is {schema.kind.value}"
        raise TransformRefused(problem)


def shown(value: Any) -> str:
    """Return a value, shortened, as an error names it."""
    return clip(repr(value), _SHOWN_CHARACTERS)
