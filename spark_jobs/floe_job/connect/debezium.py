"""Debezium's semantic types: the names of its schemas say what numbers and texts mean (``floe.debezium.types``).

To the sink, and without that key, they are what they are without the name. Types whose values are already what they
mean are not here: Json, Xml, Enum, EnumSet, Ltree, Bits, Year, Interval, durations, geometry; nor is ZonedTime, as no column
has a time with a zone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from floe_job.connect.schema import ConnectSchema, Kind

DATE: Final = "debezium.date"
"""int32: days since 1970-01-01."""
TIME_MILLIS: Final = "debezium.time-millis"
"""int32: milliseconds since midnight."""
TIME_MICROS: Final = "debezium.time-micros"
"""int64: microseconds since midnight."""
TIME_NANOS: Final = "debezium.time-nanos"
"""int64: nanoseconds since midnight."""
TIMESTAMP_MILLIS: Final = "debezium.timestamp-millis"
"""int64: milliseconds since 1970-01-01T00:00:00 of no zone."""
TIMESTAMP_MICROS: Final = "debezium.timestamp-micros"
"""int64: microseconds since 1970-01-01T00:00:00 of no zone."""
TIMESTAMP_NANOS: Final = "debezium.timestamp-nanos"
"""int64: nanoseconds since 1970-01-01T00:00:00 of no zone."""
ZONED_TIMESTAMP: Final = "debezium.zoned-timestamp"
"""A string: ISO 8601 with an offset from UTC."""
ISO_DATE: Final = "debezium.iso-date"
"""A string: a date, and ``Z``."""
ISO_TIME: Final = "debezium.iso-time"
"""A string: a time of the day, and ``Z``."""
ISO_TIMESTAMP: Final = "debezium.iso-timestamp"
"""A string: date and time of no zone, and ``Z``."""
UUID: Final = "debezium.uuid"
"""A string: a UUID in its canonical form."""
DECIMAL: Final = "debezium.decimal"
"""A struct of ``scale`` (int32) and ``value`` (bytes: the unscaled value, big-endian two's complement)."""

SCALE, VALUE = "scale", "value"

_NAMES: Final[dict[tuple[Kind, str], str]] = {
    (Kind.INT32, "io.debezium.time.Date"): DATE,
    (Kind.INT32, "io.debezium.time.Time"): TIME_MILLIS,
    (Kind.INT64, "io.debezium.time.MicroTime"): TIME_MICROS,
    (Kind.INT64, "io.debezium.time.NanoTime"): TIME_NANOS,
    (Kind.INT64, "io.debezium.time.Timestamp"): TIMESTAMP_MILLIS,
    (Kind.INT64, "io.debezium.time.MicroTimestamp"): TIMESTAMP_MICROS,
    (Kind.INT64, "io.debezium.time.NanoTimestamp"): TIMESTAMP_NANOS,
    (Kind.STRING, "io.debezium.time.ZonedTimestamp"): ZONED_TIMESTAMP,
    (Kind.STRING, "io.debezium.time.IsoDate"): ISO_DATE,
    (Kind.STRING, "io.debezium.time.IsoTime"): ISO_TIME,
    (Kind.STRING, "io.debezium.time.IsoTimestamp"): ISO_TIMESTAMP,
    (Kind.STRING, "io.debezium.data.Uuid"): UUID,
    (Kind.STRUCT, "io.debezium.data.VariableScaleDecimal"): DECIMAL,
}


_KINDS: Final = {name: kind for (kind, _), name in _NAMES.items()}


def meant(schema: ConnectSchema) -> ConnectSchema:
    """Return a schema with the names of this module in the place of Debezium's, at every depth. Its values are the same."""
    return replace(
        schema,
        name=_NAMES.get((schema.kind, schema.name or ""), schema.name),
        fields=tuple((field, meant(inner)) for field, inner in schema.fields),
        key=None if schema.key is None else meant(schema.key),
        element=None if schema.element is None else meant(schema.element),
    )


def meaning_of(schema: ConnectSchema) -> str:
    """Return the name of this module that a schema has; "" for one that has none, or not the type for it."""
    name = schema.name or ""
    if _KINDS.get(name) is not schema.kind:
        return ""
    fields = {field: inner.kind for field, inner in schema.fields}
    return name if name != DECIMAL or fields == {SCALE: Kind.INT32, VALUE: Kind.BYTES} else ""
