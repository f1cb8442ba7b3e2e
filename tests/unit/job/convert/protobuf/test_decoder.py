"""Framed Protobuf records, good and bad."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from types import ModuleType
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from floe.schema_registry.schema import RegisteredSchema, SchemaText
from floe_job.convert.protobuf import descriptors
from floe_job.convert.protobuf.decoder import ProtobufDecoder
from floe_job.convert.protobuf.descriptors import ProtobufOptions
from floe_job.convert.protobuf.message_frames import MessageReference
from floe_job.convert.protobuf.schema_file import file_of
from floe_job.convert.typed.base import TypedBatch
from floe_job.convert.typed.frames import Framing
from floe_job.exceptions import PackageMissing
from tests.support.avro import varint
from tests.support.job.formats import proto_orders
from tests.support.job.formats.proto_orders import FRAME, ORDER, decoder
from tests.support.job.formats.random_messages import encoded, registered

pytestmark = pytest.mark.quick
NESTED = """
syntax = "proto3";
message A { map<string, int32> m = 1; message B { message C { int32 c = 1; } int32 b = 1; } message D { int32 d = 1; } }
message E { int32 e = 1; }
"""


def rows(batch: TypedBatch) -> dict[int, Any]:
    return {
        place: row
        for part in batch.parts
        for place, row in zip(part.places.tolist(), part.column.to_pylist(), strict=True)
    }


def reasons(batch: TypedBatch) -> dict[int, str]:
    return {one.index: one.reason for one in batch.rejected}


def indexes(*path: int) -> bytes:
    return varint(len(path)) + b"".join(varint(index) for index in path)


def varint_of(number: int) -> bytes:
    return varint(number >> 1 if number % 2 == 0 else -(number >> 1) - 1)  # which is zigzag


def decode_one(text: str, value: bytes, options: ProtobufOptions | None = None) -> dict[str, Any]:
    return rows(decoder(options, s7=text).decode([FRAME + b"\x00" + value]))[0]


def rejection(text: str, value: bytes, options: ProtobufOptions | None = None) -> str:
    return reasons(decoder(options, s7=text).decode([FRAME + b"\x00" + value]))[0]


def test_indexes_say_which_message_it_is() -> None:
    paths = [(0,), (0, 0), (0, 0, 0), (0, 1), (1,), (2,), (0, 2), (-1,)]
    values = [FRAME + indexes(*path) + b"\x08\x05" for path in paths]
    values += [FRAME + b"\x00", FRAME, FRAME + b"\x04\x00", FRAME + b"\x81", FRAME + b"\xff\x7f"]
    batch = decoder(s7=NESTED).decode(values)
    assert rows(batch) == {0: {"m": []}, 1: {"b": 5}, 2: {"c": 5}, 3: {"d": 5}, 4: {"e": 5}, 8: {"m": []}}
    found = reasons(batch)
    assert found[5] == "schema 7: the schema has no message at the indexes [2]"
    assert "[0, 2]" in found[6]
    assert "[-1]" in found[7]
    assert all("it ends within the indexes" in found[place] for place in (9, 10, 11))
    assert "-8192 indexes of messages" in found[12]


def test_many_different_indexes_are_told_apart() -> None:
    random = Random(1)
    paths = [(random.randrange(1, 200),) for _ in range(400)]
    batch = decoder(s7=NESTED).decode([FRAME + indexes(*path) + b"\x08\x05" for path in paths])
    assert rows(batch) == {place: {"e": 5} for place, path in enumerate(paths) if path == (1,)}


def test_name_says_which_message_it_is() -> None:
    def named(name: bytes) -> bytes:
        return bytes([len(name) + 2, 0x0A, len(name)]) + name

    reads = proto_orders.source(s7=NESTED)
    made = ProtobufDecoder(Framing.ID_OF_8_BYTES, MessageReference.NAME, reads, ProtobufOptions(apicurio=True))
    frame = b"\x00" + (7).to_bytes(8, "big")
    values = [
        frame + named(b"E") + b"\x08\x05",
        frame + named(b"F"),
        frame + b"\x08\x05",
        frame,
        frame + b"\x03\x0a\x05E",
    ]
    batch = made.decode(values)
    assert rows(batch) == {0: {"e": 5}}
    assert "no message 'F'" in reasons(batch)[1]
    assert all("the name of its message" in reasons(batch)[place] for place in (2, 3, 4))


@pytest.mark.parametrize(
    "option", ["int32 x = 1088; } | 5", 'bytes x = 1088; } | "\\xff\\xff"', 'string x = 1088; } | "abc"']
)
def test_option_with_the_number_of_connects_is_passed_over(option: str) -> None:
    kind, _, value = option.partition("|")
    extension = f'import "google/protobuf/descriptor.proto"; extend google.protobuf.FieldOptions {{ {kind}'
    text = f'syntax = "proto3"; {extension} message R {{ int32 a = 1 [(x) ={value}]; }}'
    assert decode_one(text, b"\x08\x05") == {"a": 5}


@pytest.mark.parametrize("depth", [50, 150, 5_000])
def test_descriptor_with_deep_options_is_read(depth: int) -> None:
    """protoc would end the process at 100 levels."""
    option = b""
    for _ in range(depth):
        option = b"\x0a" + varint_of(len(option)) + option
    file = descriptor_pb2.FileDescriptorProto(name="x.proto", syntax="proto3")
    file.dependency.append("google/protobuf/descriptor.proto")
    file.message_type.add(name="R").field.add(name="a", number=1, type=5, label=1)
    file.message_type.add(name="O").field.add(name="o", number=1, type=11, label=1, type_name=".O")
    file.extension.add(
        name="x", number=50_000, type=11, label=1, type_name=".O", extendee=".google.protobuf.FileOptions"
    )
    file.options.MergeFromString(varint_of(50_000 << 3 | 2) + varint_of(len(option)) + option)
    assert decode_one(encoded(file), b"\x08\x05") == {"a": 5}
    file.options.uninterpreted_option.add(aggregate_value="o {" * depth).name.add(name_part="x", is_extension=True)
    assert "options were not compiled" in rejection(encoded(file), b"")


def test_descriptor_in_base64_is_read_like_a_text() -> None:
    order = proto_orders.order(3)
    proto = proto_orders.message_class().DESCRIPTOR.file
    files = importlib.import_module("google.protobuf.descriptor_pb2").FileDescriptorProto()
    proto.CopyToProto(files)
    assert rows(decoder(s7=encoded(files)).decode([order])) == {0: proto_orders.read(3)}


def test_references_are_imports_whatever_their_form() -> None:
    address = 'syntax = "proto3"; package x; message Address { string street = 1; }'
    text = 'syntax = "proto3"; import "x/address.proto"; message O { x.Address to = 1; }'
    described = importlib.import_module("google.protobuf.descriptor_pb2").FileDescriptorProto()
    file_of(registered(address)).CopyToProto(described)
    for reference in (address, encoded(described)):
        schema = registered(text, x_address=reference)
        made = ProtobufDecoder(
            Framing.ID_OF_4_BYTES, MessageReference.INDEXES, lambda _, one=schema: one, ProtobufOptions()
        )
        batch = made.decode([FRAME + b"\x00\x0a\x06\x0a\x04Main"])
        assert rows(batch) == {0: {"to": {"street": "Main"}}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("message", "not a valid Protobuf file: floe-schema.proto:1:"),
        ('syntax = "proto3"; import "other.proto"; message A { }', "other.proto: File not found"),
        ('syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }', "Field number 1 has already been used"),
        ('syntax = "proto3";', "no message at the indexes [0]"),
        ("CgA=", "no message at the indexes [0]"),
        ("", "no message at the indexes [0]"),
    ],
)
def test_schema_that_is_none_rejects_its_records(text: str, why: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert why in rejection(text, b"")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["../a.proto", "/a.proto", "", "a\0.proto", "a\\b.proto", "x" * 300 + ".proto"])
def test_reference_that_is_no_file_name_is_refused(name: str) -> None:
    schema = registered('syntax = "proto3"; message A { }')
    bad = registered("", x='syntax = "proto3";').referenced[0]
    reference = type(bad[0])(name, "s", "1")
    named = RegisteredSchema(schema.schema, ((reference, bad[1]),))
    made = ProtobufDecoder(Framing.ID_OF_4_BYTES, MessageReference.INDEXES, lambda _: named, ProtobufOptions())
    assert "the schema refers to another one as" in reasons(made.decode([FRAME + b"\x00"]))[0]


def test_schema_of_another_type_rejects_its_records() -> None:
    other = RegisteredSchema(SchemaText("AVRO", '"string"'))
    made = ProtobufDecoder(Framing.ID_OF_4_BYTES, MessageReference.INDEXES, lambda _: other, ProtobufOptions())
    assert "of the type AVRO" in reasons(made.decode([FRAME + b"\x00"]))[0]


def test_unknown_enum_numbers_are_as_java_has_them() -> None:
    body = "message R { %s E e = 1; repeated E es = 2; map<string, E> m = 3; } enum E { A = 0; B = 1; }"
    value = b"\x08\x09" + b"\x10\x01\x10\x09" + b"\x1a\x05\x0a\x01k\x10\x09"
    assert decode_one('syntax = "proto3";' + body % "", value) == {
        "e": "UNKNOWN_ENUM_VALUE_E_9",
        "es": ["B", "UNKNOWN_ENUM_VALUE_E_9"],
        "m": [("k", "UNKNOWN_ENUM_VALUE_E_9")],
    }
    closed = 'syntax = "proto2";' + body % "optional"
    assert decode_one(closed, value) == {"e": None, "es": ["B"], "m": [("k", "A")]}
    numbers = ProtobufOptions(enums_as_numbers=True)
    assert decode_one('syntax = "proto3";' + body % "", value, numbers)["es"] == [1, 9]


def test_what_is_said_twice_counts_last() -> None:
    text = 'syntax = "proto3"; message R { oneof o { int32 a = 1; string b = 2; } map<string, int32> m = 3; I i = 4; } '
    text += "message I { int32 x = 1; repeated int32 y = 2; }"
    value = b"\x08\x05\x12\x01a" + b"\x1a\x05\x0a\x01k\x10\x01\x1a\x05\x0a\x01k\x10\x02"
    value += b"\x22\x06\x08\x01\x12\x02\x05\x06\x22\x04\x08\x02\x10\x07"
    assert decode_one(text, value) == {
        "o_0": {"a": None, "b": "a"},
        "m": [("k", 2)],
        "i": {"x": 2, "y": [5, 6, 7]},
    }
    assert decode_one(text, b"\x12\x01a\x08\x05")["o_0"] == {"a": 5, "b": None}


def test_proto2_fields_are_absent_or_their_default() -> None:
    text = "message R { optional int32 a = 1 [default = 5]; required string b = 2; optional string c = 3; }"
    assert decode_one(text, b"\x12\x01x") == {"a": None, "b": "x", "c": None}
    filled = ProtobufOptions(optional_for_proto2=False)
    assert decode_one(text, b"\x12\x01x", filled) == {"a": 5, "b": "x", "c": ""}
    assert "lacks the required field 'b'" in rejection(text, b"\x08\x01")
    assert "field 'c': it is not UTF-8" in rejection(text, b"\x12\x01x\x1a\x01\xff")


def test_groups_are_read_one_by_one() -> None:
    text = "message R { optional group G = 1 { optional int32 a = 2; } repeated int32 b = 3; }"
    assert decode_one(text, b"\x0b\x10\x05\x0c\x18\x01\x18\x02") == {"g": {"a": 5}, "b": [1, 2]}


def test_unknown_fields_are_passed_over() -> None:
    text = 'syntax = "proto3"; message R { int32 a = 1; } message E { }'
    value = b"\x08\x05\x12\x03abc\x18\x01\x25abcd\x29abcdefgh\x33\x08\x01\x34"
    assert decode_one(text, value) == {"a": 5}
    batch = decoder(s7=text).decode([FRAME + indexes(1) + value, FRAME + indexes(1)])
    assert rows(batch) == {0: {}, 1: {}}


KNOWN = """
syntax = "proto3";
import "google/protobuf/timestamp.proto"; import "google/type/date.proto"; import "google/type/timeofday.proto";
import "confluent/type/decimal.proto"; import "confluent/meta.proto";
message R {
  google.protobuf.Timestamp at = 1; google.type.Date day = 2; google.type.TimeOfDay time = 3;
  confluent.type.Decimal price = 4 [(confluent.field_meta) = { params: [ { key: "scale" value: "2" } ] }];
  uint64 wide = 5;
  repeated google.protobuf.Timestamp ats = 6;
}
"""


def known(**parts: Any) -> bytes:
    factory = importlib.import_module("google.protobuf.message_factory")
    made = factory.GetMessageClass(file_of(registered(KNOWN)).message_types_by_name["R"])(**parts)
    return bytes(made.SerializeToString())


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"at": {"seconds": 253402300800}}, "field 'at': 253402300800 s"),
        ({"at": {"nanos": -1}}, "-1 ns are no timestamp"),
        ({"at": {"seconds": -(2**63)}}, "no timestamp"),
        ({"ats": [{}, {"nanos": 10**9}]}, "field 'ats'"),
        ({"day": {}}, "0-0-0 is no date"),
        ({"day": {"year": 2023, "month": 2, "day": 29}}, "2023-2-29"),
        ({"day": {"year": 10000, "month": 1, "day": 1}}, "no date"),
        ({"day": {"year": 2024, "month": 13, "day": 1}}, "no date"),
        ({"time": {"hours": 24}}, "24:0:0"),
        ({"time": {"seconds": 60}}, "no time of a day"),
        ({"price": {}}, "a decimal without a byte"),
        ({"price": {"value": b"\x01", "scale": 3}}, "of the scale 3, and its schema has the scale 2"),
        ({"price": {"value": b"\x0f" * 17, "scale": 2}}, "more than 38 digits"),
        ({"price": {"value": b"\x01" * 1000, "scale": 2}}, "more than 38 digits"),
        ({"price": {"value": b"\x7f", "scale": -2000000000}}, "more than 38 digits"),
        ({"price": {"value": b"\x7f", "scale": 2, "precision": 2}}, "more digits than its precision of 2"),
        ({"wide": 2**63}, "9223372036854775808 is no int64"),
    ],
)
def test_known_message_that_means_nothing_is_rejected(parts: dict[str, Any], why: str) -> None:
    good = known(at={"seconds": 1})
    batch = decoder(s7=KNOWN).decode([FRAME + b"\x00" + one for one in (good, known(**parts), good)])
    assert sorted(rows(batch)) == [0, 2]
    assert why in reasons(batch)[1]


def test_known_messages_have_their_limits() -> None:
    found = decode_one(KNOWN, known(at={"seconds": -62135596800}, day={"year": 1, "month": 1, "day": 1}))
    assert (found["at"].year, found["day"].year) == (1, 1)
    last = known(
        at={"seconds": 253402300799, "nanos": 999_999_999},
        day={"year": 9999, "month": 12, "day": 31},
        time={"hours": 23, "minutes": 59, "seconds": 59, "nanos": 999_999_999},
    )
    assert [str(decode_one(KNOWN, last)[name]) for name in ("at", "day", "time")] == [
        "9999-12-31 23:59:59.999999+00:00",
        "9999-12-31",
        "23:59:59.999999",
    ]


@pytest.mark.parametrize("number", [0, 1, -1, 127, -128, 128, 2**63 - 1, -(2**63), 2**63, 10**38 - 1, 1 - 10**38])
@pytest.mark.parametrize("scale", [2, 1, 0, -3])
def test_decimals_get_the_scale_of_their_schema(number: int, scale: int) -> None:
    unscaled = number.to_bytes(17, "big", signed=True)
    shortest = number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)
    for value in (shortest, unscaled):
        text = known(price={"value": value, "scale": scale})
        exact = number * 10 ** (2 - scale)
        if abs(exact) < 10**38:
            assert decode_one(KNOWN, text)["price"] == Decimal(f"{exact}e-2")
        else:
            assert "more than 38 digits" in rejection(KNOWN, text)


def test_apicurio_fills_in_what_is_absent() -> None:
    text = 'syntax = "proto3"; message R { oneof o { int32 a = 1; I i = 2; } optional int32 b = 3; map<string, I> m = 4; } '
    text += "message I { string s = 1; optional int32 p = 2; }"
    empty = {"s": "", "p": None}
    found = decode_one(text, b"\x22\x03\x0a\x01k", ProtobufOptions(apicurio=True))
    assert found == {"a": 0, "i": empty, "b": None, "m": [("k", empty)]}


def test_record_of_many_empty_messages_is_rejected() -> None:
    text = 'syntax = "proto3"; message R { repeated I i = 1; bytes b = 1000; } message I { %s }'
    wide = text % "".join(f"int64 f{number} = {number};" for number in range(1, 101))
    assert "more than 10000000 values" in rejection(wide, b"\x0a\x00" * 150_000)
    assert len(decode_one(wide, b"\x0a\x00" * 20_000)["i"]) == 20_000
    assert len(decode_one(wide, b"\xc2\x3e\xe0\xa7\x12" + bytes(300_000))["b"]) == 300_000


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Packages that cannot be imported, by name."""
    missing: set[str] = set()
    real = importlib.import_module

    def import_module(name: str, package: str | None = None) -> ModuleType:
        if name.partition(".")[0] in missing:
            problem = f"No module named {name!r}"
            raise ImportError(problem)
        return real(name, package)

    monkeypatch.setattr(descriptors.importlib, "import_module", import_module)
    descriptors.optional_package.cache_clear()
    yield missing
    descriptors.optional_package.cache_clear()


def test_without_ptars_records_are_read_slowly(without: set[str], caplog: pytest.LogCaptureFixture) -> None:
    without.add("ptars")
    for _ in range(3):
        with caplog.at_level(logging.WARNING):
            batch = decoder().decode([proto_orders.order(1), FRAME + ORDER])
        assert rows(batch)[0] == proto_orders.read(1)
        assert batch.fast_rows == 0
    assert len(caplog.records) == 1
    assert "airflow-provider-floe[protobuf]" in caplog.text


@pytest.mark.parametrize("name", ["grpc_tools", "google"])
def test_missing_package_ends_the_run_with_its_file(without: set[str], name: str) -> None:
    without.add(name)
    with pytest.raises(PackageMissing, match=r"Install airflow-provider-floe\[protobuf\]"):
        decoder().decode([proto_orders.order(1)])
