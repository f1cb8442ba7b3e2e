"""The columns that a schema of Connect proposes, as the sink makes them.

int8, int16, int32 → int · int64 → long · float32 → float · float64 → double · string, boolean, bytes → themselves ·
Decimal → decimal(38, scale) · Date → date · Time → time · Timestamp → timestamptz · array → list · map · struct

Avro's micros and local timestamps, which are plain longs to the sink, propose what Avro says they are. So do Debezium's
semantic types (``floe_job.connect.debezium``) where a column can hold all their values: nanoseconds stay longs, and decimals
of any scale become text.
"""

from __future__ import annotations

from typing import Final, cast

from floe_job.connect import debezium, logical
from floe_job.connect.arrow import MAX_DIGITS, is_decimal, scale_of
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.schema.proposal import ListOf, MapOf, Proposal, Required, StructOf

_PLAIN: Final[dict[Kind, str]] = {
    Kind.BOOLEAN: "boolean",
    Kind.INT8: "int",
    Kind.INT16: "int",
    Kind.INT32: "int",
    Kind.INT64: "long",
    Kind.FLOAT32: "float",
    Kind.FLOAT64: "double",
    Kind.STRING: "string",
    Kind.BYTES: "binary",
}
_LOGICAL: Final[dict[tuple[Kind, str], str]] = {
    (Kind.INT32, logical.DATE): "date",
    (Kind.INT32, logical.TIME): "time",
    (Kind.INT64, logical.TIMESTAMP): "timestamptz",
    (Kind.INT64, logical.AVRO_TIME_MICROS): "time",
    (Kind.INT64, logical.AVRO_TIMESTAMP_MICROS): "timestamptz",
    (Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MILLIS): "timestamp",
    (Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MICROS): "timestamp",
    (Kind.STRING, logical.UUID): "uuid",
}
_MEANT: Final[dict[str, str]] = {
    debezium.DATE: "date",
    debezium.TIME_MILLIS: "time",
    debezium.TIME_MICROS: "time",
    debezium.TIMESTAMP_MILLIS: "timestamp",
    debezium.TIMESTAMP_MICROS: "timestamp",
    debezium.ZONED_TIMESTAMP: "timestamptz",
    debezium.ISO_DATE: "date",
    debezium.ISO_TIME: "time",
    debezium.ISO_TIMESTAMP: "timestamp",
    debezium.UUID: "uuid",
    debezium.DECIMAL: "string",
}


def proposal_of(schema: ConnectSchema, *, force_optional: bool = False) -> Proposal | None:
    """Propose a column for a schema; None for a struct without fields, and for what holds nothing else.

    What its schema requires is required, unless ``force_optional`` (``iceberg.tables.schema-force-optional``).
    """
    bare = _bare(schema, force_optional=force_optional)
    return bare if bare is None or schema.optional or force_optional else Required(bare)


def _bare(schema: ConnectSchema, *, force_optional: bool) -> str | ListOf | MapOf | StructOf | None:
    if meant := _MEANT.get(debezium.meaning_of(schema)):
        return meant
    if schema.kind is Kind.STRUCT:
        found = ((name, proposal_of(inner, force_optional=force_optional)) for name, inner in schema.fields)
        fields = tuple((name, proposal) for name, proposal in found if proposal is not None)
        return StructOf(fields) if fields else None
    if schema.kind is Kind.ARRAY:
        element = proposal_of(cast(ConnectSchema, schema.element), force_optional=force_optional)
        return None if element is None else ListOf(element)
    if schema.kind is Kind.MAP:
        key = _bare(cast(ConnectSchema, schema.key), force_optional=True)
        value = proposal_of(cast(ConnectSchema, schema.element), force_optional=force_optional)
        return None if key is None or value is None else MapOf(key, value)
    if is_decimal(schema):
        return f"decimal({MAX_DIGITS}, {scale_of(schema)})"
    return _LOGICAL.get((schema.kind, schema.name or ""), _PLAIN[schema.kind])
