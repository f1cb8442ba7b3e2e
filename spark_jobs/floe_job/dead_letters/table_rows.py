"""Rows of the dead-letter table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from floe.model.dead_letters import DeadLetterKind
from floe.tables.dead_letter_schema import check_suitable
from floe_job.contract.dead_letter import DeadLetter

_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999
"""Years 1 to 9999 in epoch ms. A producer may send any number; outside of this range, most readers of a table fail."""


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


def _microseconds(timestamp: int | None) -> int | None:
    return timestamp * 1000 if timestamp is not None and _EARLIEST <= timestamp <= _LATEST else None


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
