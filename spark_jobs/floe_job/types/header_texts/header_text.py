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
from floe_job.types.header_texts.values import JavaDate, JavaMap, Value, utf8
from floe_job.types.java_dates import SimpleDate
from floe_job.types.java_text import number_text
from floe_job.types.numbers import Single
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


# Values of literals as text, as Connect's ``Values.convertToString`` writes them.


_TIME: Final = "HH:mm:ss.SSS'Z'"
_DATE: Final = "yyyy-MM-dd"
_TIMESTAMP: Final = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"


def date_text(millis: int) -> str:
    """Write a ``java.util.Date``: before 1970-01-02 as a time, at midnight as a date, else as both."""
    pattern = _TIME if millis < MILLIS_PER_DAY else _DATE if millis % MILLIS_PER_DAY == 0 else _TIMESTAMP
    return SimpleDate.of(pattern).format(millis)


def quoted(text: str) -> str:
    """Write a text inside an array, a map or a struct."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def value_text(value: Value | None, *, is_inside: bool = False) -> str:
    """Write a value; ``is_inside``: of an array or a map."""
    if value is None:
        return "null"
    content = value.content
    if isinstance(content, str):
        return quoted(content) if is_inside else content
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, Decimal):
        return str(content)
    if isinstance(content, JavaDate):
        return date_text(content.millis)
    if isinstance(content, list):
        return "[" + ",".join(value_text(entry, is_inside=True) for entry in content) + "]"
    if isinstance(content, JavaMap):
        entries = (
            f"{value_text(key, is_inside=True)}:{value_text(inner, is_inside=True)}" for key, inner in content.entries()
        )
        return "{" + ",".join(entries) + "}"
    return number_text(content)


# The order of Java's ``HashMap``: by the hashes of the keys, in a table that grows with the map.


_FIRST_SIZE: Final = 16
_MAX_BIN: Final = 8
"""Keys in one place of the table; with more, Java makes a tree of them."""


def in_hash_order(entries: Mapping[Any, Any], *, is_long: bool) -> list[tuple[Any, Any]]:
    """Return the entries in the order in which a HashMap has them that they were put into one by one.

    ``is_long``: whole numbers are of 64 bits. Keys that are no texts, whole numbers or booleans stay in their order.
    Raises ValueError if too many keys share a place of the table.
    """
    pairs = list(entries.items())
    if len(pairs) < 2 or any(not isinstance(key, str | int) for key in entries):
        return pairs
    hashes = [_spread(_hash(key, is_long=is_long)) for key in entries]
    size = _FIRST_SIZE
    while True:
        _check_bins(hashes[: size * 3 // 4 + 1], size)
        if len(pairs) <= size * 3 // 4:
            break
        size *= 2
    order = sorted(range(len(pairs)), key=lambda place: hashes[place] & (size - 1))
    return [pairs[place] for place in order]


def _check_bins(hashes: list[int], size: int) -> None:
    if len(hashes) <= _MAX_BIN:
        return
    counts: dict[int, int] = {}
    for each in hashes:
        place = each & (size - 1)
        counts[place] = counts.get(place, 0) + 1
    if max(counts.values()) > _MAX_BIN:
        problem = f"more than {_MAX_BIN} keys of a map have one place in Java's table: its order is not known"
        raise ValueError(problem)


def _spread(value: int) -> int:
    return value ^ value >> 16


def _hash(key: str | int, *, is_long: bool) -> int:
    """Return Java's ``hashCode``, as a number without sign."""
    if isinstance(key, bool):
        return 1231 if key else 1237
    if isinstance(key, int):
        return ((key ^ key >> 32) if is_long else key) & 0xFFFFFFFF
    value = 0
    encoded = key.encode("utf-16-be", "surrogatepass")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value
