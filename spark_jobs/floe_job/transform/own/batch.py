"""The records that a transform of the user gets, and returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from typing import Any, Final, Self

import pyarrow as pa

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS, arrow_type
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of
from floe_job.types.numbers import Literal, Single
from floe_job.types.typed_values import json_form

TIMESTAMP = pa.timestamp("ms", "UTC")
HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


@dataclass(frozen=True)
class Batch:
    """Some records of one partition, a column for each part of them: the same row in each column is the same record.

    A transform is a class with a ``version`` (a literal number), made with its options, a dict of strings, that has one
    method ``apply(batch: Batch) -> Batch``. It returns as many rows as it got, in their order. Each row must depend on its
    record and the options alone: how many records are in a batch differs from run to run.

    ``topic``: string; another topic routes the record there. ``partition`` (int32), ``offset`` (int64): they stay.
    ``timestamp``: timestamp[ms, UTC], null where the broker has none. ``key``: binary, as the producer wrote it.
    ``headers``: list<struct<key: string, value: binary>>, null where they cannot be read.
    ``value``: of values with a schema a struct, its fields in the Arrow types of ``floe_job.connect.arrow``. A batch has
    values of one schema. The returned struct may have other fields, of which each may be null. Of values without a schema
    it is a string, the JSON text: see ``objects``. A null is a tombstone. A struct stays a struct, and a text a text.
    ``kept``: bool; a record without it is left out, and counted as filtered.
    ``refused``: by row the reason; such a record becomes a dead letter, as Kafka has it.
    """

    topic: pa.Array
    partition: pa.Array
    offset: pa.Array
    timestamp: pa.Array
    key: pa.Array
    headers: pa.Array
    value: pa.Array
    kept: pa.Array
    refused: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Sequence[Any], topic: str = "topic") -> Self:
        """Make a batch of JSON objects for a test: None is a tombstone, offsets begin at 0, all else is null."""
        count = len(values)
        return cls(
            pa.array([topic] * count, pa.string()),
            pa.array([0] * count, pa.int32()),
            pa.array(range(count), pa.int64()),
            pa.nulls(count, TIMESTAMP),
            pa.nulls(count, pa.binary()),
            pa.array([[]] * count, HEADERS),
            pa.array([None if value is None else json_line(value) for value in values], pa.string()),
            pa.array([True] * count, pa.bool_()),
        )

    def __len__(self) -> int:
        return len(self.topic)

    def objects(self) -> list[Any]:
        """Parse the JSON of each value: dicts, lists, texts, numbers; None for a tombstone. Floats keep all their digits.

        Raises TypeError for values with a schema: use ``value``.
        """
        if pa.types.is_struct(self.value.type):
            problem = "values with a schema are no JSON: read the column `value`"
            raise TypeError(problem)
        return [
            None if text is None else json.loads(text.as_py(), parse_float=Literal)
            for text in (text if text.is_valid else None for text in self.value)
        ]

    def with_objects(self, objects: Sequence[Any]) -> Self:
        """Return the batch with these values as JSON; None is a tombstone. Raises TypeError for what JSON has no form for."""
        texts = [None if value is None else json_line(value) for value in objects]
        return replace(self, value=pa.array(texts, pa.string()))

    def changed(self, **columns: Any) -> Self:
        """Return the batch with other ``topic``, ``timestamp``, ``key``, ``headers`` or ``value``."""
        return replace(self, **columns)

    def taken(self, rows: pa.Array) -> Self:
        """Return some of the rows, by their places."""
        columns = {one.name: getattr(self, one.name).take(rows) for one in fields(self) if one.name != "refused"}
        return replace(self, **columns)

    def filter(self, is_kept: Any) -> Self:
        """Return the batch without the records for which the mask is false: a bool column, or a list."""
        mask = is_kept if isinstance(is_kept, pa.Array | pa.ChunkedArray) else pa.array(is_kept, pa.bool_())
        kept = pa.array([one and two for one, two in zip(self.kept.to_pylist(), mask.to_pylist(), strict=True)])
        return replace(self, kept=kept)

    def refuse(self, reasons: Mapping[int, str]) -> Self:
        """Return the batch with rows refused, by their place."""
        return replace(self, refused={**self.refused, **reasons})


# Values as JSON text that reads as the same values: floats keep their digits.


_quote = json.JSONEncoder(ensure_ascii=False).encode
_ascii_quote = json.JSONEncoder(ensure_ascii=True).encode


def json_line(value: Any) -> str:
    """Write a value as JSON, without blanks; bytes in base64 and times as numbers. Raises TypeError for other types."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        form = value if all(type(name) is str for name in value) else json_form(value)
        return "{" + ",".join(f"{_text(name)}:{json_line(entry)}" for name, entry in form.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(json_line, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Literal | Single):
        return value.token if value.token.lstrip("-")[:1].isdigit() else _text(json_form(value))  # else NaN or infinite
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    form = json_form(value)
    if form is value and type(value) is not float:
        problem = f"JSON has no form for Python's {type(value).__name__}"
        raise TypeError(problem)
    return float.__repr__(form) if type(form) is float else json_line(form)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair, which no Arrow column holds as it is
        return _ascii_quote(value)
    return _quote(value)


# The schema of structs that a transform of the user returns.


MAX_DEPTH: Final = 64

_types = pa.types
_PLAIN: Final[tuple[tuple[Callable[[pa.DataType], bool], Kind, str | None], ...]] = (
    (_types.is_boolean, Kind.BOOLEAN, None),
    (_types.is_int8, Kind.INT8, None),
    (_types.is_int16, Kind.INT16, None),
    (_types.is_int32, Kind.INT32, None),
    (_types.is_int64, Kind.INT64, None),
    (_types.is_float32, Kind.FLOAT32, None),
    (_types.is_float64, Kind.FLOAT64, None),
    (_types.is_string, Kind.STRING, None),
    (_types.is_large_string, Kind.STRING, None),
    (_types.is_binary, Kind.BYTES, None),
    (_types.is_large_binary, Kind.BYTES, None),
    (_types.is_date32, Kind.INT32, logical.DATE),
)


def schema_of(kind: pa.DataType, known: ConnectSchema | None, path: str = "value", depth: int = 0) -> ConnectSchema:
    """Return the schema of an Arrow type; what is as in the ``known`` schema of the values keeps that, but may be null.

    Raises ValueError for a type that no schema has, naming the field.
    """
    if known is not None and kind == arrow_type(known):
        return _optional(known)
    if depth > MAX_DEPTH:
        problem = f"{path[:100]} is nested deeper than {MAX_DEPTH}"
        raise ValueError(problem)
    if _types.is_struct(kind):
        return _struct(kind, known, path, depth)
    if _types.is_list(kind) or _types.is_large_list(kind):
        element = known.element if known is not None and known.kind is Kind.ARRAY else None
        return array(schema_of(kind.value_type, element, f"{path}[]", depth + 1), optional=True)
    if _types.is_map(kind):
        key, item = (known.key, known.element) if known is not None and known.kind is Kind.MAP else (None, None)
        keys = schema_of(kind.key_type, key, f"{path} (keys)", depth + 1)
        return map_of(keys, schema_of(kind.item_type, item, f"{path} (values)", depth + 1), optional=True)
    return _leaf(kind, path)


def _optional(schema: ConnectSchema) -> ConnectSchema:
    """Return a schema of which all may be null, but the keys of maps."""
    fields = tuple((name, _optional(inner)) for name, inner in schema.fields)
    element = None if schema.element is None else _optional(schema.element)
    return replace(schema, optional=True, fields=fields, element=element)


def _struct(kind: pa.StructType, known: ConnectSchema | None, path: str, depth: int) -> ConnectSchema:
    names = [field.name for field in kind]
    if len(set(names)) < len(names):
        problem = f"{path} has two fields of one name"
        raise ValueError(problem)
    inner = dict(known.fields) if known is not None and known.kind is Kind.STRUCT else {}
    fields = tuple(
        (field.name, schema_of(field.type, inner.get(field.name), f"{path}.{field.name}", depth + 1)) for field in kind
    )
    if known is not None and known.kind is Kind.STRUCT:
        return replace(known, optional=True, fields=fields)
    return ConnectSchema(Kind.STRUCT, optional=True, fields=fields)


def _leaf(kind: pa.DataType, path: str) -> ConnectSchema:
    found = next(((of, name) for holds, of, name in _PLAIN if holds(kind)), None)
    if found is not None:
        return ConnectSchema(found[0], optional=True, name=found[1])
    if _types.is_decimal128(kind) and 0 <= kind.scale <= MAX_DIGITS:
        return ConnectSchema(Kind.BYTES, True, logical.DECIMAL, parameters=((logical.SCALE, str(kind.scale)),))
    if _types.is_time64(kind) and kind.unit == "us":
        return ConnectSchema(Kind.INT64, True, logical.AVRO_TIME_MICROS)
    if _types.is_timestamp(kind) and kind.unit == "us" and kind.tz in (None, "UTC"):
        name = logical.AVRO_TIMESTAMP_MICROS if kind.tz else logical.AVRO_LOCAL_TIMESTAMP_MICROS
        return ConnectSchema(Kind.INT64, True, name)
    problem = (
        f"{path[:100]} has the Arrow type {str(kind)[:100]}, which no schema has: cast it, timestamps to timestamp[us, "
        "UTC], times to time64[us], unsigned integers to int64"
    )
    raise ValueError(problem)
