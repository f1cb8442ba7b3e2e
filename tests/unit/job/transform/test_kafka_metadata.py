"""KafkaMetadataTransform as a column or a struct: which fields there are, and in which rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    TimestampNanoType,
    TimestamptzType,
    UUIDType,
)

from floe.config.transforms.iceberg import KafkaMetadata
from floe.parquet.exceptions import UnsupportedColumn
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.proposal import ColumnRules, ListOf, StructOf
from floe_job.transform.kafka_metadata.columns import MetadataColumns
from tests.support.job.metadata_columns import FLAT, MILLIS, NESTED, column, facts, filled, one, rows_of, struct

HEADERS = ListOf(StructOf((("key", "string"), ("value", "string"))))


def test_flat_fields_carry_the_field_name():
    rows, refused = filled(
        FLAT,
        column("k_topic", StringType(), field_id=2),
        column("k_partition", IntegerType(), field_id=3),
        column("k_offset", LongType(), field_id=4),
        column("k_timestamp", LongType(), field_id=5),
        of=facts(),
    )
    assert refused == []
    assert rows == [
        {"k_topic": "pizzas", "k_partition": 3, "k_offset": 10, "k_timestamp": MILLIS},
        {"k_topic": "pizzas", "k_partition": 3, "k_offset": 11, "k_timestamp": MILLIS + 1000},
    ]


def test_the_field_name_has_the_sinks_default():
    assert MetadataColumns(None, [KafkaMetadata()]).injected == {
        "_kafka_metadata_topic", "_kafka_metadata_partition", "_kafka_metadata_offset", "_kafka_metadata_timestamp",
    }  # fmt: skip


def test_nested_fields_are_one_struct():
    of = struct(
        column("topic", StringType(), field_id=11),
        column("partition", IntegerType(), field_id=12),
        column("offset", LongType(), field_id=13),
        column("timestamp", LongType(), field_id=14),
    )
    rows, refused = filled(NESTED, column("k", of), of=facts(1))
    assert refused == []
    assert rows == [{"k": {"topic": "pizzas", "partition": 3, "offset": 10, "timestamp": MILLIS}}]


def test_external_field_is_constant_under_prefix_or_in_struct():
    flat = KafkaMetadata("k", external=("cluster", "eu"))
    nested = KafkaMetadata("k", nested=True, external=("cluster", "eu"))
    assert one(flat, "k_cluster", StringType(), facts()) == ["eu", "eu"]
    assert one(nested, "k", struct(column("cluster", StringType(), field_id=9)), facts(1)) == [{"cluster": "eu"}]


def test_a_record_without_timestamp_has_null():
    records = facts(timestamps=[None, MILLIS])
    assert one(FLAT, "k_timestamp", LongType(), records) == [None, MILLIS]
    assert one(NESTED, "k", struct(column("timestamp", TimestamptzType(), field_id=9)), records)[0] == {
        "timestamp": None
    }


def test_missing_timestamp_is_omitted_in_text_or_map_struct():
    records = facts(1, timestamps=[None])
    assert one(NESTED, "k", StringType(), records) == ['{"topic":"pizzas","partition":3,"offset":10}']
    of = MapType(60, StringType(), 61, StringType(), False)
    assert one(NESTED, "k", of, records) == [[("topic", "pizzas"), ("partition", "3"), ("offset", "10")]]


def test_missing_columns_are_proposed_as_inferred():
    transform = KafkaMetadata("k", external=("cluster", "eu"), key=True, headers=True)
    assert list(MetadataColumns(None, [transform]).needs().items()) == [
        (("k_topic",), "string"),
        (("k_partition",), "long"),
        (("k_offset",), "long"),
        (("k_timestamp",), "long"),
        (("k_cluster",), "string"),
        (("k_key",), "string"),
        (("k_headers",), HEADERS),
    ]
    parts = (("topic", "string"), ("partition", "long"), ("offset", "long"), ("timestamp", "long"))
    assert MetadataColumns(None, [NESTED]).needs() == {("k",): StructOf(parts)}


def test_only_what_is_lacking_is_proposed_also_inside_a_struct():
    transform = KafkaMetadata("k", nested=True, headers=True)
    inner = struct(column("key", StringType(), field_id=13))
    headers = column("headers", ListType(12, inner, False), field_id=11)
    of = struct(column("topic", StringType(), field_id=10), headers)
    assert list(MetadataColumns(Schema(column("k", of)), [transform]).needs().items()) == [
        (("k", "partition"), "long"),
        (("k", "offset"), "long"),
        (("k", "timestamp"), "long"),
        (("k", "headers", "element", "value"), "string"),
    ]


def test_nothing_is_proposed_for_complete_table_or_no_transform():
    fields = [column(name, StringType(), field_id=i) for i, name in enumerate(FLAT.columns, start=1)]
    assert MetadataColumns(Schema(*fields), [FLAT]).needs() == {}
    assert MetadataColumns(Schema(), []).needs() == {}


def test_two_transforms_do_not_overwrite_each_other():
    schema = Schema(column("k_topic", StringType(), field_id=1), column("m_offset", LongType(), field_id=2))
    columns = MetadataColumns(schema, [FLAT, KafkaMetadata("m")])
    table, refused = columns.fill(pa.table({}), facts(1))
    assert (table.to_pylist(), refused) == ([{"k_topic": "pizzas", "m_offset": 10}], [])


# the seam to the decoder


def test_record_schema_is_table_without_injected_columns():
    of = struct(column("topic", StringType(), required=True, field_id=4))
    schema = Schema(
        column("a", LongType(), required=True, field_id=7),
        column("k", of, required=True, field_id=3),
        column("b", struct(column("k", LongType(), field_id=6)), field_id=5),
        schema_id=2,
        identifier_field_ids=[7, 4],
    )
    columns = MetadataColumns(schema, [NESTED])
    assert columns.injected == {"k"}
    assert columns.record_schema == Schema(schema.fields[0], schema.fields[2], schema_id=2, identifier_field_ids=[7])
    assert columns.record_schema.schema_id == 2
    assert schema.identifier_field_ids == [7, 4]


def test_missing_table_has_no_record_schema_and_takes_nothing():
    columns = MetadataColumns(None, [FLAT])
    assert columns.record_schema is None
    with pytest.raises(ValueError, match="does not exist"):
        columns.fill(pa.table({}), facts())


def test_columns_follow_table_order_and_missing_are_dropped():
    schema = Schema(
        column("k_offset", LongType(), field_id=1),
        column("a", StringType(), field_id=2),
        column("k_topic", StringType(), field_id=3),
        column("b", UUIDType(), field_id=4),
    )
    columns = MetadataColumns(schema, [FLAT])
    names = schema_to_pyarrow(columns.record_schema)
    chunks = [pa.record_batch([pa.array([text]), pa.nulls(1, pa.uuid())], names=["a", "b"]) for text in "xy"]
    rows = pa.Table.from_batches(chunks).cast(names)
    table, _ = columns.fill(rows, facts())
    assert table.schema.equals(schema_to_pyarrow(schema), check_metadata=True)
    assert table.to_pylist() == [
        {"k_offset": 10, "a": "x", "k_topic": "pizzas", "b": None},
        {"k_offset": 11, "a": "y", "k_topic": "pizzas", "b": None},
    ]


def test_rows_of_the_decoder_are_taken_as_they_are():
    tags = column("tags", ListType(3, struct(column("t", StringType(), field_id=4)), False), field_id=2)
    schema = Schema(column("k_offset", LongType(), field_id=1), tags)
    columns = MetadataColumns(schema, [FLAT])
    decoded = JsonDecoder(columns.record_schema, ColumnRules(), create=False).decode([b'{"tags":[{"t":"x"}]}', b"{}"])
    table, refused = columns.fill(decoded.table, facts())
    assert refused == []
    assert table.schema.equals(schema_to_pyarrow(schema), check_metadata=True)
    assert table.to_pylist() == [{"k_offset": 10, "tags": [{"t": "x"}]}, {"k_offset": 11, "tags": None}]


def test_without_transforms_rows_are_passed_through():
    schema = Schema(column("a", LongType()))
    columns = MetadataColumns(schema, [])
    rows = pa.table([pa.array([1, 2])], schema=schema_to_pyarrow(schema))
    assert (columns.injected, columns.record_schema) == (frozenset(), schema)
    assert columns.fill(rows, facts()) == (rows, [])


def test_offsets_and_timestamps_may_be_arrays():
    for offsets in (np.array([5, 6]), pa.array([5, 6]), pa.chunked_array([[5], [6]])):
        assert one(FLAT, "k_offset", LongType(), facts(offsets=offsets, timestamps=[1, 2])) == [5, 6]
    assert one(FLAT, "k_timestamp", LongType(), facts(timestamps=pa.array([None, 2]))) == [None, 2]


def test_no_rows_make_no_rows():
    transform = KafkaMetadata("k", key=True, headers=True)
    fields = [column(n, StringType(), field_id=i) for i, n in enumerate(transform.columns[:-1], start=10)]
    inner = struct(column("key", StringType(), field_id=3), column("value", BinaryType(), field_id=4))
    headers = column("k_headers", ListType(2, inner, False), field_id=5)
    assert filled(transform, *fields, headers, of=facts(0, keys=[], headers=[])) == ([], [])


def test_as_many_facts_as_rows_are_asked_for():
    columns = MetadataColumns(Schema(column("a", LongType())), [FLAT])
    with pytest.raises(ValueError, match="2 rows with the facts of 3 records"):
        columns.fill(rows_of(columns, 2), facts(3))


def test_keys_and_headers_that_nobody_read_are_no_nulls():
    for transform in (KafkaMetadata("k", key=True), KafkaMetadata("k", headers=True)):
        with pytest.raises(ValueError, match="were not read"):
            one(transform, transform.columns[-1], StringType(), facts())


def test_column_of_unwritable_type_is_refused_at_once():
    with pytest.raises(UnsupportedColumn):
        MetadataColumns(Schema(column("k_timestamp", TimestampNanoType())), [FLAT])
