"""What the sink's transforms of change data write: a field ``_cdc``, with what kind of change it was, of what, and when."""

from __future__ import annotations

from typing import Any, Final

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.struct_fields import shown
from floe_job.types.java_text import number_text
from floe_job.types.typed_values import Meant

CDC: Final = "_cdc"
OP, TS, OFFSET, SOURCE, TARGET, KEY = "op", "ts", "offset", "source", "target", "key"
"""The fields of ``_cdc``."""

INSERT, UPDATE, DELETE = "I", "U", "D"
_OPERATIONS: Final = {"u": UPDATE, "d": DELETE}

_STRING: Final = ConnectSchema(Kind.STRING)
_FIELDS: Final = (
    (OP, _STRING),
    (TS, ConnectSchema(Kind.INT64, name=logical.TIMESTAMP, version=1)),
    (OFFSET, ConnectSchema(Kind.INT64, optional=True)),
    (SOURCE, _STRING),
    (TARGET, _STRING),
)


def operation_of(op: Any) -> str:
    """Return the operation that Debezium's ``op`` means: what is no update and no delete is an insert."""
    return _OPERATIONS.get(op, INSERT) if isinstance(op, str) else INSERT


def cdc_schema(key: ConnectSchema | None) -> ConnectSchema:
    """Return the schema of ``_cdc``; ``key``: that of the record's key."""
    return ConnectSchema(Kind.STRUCT, fields=(*_FIELDS, *(() if key is None else ((KEY, key),))))


def target_of(pattern: str, database: str | None, table: str | None) -> str:
    """Return the name of the table that a change is for. Raises TransformRefused where a part of the pattern is null."""
    if not pattern:
        return source_of(database, table)
    if database is None or table is None:
        problem = "the source of the event has no name of a database or a table, which cdc.target.pattern needs"
        raise TransformRefused(problem)
    return pattern.replace("{db}", database).replace("{table}", table)


def source_of(database: str | None, table: str | None) -> str:
    """Return the name of the table that a change is from; "null" is there for what is null, as in Java."""
    return f"{'null' if database is None else database}.{'null' if table is None else table}"


def text_of(value: Any, what: str) -> str:
    """Return a value as Java's ``toString``. Raises TransformRefused for null, and for what is no text, number or boolean."""
    if isinstance(value, Meant):
        return text_of(value.raw, what)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        try:
            return number_text(value)
        except OverflowError:
            pass
    problem = f"{what} has to be a text, and is {shown(value)}"
    raise TransformRefused(problem)
