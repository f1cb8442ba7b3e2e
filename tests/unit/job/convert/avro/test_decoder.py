"""Framed Avro: divided by schema, bad records named one by one."""

from __future__ import annotations

from typing import Any

import pytest

from floe.schema_registry.exceptions import RegistryUnreachable
from floe.schema_registry.schema import RegisteredSchema, SchemaText
from floe_job.connect.arrow import arrow_type
from floe_job.convert.avro.decoder import AvroDecoder
from floe_job.convert.avro.schema import AvroOptions
from floe_job.convert.typed.base import TypedBatch
from floe_job.convert.typed.frames import Framing
from tests.support.avro import varint
from tests.support.job.formats.avro_orders import FRAME, ORDER, TEXT, decoder, order, read, registered, source


def reasons(batch: TypedBatch) -> dict[int, str]:
    return {one.index: one.reason for one in batch.rejected}


def test_records_of_one_schema_are_one_part() -> None:
    batch = decoder().decode([order(n) for n in range(5)])
    (part,) = batch.parts
    assert part.places.tolist() == [0, 1, 2, 3, 4]
    assert part.column.to_pylist() == [read(n) for n in range(5)]
    assert part.column.type == arrow_type(part.schema)
    assert (batch.rejected, batch.fast_rows) == ((), 5)


@pytest.mark.parametrize("cut", range(len(order(300))))
def test_record_cut_at_any_byte_is_rejected_alone(cut: int) -> None:
    batch = decoder().decode([order(1), order(300)[:cut], order(2)])
    assert list(reasons(batch)) == [1]
    assert [one for part in batch.parts for one in part.column.to_pylist()] == [read(1), read(2)]
    (rejected,) = batch.rejected
    assert (rejected.stage, rejected.error) == ("value_converter", "Malformed")


@pytest.mark.parametrize("more", [1, 2, 17])
def test_record_with_more_bytes_is_rejected_alone(more: int) -> None:
    batch = decoder().decode([order(1), order(300) + bytes(more), order(2)])
    assert reasons(batch) == {1: f"schema 7: the value: {more} bytes are left behind it"}
    assert [one for part in batch.parts for one in part.column.to_pylist()] == [read(1), read(2)]


HEAD = FRAME + varint(1)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (HEAD + varint(2), "field 'note': it is branch 2 of a union of 2"),
        (HEAD + varint(-1), "field 'note': it is branch -1 of a union of 2"),
        (HEAD + b"\x00" + varint(2), "field 'state': it is symbol 2 of an enum of 2"),
        (HEAD + b"\x00\x00\x02", "field 'paid': its byte is 2, and a boolean's is 0 or 1"),
        (HEAD + b"\x02" + varint(1) + b"\xff" + order(1)[12:], "field 'note': it is not UTF-8"),
        (HEAD + b"\x02" + varint(-5), "field 'note': it has -5 bytes by its length, and the record 0 more"),
        (HEAD + b"\x02" + varint(2**62), f"field 'note': it has {2**62} bytes by its length, and the record 0 more"),
        (FRAME + b"\x80" * 12, "field 'id': its number has more than 10 bytes"),
        (FRAME + b"\xff" * 9 + b"\x02", "field 'id': its number has more than 10 bytes"),
        (HEAD + b"\x00\x00\x00\x00", "field 'price': it is a decimal without a byte"),
        (HEAD + b"\x00\x00\x00" + varint(16) + b"\x7f" * 16, "field 'price': it is a decimal of more than 38 digits"),
        (HEAD + b"\x00\x00\x00" + varint(17) + b"\x01" * 17, "field 'price': it is a decimal of more than 38 digits"),
    ],
)
def test_value_out_of_range_names_field_and_reason(record: bytes, reason: str) -> None:
    batch = decoder().decode([order(1), record, order(2)])
    assert reasons(batch) == {1: f"schema 7: {reason}"}
    assert [one for part in batch.parts for one in part.column.to_pylist()] == [read(1), read(2)]


def test_frame_that_is_none_is_rejected_by_its_bytes() -> None:
    batch = decoder().decode([b"", b"\x00\x00", b'{"id": 1}', order(1)])
    assert [one.index for one in batch.rejected] == [0, 1, 2]
    texts = reasons(batch)
    assert texts[0].startswith("it has no bytes")
    assert texts[1] == "it has 2 bytes: a magic byte and the id of a schema take 5"
    assert texts[2].startswith("its first byte is 0x7b and not the magic byte 0x00")
    assert batch.parts[0].places.tolist() == [3]


def test_unknown_schema_rejects_its_records_only() -> None:
    other = b"\x00\x00\x00\x00\x09" + order(1)[5:]
    batch = decoder().decode([other, order(1), other])
    assert reasons(batch) == dict.fromkeys([0, 2], "the registry has no schema 9")
    assert {one.error for one in batch.rejected} == {"UnknownSchema"}
    assert batch.parts[0].places.tolist() == [1]


def test_unusable_schema_is_parsed_once() -> None:
    asked = []

    def schema_of(schema_id: int) -> RegisteredSchema:
        asked.append(schema_id)
        return registered('{"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}')

    one = AvroDecoder(Framing.ID_OF_4_BYTES, schema_of, AvroOptions(), stage="key_converter")
    for _ in range(3):
        batch = one.decode([order(1), order(2)])
        assert [r.stage for r in batch.rejected] == ["key_converter"] * 2
        assert reasons(batch)[0] == (
            "schema 7: the schema is recursive: 'L' contains itself, and a table's columns cannot"
        )
    assert asked == [7]


def test_schemas_of_one_batch_are_parts_of_their_own() -> None:
    texts = {f"s{n}": {"type": "record", "name": "R", "fields": [{"name": f"f{n}", "type": "int"}]} for n in range(300)}
    values = [b"\x00" + (n % 300).to_bytes(4, "big") + varint(n) for n in range(1000)]
    batch = decoder(**texts).decode(values)
    assert len(batch.parts) == 300
    rows = {
        place: row
        for part in batch.parts
        for place, row in zip(part.places.tolist(), part.column.to_pylist(), strict=True)
    }
    assert rows == {n: {f"f{n % 300}": n} for n in range(1000)}


def test_id_of_eight_bytes_is_read() -> None:
    one = AvroDecoder(Framing.ID_OF_8_BYTES, source(s7=ORDER), AvroOptions())
    batch = one.decode([bytes(8) + b"\x07" + order(4)[5:], bytes(8)])
    assert batch.parts[0].column.to_pylist() == [read(4)]
    assert reasons(batch) == {1: "it has 8 bytes: a magic byte and the id of a schema take 9"}


def test_no_values_are_no_parts() -> None:
    assert decoder().decode([]) == TypedBatch((), (), 0)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ("string", varint(1) + b"x", "x"),
        ("long", varint(-3), -3),
        (["null", "long"], b"\x00", None),
        (["long"], b"\x00" + varint(4), 4),
        ({"type": "array", "items": "int"}, varint(1) + varint(4) + b"\x00", [4]),
    ],
)
def test_schema_that_is_no_record_is_read(schema: Any, value: bytes, expected: Any) -> None:
    batch = decoder(s7=schema).decode([FRAME + value])
    assert batch.parts[0].column.to_pylist() == [expected]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SchemaText("PROTOBUF", TEXT), "schema 7: it is of the type PROTOBUF, and the converter reads AVRO"),
        (
            SchemaText("AVRO", TEXT, rules=("CEL", "ENCRYPT")),
            "schema 7: by its rules its values are encrypted, and floe does not decrypt them",
        ),
    ],
)
def test_schema_of_another_kind_rejects_its_records(text: SchemaText, reason: str) -> None:
    one = AvroDecoder(Framing.ID_OF_4_BYTES, lambda _: RegisteredSchema(text), AvroOptions())
    assert reasons(one.decode([order(1)])) == {0: reason}


def test_schema_of_unknown_kind_is_taken_for_avro() -> None:
    text = SchemaText(None, TEXT, rules=("CEL",))
    one = AvroDecoder(Framing.ID_OF_4_BYTES, lambda _: RegisteredSchema(text), AvroOptions())
    assert one.decode([order(1)]).rejected == ()


def test_registry_that_cannot_be_reached_ends_the_task() -> None:
    def schema_of(schema_id: int) -> RegisteredSchema:
        raise RegistryUnreachable("no answer")  # noqa: EM101

    with pytest.raises(RegistryUnreachable):
        AvroDecoder(Framing.ID_OF_4_BYTES, schema_of, AvroOptions()).decode([order(1)])


UNION_OF_TWO = [
    "null",
    {"type": "record", "name": "A", "fields": [{"name": "a", "type": "int"}]},
    {"type": "record", "name": "B", "fields": [{"name": "b", "type": ["null", "string"]}]},
]
OF_TWO = [FRAME + value for value in (b"\x02" + varint(1), b"\x04\x00", b"\x00", b"\x02" + varint(2), b"\x06")]


def test_union_is_a_struct_of_its_branches() -> None:
    (part,) = decoder(s7=UNION_OF_TWO).decode(OF_TWO).parts
    empty = {"A": None, "B": None}
    assert part.column.to_pylist() == [
        {**empty, "A": {"a": 1}},
        {**empty, "B": {"b": None}},
        None,
        {**empty, "A": {"a": 2}},
    ]


def test_union_is_divided_by_branches_if_unwrapped() -> None:
    one = AvroDecoder(Framing.ID_OF_4_BYTES, source(s7=UNION_OF_TWO), AvroOptions(unwrap_union=True))
    batch = one.decode(OF_TWO)
    found = [
        (part.schema.name, part.schema.optional, part.places.tolist(), part.column.to_pylist()) for part in batch.parts
    ]
    assert found == [
        ("io.confluent.connect.avro.Union", True, [2], [None]),
        ("A", False, [0, 3], [{"a": 1}, {"a": 2}]),
        ("B", False, [1], [{"b": None}]),
    ]
    assert (list(reasons(batch)), batch.fast_rows) == ([4], 4)
    for part in batch.parts:
        assert part.column.type == arrow_type(part.schema)


def test_null_stays_null_whatever_the_default_of_its_field() -> None:
    nullable = [{"type": "string", "connect.default": "none given"}, "null"]
    inner = {
        "type": "record",
        "name": "I",
        "fields": [{"name": "d", "type": ["null", "int"]}, {"name": "e", "type": nullable}],
    }
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "note", "type": nullable, "default": "none given"},
            {"name": "in", "type": [inner, "null"]},
            {"name": "list", "type": {"type": "array", "items": "I"}},
            {"name": "map", "type": {"type": "map", "values": "I"}},
        ],
    }
    null, at_null = {"d": None, "e": None}, varint(0) + varint(1)
    text = varint(0) + varint(2) + b"hi"
    first = [
        varint(1),
        varint(0),
        at_null,
        varint(1),
        at_null,
        varint(0),
        varint(1),
        varint(1),
        b"k",
        at_null,
        varint(0),
    ]
    second = [text, varint(1), varint(0), varint(0)]
    batch = decoder(s7=schema).decode([b"\x00\x00\x00\x00\x07" + b"".join(one) for one in (first, second)])
    assert not batch.rejected
    assert batch.parts[0].column.to_pylist() == [
        {"note": None, "in": null, "list": [null], "map": [("k", null)]},
        {"note": "hi", "in": None, "list": [], "map": []},
    ]
