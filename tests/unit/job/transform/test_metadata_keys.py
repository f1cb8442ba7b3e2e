"""KafkaMetadataTransform: keys and headers of records."""

from __future__ import annotations

import pytest
from pyiceberg.types import (
    BinaryType,
    FixedType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    UUIDType,
)

from floe.config.transforms.iceberg import KafkaMetadata
from tests.support.job.metadata_columns import HEADED, column, facts, filled, one, struct

NOT_UTF8 = b"\xff\x00"


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
