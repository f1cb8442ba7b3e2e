"""Rows and change events as records: JSON without schemas, JSON in envelopes with schemas, Avro."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyiceberg.types import LongType, StringType

from bench.formats.base import CONFLUENT_API, Registry, frame
from bench.formats.orders import Fields
from bench.records import Headers, Shape
from bench.transforms.rows import EVENT_FIELDS, FIELDS, change, row
from bench.transforms.schemas import avro_schema, connect_schema
from floe.schema_registry.schema import SchemaText
from stack.subjects import register

MARK: Final = "test"
"""The header that every second record has."""
TIME_FORMAT: Final = "yyyy-MM-dd HH:mm:ss"
"""How ``ordered_at`` is written in JSON without schemas, for SimpleDateFormat; ``updated_at`` is epoch ms there."""

_KINDS: Final = {"store_id": LongType(), "ordered_at": StringType(), "updated_at": LongType()}
PLAIN_FIELDS: Final[Fields] = tuple((name, _KINDS.get(name, kind)) for name, kind in FIELDS)
"""The columns for rows as JSON without schemas."""


@dataclass(frozen=True)
class RowShape(Shape):
    """``format``: of the values; ``is_change``: change events in place of rows; picklable."""

    format: str = "json"
    is_change: bool = False
    is_marked: bool = False
    schema_id: int = 0

    def values(self, first: int, count: int) -> Iterator[bytes]:
        """Yield records ``first`` to ``first + count``."""
        make = change if self.is_change else row
        encode = _ENCODERS[self.format](self)
        return (encode(make(number)) for number in range(first, first + count))

    def headers(self, number: int) -> Headers:
        """Return the mark of every second record, if records are marked, and one header that all have."""
        if not self.is_marked:
            return []
        return [("origin", b"shop"), (MARK, b"1")] if number % 2 else [("origin", b"shop")]


def shape_of(name: str, registry: Registry, *, is_change: bool = False) -> RowShape:
    """Return rows or change events in a format with schemas; that of Avro is registered."""
    kind = "changes" if is_change else "rows"
    schema_id = 0
    if name == "avro":
        schema = SchemaText("AVRO", json.dumps(avro_schema(is_change=is_change)))
        schema_id = register(f"{registry}{CONFLUENT_API}", f"bench-{kind}-value", schema.text, str(schema.type))
    fields = EVENT_FIELDS if is_change else FIELDS
    return RowShape(f"{kind} as {name}", fields, name, is_change, schema_id=schema_id)


Encoder = Callable[[dict[str, Any]], bytes]


def _json(_: RowShape) -> Encoder:
    def encode(value: dict[str, Any]) -> bytes:
        time = datetime.fromtimestamp(value["ordered_at"] / 1000, UTC)
        return json.dumps({**value, "ordered_at": f"{time:%Y-%m-%d %H:%M:%S}"}, separators=(",", ":")).encode()

    return encode


def _envelope(shape: RowShape) -> Encoder:
    text = json.dumps({"schema": connect_schema(is_change=shape.is_change), "payload": None}, separators=(",", ":"))
    head = text.removesuffix("null}")
    return lambda value: f"{head}{json.dumps(value, separators=(',', ':'))}}}".encode()


def _avro(shape: RowShape) -> Encoder:
    from fastavro import parse_schema, schemaless_writer

    head, schema = frame(shape.schema_id), parse_schema(avro_schema(is_change=shape.is_change))

    def encode(value: dict[str, Any]) -> bytes:
        datum = io.BytesIO()
        schemaless_writer(datum, schema, value)
        return head + datum.getvalue()

    return encode


_ENCODERS: Final[dict[str, Callable[[RowShape], Encoder]]] = {"json": _json, "envelope": _envelope, "avro": _avro}
