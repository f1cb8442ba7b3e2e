"""Primitive types: Iceberg's names and their Avro types."""

from __future__ import annotations

import re
from collections.abc import Mapping

LOGICAL: Mapping[str, Mapping[str, object]] = {
    "boolean": {"type": "boolean"},
    "int": {"type": "int"},
    "long": {"type": "long"},
    "float": {"type": "float"},
    "double": {"type": "double"},
    "string": {"type": "string"},
    "binary": {"type": "bytes"},
    "unknown": {"type": "null"},
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    "timestamp_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    "timestamptz_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
    "uuid": {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"},
}
_DECIMAL = re.compile(r"decimal\(([0-9]{1,2}),([0-9]{1,2})\)")
_FIXED = re.compile(r"fixed\[([0-9]{1,9})\]")
MAX_PRECISION = 38


def decimal_of(name: str) -> tuple[int, int] | None:
    """Return precision and scale if this is the name of a decimal type."""
    match = _DECIMAL.fullmatch(name)
    if match is None or not 1 <= int(match[1]) <= MAX_PRECISION:
        return None
    return int(match[1]), int(match[2])


def fixed_of(name: str) -> int | None:
    """Return the length in bytes if this is the name of a fixed type."""
    match = _FIXED.fullmatch(name)
    return None if match is None else int(match[1])


def decimal_bytes(precision: int) -> int:
    """Return how many bytes Java uses for a decimal of this precision."""
    return int(10**precision).bit_length() // 8 + 1
