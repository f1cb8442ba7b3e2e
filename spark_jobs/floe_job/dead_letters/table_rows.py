"""Rows of the dead-letter table."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from floe.model.dead_letters import DeadLetterKind
from floe_job.contract.dead_letter import DeadLetter
from floe_job.exceptions import DeadLetterTableUnsuitable

DEAD_LETTERS_SCHEMA: Final = Schema(
    NestedField(1, "topic", StringType(), required=True),
    NestedField(2, "partition", IntegerType(), required=True),
    NestedField(3, "offset", LongType(), required=True),
    NestedField(4, "kind", StringType(), required=True),
    NestedField(5, "timestamp", TimestamptzType(), required=False),
    NestedField(6, "key", BinaryType(), required=False),
    NestedField(7, "value", BinaryType(), required=False),
    NestedField(
        8,
        "headers",
        ListType(
            element_id=15,
            element_type=StructType(
                NestedField(16, "key", StringType(), required=True),
                NestedField(17, "value", BinaryType(), required=False),
            ),
            element_required=True,
        ),
        required=False,
    ),
    NestedField(9, "table", StringType(), required=False, doc="null: refused before routing"),
    NestedField(10, "stage", StringType(), required=False),
    NestedField(11, "error", StringType(), required=False),
    NestedField(12, "reason", StringType(), required=False),
    NestedField(13, "connector", StringType(), required=False),
    NestedField(14, "commit_id", StringType(), required=False, doc="UUID of the run that appended the row"),
    NestedField(18, "topic_id", StringType(), required=False, doc="which of the topics that had this name"),
)
"""The schema that floe creates the table with, unpartitioned. Rows are only ever appended: a resolved dead letter gets a
second row, of kind ``resolved``."""

_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999
"""Years 1 to 9999 in epoch ms. A producer may send any number; outside of this range, most readers of a table fail."""


def check_suitable(table: str, schema: Schema) -> None:
    """Raise DeadLetterTableUnsuitable unless any dead letter can be a row of ``schema``.

    Columns are matched by name. Columns that dead letters do not have stay null, and so must be optional.
    """
    found = {field.name: field for field in schema.fields}
    for needed in DEAD_LETTERS_SCHEMA.fields:
        column = found.pop(needed.name, None)
        if column is None:
            msg = f"has no column {needed.name!r}: add it as {_spelled(needed.field_type)}"
        elif not _holds(column.field_type, needed.field_type):
            msg = (
                f"has column {needed.name!r} of type {_spelled(column.field_type)}, {_spelled(needed.field_type)} is "
                "needed: change the column"
            )
        elif column.required and not needed.required:
            msg = f"requires column {needed.name!r}, which dead letters may not have: make the column optional"
        else:
            continue
        raise _unsuitable(table, msg)
    for column in found.values():
        if column.required:
            msg = f"requires column {column.name!r}, which dead letters do not have: make it optional or drop it"
            raise _unsuitable(table, msg)


def dead_letters_to_arrow(
    dead_letters: Sequence[DeadLetter],
    schema: Schema,
    connector: str,
    commit_id: str,
    *,
    table: str,
) -> pa.Table:
    """Make rows of dead letters, in the Arrow schema of the dead-letter table's ``schema``.

    ``commit_id`` is the run's UUID as text. Raises DeadLetterTableUnsuitable, naming ``table``.
    """
    check_suitable(table, schema)
    values: Mapping[str, list[Any]] = {
        "topic": [dead_letter.topic for dead_letter in dead_letters],
        "topic_id": [dead_letter.topic_id for dead_letter in dead_letters],
        "partition": [dead_letter.partition for dead_letter in dead_letters],
        "offset": [dead_letter.offset for dead_letter in dead_letters],
        "timestamp": [_microseconds(dead_letter.timestamp) for dead_letter in dead_letters],
        "key": [dead_letter.key for dead_letter in dead_letters],
        "value": [dead_letter.value for dead_letter in dead_letters],
        "table": [dead_letter.table for dead_letter in dead_letters],
        "stage": [dead_letter.stage for dead_letter in dead_letters],
        "error": [dead_letter.error for dead_letter in dead_letters],
        "reason": [dead_letter.short_reason for dead_letter in dead_letters],
    }
    constants = {"kind": DeadLetterKind.DEAD.value, "connector": connector, "commit_id": commit_id}

    def column(field: pa.Field) -> pa.Array:
        if field.name in values:
            return _array(values[field.name], field.type)
        if field.name in constants:
            return pa.repeat(pa.scalar(constants[field.name], field.type), len(dead_letters))
        return (
            _headers(dead_letters, field.type) if field.name == "headers" else pa.nulls(len(dead_letters), field.type)
        )

    arrow = schema_to_pyarrow(schema)
    return pa.Table.from_arrays([column(field) for field in arrow], schema=arrow)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Make a column; dead letters of one task mostly have the same topic, table, stage and error."""
    if values and values.count(values[0]) == len(values):
        return pa.repeat(pa.scalar(values[0], kind), len(values))
    return pa.array(values, kind)


def _headers(dead_letters: Sequence[DeadLetter], kind: pa.DataType) -> pa.Array:
    found = [header for dead_letter in dead_letters for header in dead_letter.headers]
    inside = {"key": [_text(key) for key, _ in found], "value": [value for _, value in found]}
    entries = [pa.array(inside[field.name], field.type) for field in kind.value_type]
    counts = [0, *(len(dead_letter.headers) for dead_letter in dead_letters)]
    structs = pa.StructArray.from_arrays(entries, fields=list(kind.value_type))
    return pa.LargeListArray.from_arrays(pa.array(np.cumsum(counts)), structs, type=kind)


def _holds(found: IcebergType, needed: IcebergType) -> bool:
    """Return whether a column of type ``found`` takes all values of ``needed``; an optional one may take required values."""
    if isinstance(found, ListType) and isinstance(needed, ListType):
        return _holds(found.element_type, needed.element_type)
    if isinstance(found, StructType) and isinstance(needed, StructType):
        fields = {field.name: field for field in found.fields}
        return fields.keys() == {field.name for field in needed.fields} and all(
            _holds(fields[n.name].field_type, n.field_type) and n.required >= fields[n.name].required
            for n in needed.fields
        )
    return found == needed


def _spelled(kind: IcebergType) -> str:
    """Return the text of a type without the ids that PyIceberg shows, and with what must not be null."""
    if isinstance(kind, ListType):
        return f"list<{_spelled(kind.element_type)}>"
    if isinstance(kind, StructType):
        inside = ", ".join(
            f"{field.name}: {_spelled(field.field_type)}{' required' if field.required else ''}"
            for field in kind.fields
        )
        return f"struct<{inside}>"
    return str(kind)


def _unsuitable(table: str, problem: str) -> DeadLetterTableUnsuitable:
    return DeadLetterTableUnsuitable(
        f"dead-letter table {table!r} {problem}, or name a table in floe.deadletter.table that does not exist yet: floe "
        "creates it"
    )


def _microseconds(timestamp: int | None) -> int | None:
    return timestamp * 1000 if timestamp is not None and _EARLIEST <= timestamp <= _LATEST else None


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
