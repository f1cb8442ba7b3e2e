"""The schema of the dead-letter table, and which tables can be it."""

from __future__ import annotations

from typing import Final

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

from floe.tables.exceptions import DeadLetterTableUnsuitable

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
