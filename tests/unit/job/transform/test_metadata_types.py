"""KafkaMetadataTransform: each value takes the type of its column, or its record is refused."""

from __future__ import annotations

import base64
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from floe.config.transforms.iceberg import KafkaMetadata
from floe_job.transform.kafka_metadata.columns import MetadataColumns
from floe_job.transform.record_metadata import RecordMetadata
from tests.support.job.metadata_columns import FLAT, MILLIS, NESTED, column, facts, filled, one, struct


@pytest.mark.parametrize(
    ("name", "of", "expected"),
    [
        ("k_offset", IntegerType(), 10),
        ("k_offset", StringType(), "10"),
        ("k_offset", DoubleType(), 10.0),
        ("k_offset", FloatType(), 10.0),
        ("k_offset", DecimalType(38, 2), Decimal("10.00")),
        ("k_timestamp", StringType(), str(MILLIS)),
        ("k_timestamp", DecimalType(13, 0), Decimal(MILLIS)),
        ("k_partition", LongType(), 3),
        ("k_partition", StringType(), "3"),
        ("k_partition", DecimalType(3, 2), Decimal("3.00")),
        ("k_topic", BinaryType(), base64.b64decode("pizzas==")),
    ],
)
def test_a_value_takes_the_type_of_its_column(name, of, expected):
    records = facts(1, topic="pizzasAA" if isinstance(of, BinaryType) else "pizzas")
    expected = base64.b64decode("pizzasAA") if isinstance(of, BinaryType) else expected
    assert one(FLAT, name, of, records) == [expected]


@pytest.mark.parametrize("of", [TimestampType(), TimestamptzType()])
def test_a_timestamp_is_epoch_millis_in_a_timestamp_column(of):
    rows = one(FLAT, "k_timestamp", of, facts(timestamps=[MILLIS, None, 0, -1]))
    assert [row if row is None else row.timestamp() if row.tzinfo else row.isoformat() for row in rows] == (
        [MILLIS / 1000, None, 0.0, -0.001]
        if isinstance(of, TimestamptzType)
        else ["2024-01-02T03:04:05", None, "1970-01-01T00:00:00", "1969-12-31T23:59:59.999000"]
    )


def test_unfit_value_rejects_its_record_only():
    rows, refused = filled(FLAT, column("k_offset", IntegerType()), of=facts(offsets=[1, 2**31, 2**31 - 1, 2**40]))
    assert rows == [{"k_offset": 1}, {"k_offset": 2**31 - 1}]
    assert refused == [
        (1, "column 'k_offset': cannot convert number 2147483648 to int, out of range"),
        (3, "column 'k_offset': cannot convert number 1099511627776 to int, out of range"),
    ]


def test_the_rows_of_refused_records_are_left_out():
    schema = Schema(column("a", LongType(), field_id=1), column("k_offset", IntegerType(), field_id=2))
    columns = MetadataColumns(schema, [FLAT])
    rows = pa.table([pa.chunked_array([[1, 2], [3]])], schema=schema_to_pyarrow(columns.record_schema))
    table, refused = columns.fill(rows, facts(offsets=[7, 2**31, 8]))
    assert table.to_pylist() == [{"a": 1, "k_offset": 7}, {"a": 3, "k_offset": 8}]
    assert [index for index, _, _ in refused] == [1]


def test_arrays_are_kept_in_step_with_refused_records():
    records = RecordMetadata("t", 0, pa.array([1, 2**31, 3]), np.array([7, 8, 9]), [b"a", b"b", b"c"])
    fields = (column("k_offset", IntegerType(), field_id=2), column("k_timestamp", LongType(), field_id=3))
    transform = KafkaMetadata("k", key=True)
    rows, refused = filled(transform, *fields, column("k_key", StringType(), field_id=4), of=records)
    assert [tuple(row.values()) for row in rows] == [(1, 7, "a"), (3, 9, "c")]
    assert [index for index, _ in refused] == [1]


def test_a_constant_that_does_not_fit_refuses_every_record():
    rows, refused = filled(FLAT, column("k_topic", LongType()), of=facts())
    assert rows == []
    reason = "column 'k_topic': cannot convert string 'pizzas' to long"
    assert refused == [(0, reason), (1, reason)]


def test_a_refusal_inside_the_struct_has_the_full_name():
    of = struct(column("offset", IntegerType(), field_id=13), column("topic", BooleanType(), field_id=14))
    rows, refused = filled(NESTED, column("k", of), of=facts(1, offsets=[2**31]))
    assert rows == []
    assert refused == [(0, "column 'k.offset': cannot convert number 2147483648 to int, out of range")]


def test_first_column_is_named_of_several_rejections():
    fields = (column("k_timestamp", DateType(), field_id=2), column("k_offset", IntegerType(), field_id=3))
    _, refused = filled(FLAT, *fields, of=facts(1, offsets=[2**31]))
    assert [(index, reason.split(":")[0]) for index, reason in refused] == [(0, "column 'k_timestamp'")]


def test_null_in_a_required_column_refuses_the_record():
    expected = "null in a required column"
    records = facts(timestamps=[MILLIS, None], keys=[None, b"x"])
    _, refused = filled(FLAT, column("k_timestamp", LongType(), required=True), of=records)
    assert refused == [(1, f"column 'k_timestamp': {expected}")]
    _, refused = filled(KafkaMetadata("k", key=True), column("k_key", StringType(), required=True), of=records)
    assert refused == [(0, f"column 'k_key': {expected}")]
    of = struct(column("timestamp", LongType(), required=True, field_id=9))
    _, refused = filled(NESTED, column("k", of, required=True), of=records)
    assert refused == [(1, f"column 'k.timestamp': {expected}")]


def test_required_columns_that_never_are_null_are_filled():
    fields = [column(n, StringType(), required=True, field_id=i) for i, n in enumerate(FLAT.columns, start=2)]
    rows, refused = filled(FLAT, *fields, of=facts(1))
    assert refused == []
    assert rows == [{"k_topic": "pizzas", "k_partition": "3", "k_offset": "10", "k_timestamp": str(MILLIS)}]


def test_fields_that_the_struct_has_besides_are_null():
    inner = struct(column("x", UUIDType(), field_id=14))
    more = (column("more", inner, field_id=11), column("key", StringType(), field_id=12))
    of = struct(column("id", UUIDType(), field_id=10), column("offset", LongType(), field_id=13), *more)
    assert one(NESTED, "k", of, facts(1)) == [{"id": None, "offset": 10, "more": None, "key": None}]


def test_a_required_field_that_nobody_fills_refuses_every_record():
    of = struct(column("x", LongType(), required=True, field_id=10), column("offset", LongType(), field_id=13))
    rows, refused = filled(NESTED, column("k", of), of=facts())
    assert rows == []
    assert refused == [(i, "column 'k.x': null in a required column") for i in range(2)]
