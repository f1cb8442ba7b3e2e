"""Columns of Kafka's metadata, and the records that fill them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, LongType, NestedField, StructType

from floe.config.transforms.iceberg import KafkaMetadata
from floe_job.transform.kafka_metadata.columns import MetadataColumns
from floe_job.transform.record_metadata import RecordMetadata

MILLIS = 1_704_164_645_000  # 2024-01-02T03:04:05Z


FLAT = KafkaMetadata("k")


NESTED = KafkaMetadata("k", nested=True)
HEADED = KafkaMetadata("k", headers=True)


def facts(
    count: int = 2,
    *,
    topic: str = "pizzas",
    partition: int = 3,
    offsets: Sequence[int] | None = None,
    timestamps: Sequence[int | None] | None = None,
    keys: Sequence[bytes | None] | None = None,
    headers: Sequence[list[tuple[str, bytes | None]] | None] | None = None,
) -> RecordMetadata:
    """Make facts of records at offsets 10, 11 …, a second apart."""
    given = [entries for entries in (offsets, timestamps, keys, headers) if entries is not None]
    length = len(given[0]) if given else count
    return RecordMetadata(
        topic,
        partition,
        list(range(10, 10 + length)) if offsets is None else offsets,
        [MILLIS + 1000 * i for i in range(length)] if timestamps is None else timestamps,
        keys,
        headers,
    )


def column(name: str, of: IcebergType, *, required: bool = False, field_id: int = 50) -> NestedField:
    """Return a column; optional unless required."""
    return NestedField(field_id, name, of, required=required)


def struct(*fields: NestedField) -> StructType:
    """Return a struct of these fields."""
    return StructType(*fields)


def rows_of(columns: MetadataColumns, count: int) -> pa.Table:
    """Make rows of the record schema, all null."""
    assert columns.record_schema is not None
    schema = schema_to_pyarrow(columns.record_schema)
    return pa.table([pa.nulls(count, field.type) for field in schema], schema=schema)


def filled(
    transform: KafkaMetadata, *fields: NestedField, of: RecordMetadata
) -> tuple[list[Any], list[tuple[int, str]]]:
    """Fill a table of one column ``a`` and these; give the rows without it, and what was refused."""
    schema = Schema(column("a", LongType(), field_id=1), *fields)
    columns = MetadataColumns(schema, [transform])
    table, refused = columns.fill(rows_of(columns, len(of)), of)
    table.validate(full=True)
    assert table.schema.equals(schema_to_pyarrow(schema), check_metadata=True)
    assert {kind for _, kind, _ in refused} <= {"Unconvertible"}
    assert table.num_rows == len(of) - len(refused)
    return table.drop_columns("a").to_pylist(), [(index, reason) for index, _, reason in refused]


def one(transform: KafkaMetadata, name: str, of: IcebergType, records: RecordMetadata) -> list[Any]:
    """Fill one column, of which nothing is refused; give its values in Arrow's storage form."""
    schema = Schema(column(name, of))
    table, refused = MetadataColumns(schema, [transform]).fill(pa.table({}), records)
    assert refused == []
    array = table[name].combine_chunks()
    return (array.storage if isinstance(array, pa.ExtensionArray) else array).to_pylist()
