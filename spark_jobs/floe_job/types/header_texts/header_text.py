"""A value with its schema as the text of a header, as Connect's ``SimpleHeaderConverter`` writes it.

Numbers are as Java 19 and later writes them. A map of texts, whole numbers or booleans has the order of Java's ``HashMap``,
which Connect's JsonConverter makes; a map with other keys keeps its own order.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.types.header_texts.hash_order import in_hash_order
from floe_job.types.header_texts.literal_writer import date_text, quoted
from floe_job.types.header_texts.utf8 import utf8
from floe_job.types.java_text import number_text
from floe_job.types.number_tokens import Single
from floe_job.types.temporal import MILLIS_PER_DAY
from floe_job.types.typed_values import Day, DayTime, Meant, Moment

MAX_DEPTH: Final = 200
"""Lists, maps and structs inside one another."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def header_text(schema: ConnectSchema | None, value: Any) -> bytes | None:
    """Return what a header holds of a value; None for null. ``schema``: None for a value without one.

    Raises ValueError for a value that Connect has not: an integer of more than 64 bits, or one that is nested too deep.
    """
    return None if value is None else utf8(_text(schema, value, 0))


def _text(schema: ConnectSchema | None, value: Any, depth: int) -> str:
    """Write a value; from a ``depth`` of 1 on, it is inside another."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return quoted(value) if depth else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number(schema, value)
    if isinstance(value, dict | list):
        return _nested(schema, value, depth + 1)
    return _typed(schema, value, depth)


def _number(schema: ConnectSchema | None, value: int | float) -> str:
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            problem = f"an integer of {value.bit_length()} bits cannot be in a header: Kafka Connect has 64"
            raise ValueError(problem)
        return str(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    is_single = isinstance(value, Single) or (schema is not None and schema.kind is Kind.FLOAT32)
    return number_text(Single(value) if is_single else float(value))


def _typed(schema: ConnectSchema | None, value: Any, depth: int) -> str:
    if isinstance(value, Decimal):
        return str(value if value else value.copy_abs())
    if isinstance(value, bytes):
        text = base64.b64encode(value).decode()
        return f'"{text}"' if depth else text
    if isinstance(value, Day):
        return date_text(value.days * MILLIS_PER_DAY)
    if isinstance(value, DayTime | Moment):
        return date_text(value.micros // 1000) if value.raw is None else str(value.raw)
    if isinstance(value, Meant):
        return _text(schema, value.raw, depth)
    problem = f"a value of the type {type(value).__name__} cannot be in a header: it is no value of Kafka Connect"
    raise ValueError(problem)


def _nested(schema: ConnectSchema | None, value: dict[Any, Any] | list[Any], depth: int) -> str:
    if depth > MAX_DEPTH:
        problem = (
            f"a value has more than {MAX_DEPTH} lists, maps and structs inside one another: it cannot be in a header"
        )
        raise ValueError(problem)
    inner = None if schema is None else schema.element
    if isinstance(value, list):
        return "[" + ",".join(_text(inner, entry, depth) for entry in value) + "]"
    if schema is not None and schema.kind is Kind.STRUCT:
        return "{" + ",".join(_fields(schema, value, depth)) + "}"
    key_schema = None if schema is None else schema.key
    entries = in_hash_order(value, is_long=key_schema is None or key_schema.kind is Kind.INT64)
    return (
        "{" + ",".join(f"{_text(key_schema, key, depth)}:{_text(inner, entry, depth)}" for key, entry in entries) + "}"
    )


def _fields(schema: ConnectSchema, value: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Write the fields of a struct in its schema's order. A null stays null, whatever its field's default."""
    for name, inner in schema.fields:
        yield f"{quoted(name)}:{_text(inner, value.get(name), depth)}"
