"""Section 4 of the sink's behaviour, the row of KafkaMetadataTransform, and what floe adds to it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe.config.transforms.kafka_metadata import KafkaMetadata
from floe.parquet.arrow_shapes import reshape, storage_type
from floe.parquet.exceptions import UnsupportedColumn
from floe_job.convert import JsonDecoder
from floe_job.exceptions import Unconvertible
from floe_job.schema.inference import ListOf, StructOf
from floe_job.schema.rules import ColumnRules
from floe_job.transform import MetadataColumns, RecordMetadata
from floe_job.types import converter

MILLIS = 1_704_164_645_000  # 2024-01-02T03:04:05Z
NOT_UTF8 = b"\xff\x00"
HEADERS = ListOf(StructOf((("key", "string"), ("value", "string"))))
FLAT = KafkaMetadata("k")
NESTED = KafkaMetadata("k", nested=True)


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
    return NestedField(field_id, name, of, required=required)


def struct(*fields: NestedField) -> StructType:
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


# what the sink's row says


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


# section 3.3: the column decides


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


# keys


KEYED = KafkaMetadata("k", key=True)


def test_a_key_is_text_and_base64_where_it_is_no_text():
    keys = [b"a", None, b"", "Ä".encode(), NOT_UTF8]
    assert one(KEYED, "k_key", StringType(), facts(keys=keys)) == ["a", None, "", "Ä", "/wA="]
    assert one(KEYED, "k_key", StringType(), facts(keys=keys[:4])) == ["a", None, "", "Ä"]


def test_a_binary_column_takes_the_key_as_it_is():
    assert one(KEYED, "k_key", BinaryType(), facts(keys=[b"YQ==", None, NOT_UTF8])) == [b"YQ==", None, NOT_UTF8]


def test_a_fixed_column_takes_keys_of_its_length():
    rows, refused = filled(KEYED, column("k_key", FixedType(2)), of=facts(keys=[NOT_UTF8, b"abc", None]))
    assert rows == [{"k_key": NOT_UTF8}, {"k_key": None}]
    assert refused == [(1, "column 'k_key': cannot convert 3 bytes to fixed[2]")]


def test_a_key_is_converted_as_text():
    assert one(KEYED, "k_key", LongType(), facts(keys=[b"12", None])) == [12, None]
    uuid = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
    assert one(KEYED, "k_key", UUIDType(), facts(keys=[uuid.encode()])) == [bytes.fromhex(uuid.replace("-", ""))]
    _, refused = filled(KEYED, column("k_key", LongType()), of=facts(keys=[b"12", b"x"]))
    assert refused == [(1, "column 'k_key': cannot convert string 'x' to long")]


# headers


HEADED = KafkaMetadata("k", headers=True)
GIVEN = [[("a", b"1"), ("b", None), ("a", NOT_UTF8)], None, [], [("", b"")]]


def list_of(value: IcebergType, *more: NestedField, required: bool = False) -> ListType:
    fields = (column("key", StringType(), required=True, field_id=61), column("value", value, field_id=62))
    return ListType(60, struct(*fields, *more), element_required=required)


def test_headers_keep_their_order_and_repetitions():
    assert one(HEADED, "k_headers", list_of(StringType()), facts(headers=GIVEN)) == [
        [{"key": "a", "value": "1"}, {"key": "b", "value": None}, {"key": "a", "value": "/wA="}],
        [],
        [],
        [{"key": "", "value": ""}],
    ]


def test_a_binary_field_takes_header_values_as_they_are():
    found = one(HEADED, "k_headers", list_of(BinaryType(), required=True), facts(headers=GIVEN))
    assert [entry["value"] for entry in found[0]] == [b"1", None, NOT_UTF8]


def test_other_fields_of_a_header_are_null():
    found = one(HEADED, "k_headers", list_of(StringType(), column("x", LongType(), field_id=63)), facts(headers=GIVEN))
    assert found[3] == [{"key": "", "value": "", "x": None}]


def test_a_map_column_takes_the_last_header_of_a_name():
    of = MapType(60, StringType(), 61, BinaryType(), False)
    assert one(HEADED, "k_headers", of, facts(headers=GIVEN)) == [[("a", NOT_UTF8), ("b", None)], [], [], [("", b"")]]


def test_a_string_column_takes_headers_as_json():
    found = one(HEADED, "k_headers", StringType(), facts(headers=GIVEN))
    text = '[{"key":"a","value":"1"},{"key":"b","value":null},{"key":"a","value":"/wA="}]'
    assert found == [text, "[]", "[]", '[{"key":"","value":""}]']


def test_a_required_column_takes_records_without_headers():
    rows, refused = filled(HEADED, column("k_headers", list_of(StringType()), required=True), of=facts(headers=[None]))
    assert (rows, refused) == ([{"k_headers": []}], [])


def test_headers_stand_in_the_struct_too():
    transform = KafkaMetadata("k", nested=True, key=True, headers=True)
    of = struct(column("headers", list_of(StringType()), field_id=51), column("key", BinaryType(), field_id=52))
    assert one(transform, "k", of, facts(keys=[b"x"], headers=[[("h", b"v")]])) == [
        {"headers": [{"key": "h", "value": "v"}], "key": b"x"}
    ]


@pytest.mark.parametrize(
    ("of", "name"),
    [
        (list_of(LongType()), "k_headers.element.value"),
        (MapType(60, StringType(), 61, LongType(), False), "k_headers.value"),
    ],
)
def test_a_header_that_does_not_fit_refuses_its_record(of, name):
    headers = [None, [("a", b"1"), ("b", b"x"), ("c", b"y")], [("a", b"2")], [("a", b"z")]]
    rows, refused = filled(HEADED, column("k_headers", of), of=facts(headers=headers))
    assert len(rows) == 2
    message = f"column {name!r}: cannot convert string"
    assert refused == [(1, f"{message} 'x' to long"), (3, f"{message} 'z' to long")]


def test_null_in_a_required_map_value_refuses_its_record():
    of = MapType(60, StringType(), 61, StringType(), True)
    _, refused = filled(HEADED, column("k_headers", of), of=facts(headers=GIVEN))
    assert refused == [(0, "column 'k_headers.value': null in a required column")]


def test_headers_do_not_become_numbers():
    _, refused = filled(HEADED, column("k_headers", LongType()), of=facts(headers=GIVEN[:1]))
    assert refused == [(0, "column 'k_headers': cannot convert array to long")]


# whole arrays give what the converter gives for each value


primitives = st.sampled_from(
    [
        BooleanType(),
        IntegerType(),
        LongType(),
        FloatType(),
        DoubleType(),
        StringType(),
        DateType(),
        TimeType(),
        TimestampType(),
        TimestamptzType(),
        DecimalType(1, 0),
        DecimalType(9, 2),
        DecimalType(19, 0),
        DecimalType(20, 19),
        DecimalType(38, 0),
        DecimalType(38, 10),
        DecimalType(38, 38),
        UUIDType(),
        BinaryType(),
        FixedType(2),
    ]
)
edges = [0, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 253402300799999, 253402300800000]
numbers = st.one_of(st.integers(-20, 20), st.sampled_from(edges), st.integers(-(2**63), 2**63 - 1))
texts = st.one_of(st.text(max_size=3), st.sampled_from(["12", "true", "2024-01-02", "1.5", "YQ==", "t"]))
data = st.one_of(st.binary(max_size=3), texts.map(str.encode))
record = st.tuples(
    numbers,
    st.none() | numbers,
    st.none() | data,
    st.none() | st.lists(st.tuples(st.sampled_from(["a", "b", "Ä"]), st.none() | data), max_size=3),
)


def text(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


REFUSED = Unconvertible("refused")


def by_value(of: IcebergType, required: bool, value: Any) -> Any:
    """Convert one value by the rule. Raises Unconvertible."""
    if isinstance(value, bytes) and isinstance(of, BinaryType):
        return value
    if isinstance(value, bytes) and isinstance(of, FixedType):
        if len(value) != len(of):
            raise REFUSED
        return value
    value = text(value) if isinstance(value, bytes) else value
    if value is None and required:
        raise REFUSED
    return None if value is None else converter(of)(value)


def column_of(of: IcebergType, values: list[Any]) -> list[Any]:
    arrow = schema_to_pyarrow(Schema(column("x", of))).field(0).type
    return reshape(pa.array(values, storage_type(arrow)), arrow).to_pylist()


def same(found: list[Any], expected: list[Any]) -> bool:
    return repr(found) == repr(expected)


@settings(max_examples=400, deadline=None)
@given(
    records=st.lists(record, max_size=6),
    topic=texts,
    partition=st.integers(0, 2**31 - 1),
    types=st.tuples(*[primitives] * 6),
    required=st.tuples(*[st.booleans()] * 6),
    nested=st.booleans(),
)
def test_whole_arrays_agree_with_the_converter(records, topic, partition, types, required, nested):
    transform = KafkaMetadata("k", nested=nested, external=("c", "1"), key=True)
    fields = [
        column(part if nested else f"k_{part}", of, required=needed, field_id=10 + i)
        for i, (part, of, needed) in enumerate(zip(transform.parts, types, required, strict=True))
    ]
    schema = Schema(column("k", struct(*fields), field_id=1) if nested else fields[0], *([] if nested else fields[1:]))
    expected, refused = [], []
    for index, (offset, timestamp, key, _) in enumerate(records):
        values = (topic, partition, offset, timestamp, "1", key)
        try:
            expected.append([by_value(*typed) for typed in zip(types, required, values, strict=True)])
        except Unconvertible:
            refused.append(index)
    of = RecordMetadata(topic, partition, *([r[i] for r in records] for i in range(4)))
    table, found = MetadataColumns(schema, [transform]).fill(pa.table({}), of)
    table.validate(full=True)
    assert [index for index, _, _ in found] == refused
    flat = table.flatten() if nested else table
    for position, kind in enumerate(types):
        assert same(flat.column(position).to_pylist(), column_of(kind, [row[position] for row in expected]))


@settings(max_examples=200, deadline=None)
@given(records=st.lists(record, max_size=6), value=primitives, required=st.booleans())
def test_headers_agree_with_the_converter(records, value, required):
    fields = (column("value", value, required=required, field_id=61), column("key", StringType(), field_id=62))
    of = ListType(60, struct(*fields), element_required=True)
    expected, refused = [], []
    for index, (_, _, _, headers) in enumerate(records):
        try:
            expected.append([{"value": by_value(value, required, v), "key": k} for k, v in headers or ()])
        except Unconvertible:
            refused.append(index)
    records_facts = RecordMetadata("t", 0, *([r[i] for r in records] for i in range(4)))
    table, found = MetadataColumns(Schema(column("k_headers", of)), [HEADED]).fill(pa.table({}), records_facts)
    table.validate(full=True)
    assert [index for index, _, _ in found] == refused
    assert same(table.column(0).to_pylist(), column_of(of, expected))
