"""The schemas in front of the events."""

from __future__ import annotations

import json

import pytest

from floe.control.wire.avro_schema import read_layout, read_partition_type, schema_text
from floe.control.wire.events import EventType, PartitionFieldType, PartitionType
from floe.control.wire.values import decimal_bytes


def written(name: str, type_: str) -> str:
    partition_type = PartitionType((PartitionFieldType(1000, name, type_),))
    return schema_text(EventType.DATA_WRITTEN, partition_type)


@pytest.mark.parametrize(
    ("name", "avro"),
    [
        ("plain_1", "plain_1"),
        ("tstz.hour", "tstz_x2Ehour"),
        ("1st", "_1st"),
        ("a b", "a_x20b"),
        ("straße", "straße"),
        ("名", "名"),
        ("😀", "_xD83D_xDE00"),
        ("\0", "_x0"),
    ],
)
def test_name_refused_by_avro_is_changed_like_java_and_kept(name: str, avro: str) -> None:
    text = written(name, "int")
    assert f'{{"name":"{avro}","type":["null","int"]' in text
    assert ("iceberg-field-name" in text) == (name != avro)


def test_control_characters_are_escaped_upper_case_only() -> None:
    assert '"iceberg-field-name":"\\u001F \\\\u001f \\n"' in written("\x1f \\u001f \n", "int")


def test_a_name_is_defined_once_and_referred_to_after_that() -> None:
    text = written("p", "uuid")
    assert text.count('"name":"uuid_fixed","namespace":""') == 1
    assert text.count('"name":"PartitionData"') == 1
    assert '"type":"PartitionData"' in text


@pytest.mark.parametrize(
    ("precision", "length"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (9, 4), (18, 8), (19, 9), (38, 16)]
)
def test_a_decimal_has_as_many_bytes_as_java_gives_it(precision: int, length: int) -> None:
    assert decimal_bytes(precision) == length


@pytest.mark.parametrize(
    "type_", ["int", "unknown", "timestamp_ns", "timestamptz", "uuid", "fixed[7]", "decimal(9, 2)"]
)
def test_the_partition_type_is_read_back_from_the_schema(type_: str) -> None:
    payload = read_layout(written("a.b", type_)).field(10504)
    assert payload is not None
    assert read_partition_type(payload).fields == (PartitionFieldType(1000, "a.b", type_),)


def test_two_partition_types_in_one_schema_are_refused() -> None:
    schema = json.loads(written("a", "int"))
    deletes = schema["fields"][4]["type"]["fields"][3]["type"][1]["items"]["fields"]
    deletes[4]["type"] = {"type": "record", "name": "Other", "fields": []}
    payload = read_layout(json.dumps(schema)).field(10504)
    assert payload is not None
    with pytest.raises(ValueError, match="different partition types"):
        read_partition_type(payload)
