"""KafkaMetadataTransform converts whole arrays as the converter converts each value."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    FixedType,
    IcebergType,
    ListType,
    StringType,
)

from floe.config.transforms.iceberg import KafkaMetadata
from floe.parquet.arrow_shapes import reshape, storage_type
from floe_job.exceptions import Unconvertible
from floe_job.transform.kafka_metadata.columns import MetadataColumns
from floe_job.transform.record_metadata import RecordMetadata
from floe_job.types import converter
from tests.support.job.column_types import primitives
from tests.support.job.metadata_columns import HEADED, column, struct

primitive_types = primitives((1, 0), (9, 2), (19, 0), (20, 19), (38, 0), (38, 10), (38, 38))


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
    types=st.tuples(*[primitive_types] * 6),
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
@given(records=st.lists(record, max_size=6), value=primitive_types, required=st.booleans())
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
