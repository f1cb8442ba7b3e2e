"""What a message means to Kafka Connect."""

from __future__ import annotations

from typing import Any

import pytest

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.protobuf.descriptors import ProtobufOptions
from floe_job.convert.protobuf.message_decoder import MessageDecoder
from floe_job.convert.protobuf.schema_file import file_of
from floe_job.exceptions import UnusableSchema
from tests.support.job.formats import proto_orders
from tests.support.job.formats.random_messages import registered

pytestmark = pytest.mark.quick
UNION = "io.confluent.connect.protobuf.Union"


def schema(body: str, name: str = "R", syntax: str = "proto3", **options: Any) -> ConnectSchema:
    imports = [
        "google/protobuf/wrappers.proto",
        "google/protobuf/empty.proto",
        "google/protobuf/struct.proto",
        "confluent/meta.proto",
        "confluent/type/decimal.proto",
    ]
    text = f'syntax = "{syntax}"; package p; ' + "".join(f'import "{one}"; ' for one in imports) + body
    return MessageDecoder(file_of(registered(text)).message_types_by_name[name], ProtobufOptions(**options)).schema


def fields(body: str, **options: Any) -> dict[str, ConnectSchema]:
    return dict(schema(f"message R {{ {body} }}", **options).fields)


def test_scalars_are_the_types_of_connect() -> None:
    kinds = {
        "int32": Kind.INT32,
        "sint32": Kind.INT32,
        "sfixed32": Kind.INT32,
        "uint32": Kind.INT64,
        "fixed32": Kind.INT64,
        "int64": Kind.INT64,
        "uint64": Kind.INT64,
        "sfixed64": Kind.INT64,
        "float": Kind.FLOAT32,
        "double": Kind.FLOAT64,
        "bool": Kind.BOOLEAN,
        "string": Kind.STRING,
        "bytes": Kind.BYTES,
    }
    found = fields("".join(f"{name} f{number} = {number};" for number, name in enumerate(kinds, 1)))
    assert found == {f"f{number}": ConnectSchema(kind, True) for number, kind in enumerate(kinds.values(), 1)}


def test_known_messages_are_logical_types() -> None:
    order = proto_orders.decoder()._decoders.of((7, (1,))).schema
    found = {name: one.name for name, one in order.fields if one.name and one.kind is not Kind.STRUCT}
    assert found == {
        "state": "State",
        "price": logical.DECIMAL,
        "at": logical.TIMESTAMP,
        "day": logical.DATE,
        "time": logical.TIME,
    }
    price = dict(order.fields)["price"]
    assert price.parameters == ((logical.SCALE, "2"),)


def test_oneof_is_a_struct_unless_flattened() -> None:
    body = "int32 a = 1; oneof choice { string b = 2; int32 c = 3; } optional int32 d = 4;"
    found = fields(body)
    assert list(found) == ["choice_0", "a", "d"]
    assert (found["choice_0"].name, found["choice_0"].optional) == (f"{UNION}.choice", True)
    assert [name for name, _ in found["choice_0"].fields] == ["b", "c"]
    assert list(fields(body, union_index=False)) == ["choice", "a", "d"]
    assert list(fields(body, flatten_unions=True)) == ["b", "c", "a", "d"]
    assert fields(body, full_names=True)["choice_0"].name == f"{UNION}.p.R.choice"


def test_names_are_full_if_asked_for() -> None:
    text = "enum E { A = 0; } message R { message I { int32 a = 1; } I i = 1; E e = 2; }"
    for full, names in ((False, ["R", "I", "E"]), (True, ["p.R", "p.R.I", "p.E"])):
        found = schema(text, full_names=full)
        assert [found.name, *(one.name for _, one in found.fields)] == names


def test_enum_is_a_text_or_a_number() -> None:
    text = "enum E { A = 0; } message R { E e = 1; }"
    assert dict(schema(text).fields)["e"] == ConnectSchema(Kind.STRING, True, "E")
    assert dict(schema(text, enums_as_numbers=True).fields)["e"] == ConnectSchema(Kind.INT32, True, "E")


def test_wrappers_are_their_values_or_structs() -> None:
    body = "google.protobuf.UInt32Value a = 1; repeated google.protobuf.StringValue b = 2;"
    for options in ({}, {"unwrap": False, "wrapper_for_nullables": True}):
        found = fields(body, **options)
        assert (found["a"].kind, found["a"].optional) == (Kind.INT64, True)
        assert found["b"].element is not None and found["b"].element.kind is Kind.STRING
    assert fields(body, unwrap=False)["a"].kind is Kind.STRUCT
    wrapper = file_of(registered('syntax = "proto3"; import "google/protobuf/wrappers.proto";')).pool
    message = wrapper.FindMessageTypeByName("google.protobuf.Int32Value")
    assert MessageDecoder(message, ProtobufOptions()).schema == ConnectSchema(Kind.INT32)


def test_options_say_what_is_optional() -> None:
    body = (
        "int32 a = 1; optional int32 b = 2; R2 c = 3; repeated int32 d = 4; google.protobuf.Int32Value e = 5; E f = 6;"
    )
    text = f"message R2 {{ }} enum E {{ A = 0; }} message R {{ {body} }}"

    def optional(**options: Any) -> str:
        return "".join(name for name, one in schema(text, **options).fields if one.optional)

    assert optional() == "abcdef"
    assert optional(optional_for_nullables=True) == "bcdef"
    assert optional(wrapper_for_nullables=True) == "cdef"


def test_small_integers_are_of_connects_option() -> None:
    def option(kind: str) -> str:
        return f'[(confluent.field_meta) = {{ params: [ {{ key: "connect.type" value: "{kind}" }} ] }}]'

    found = fields(f"int32 a = 1 {option('int8')}; sint32 b = 2 {option('int16')}; int32 c = 3 {option('int32')};")
    assert [one.kind for one in found.values()] == [Kind.INT8, Kind.INT16, Kind.INT32]


def test_apicurio_has_rules_of_its_own() -> None:
    text = "enum E { A = 0; } message R { oneof o { uint32 a = 1; E b = 2; } optional R2 c = 3; R2 d = 4; } "
    found = schema(text + "message R2 { repeated int64 q = 1; map<string, int32> m = 2; }", apicurio=True)
    assert found.name == "p.R"
    assert [(name, one.kind, one.optional, one.name) for name, one in found.fields] == [
        ("a", Kind.INT32, False, None),
        ("b", Kind.STRING, False, None),
        ("c", Kind.STRUCT, True, "p.R2"),
        ("d", Kind.STRUCT, False, "p.R2"),
    ]
    inner = dict(dict(found.fields)["d"].fields)
    assert inner["q"].optional and inner["q"].element == ConnectSchema(Kind.INT64)
    assert inner["m"].optional and inner["m"].element == ConnectSchema(Kind.INT32)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("message R { R r = 1; }", "is recursive: 'p.R'"),
        ("message R { map<string, S> m = 1; } message S { R r = 1; }", "is recursive"),
        ("message R { google.protobuf.Struct s = 1; }", "is recursive: 'google.protobuf.Struct'"),
        ("message R { oneof o { int32 a = 1; } int32 o_0 = 2; }", "has two fields named 'o_0'"),
        ("message R { " + "".join(f"int32 f{n} = {n + 20000};" for n in range(5001)) + " }", "more than 5000 fields"),
        (
            "message R { M0 m = 1; } message M15 { int32 a = 1; }"
            + "".join(f"message M{n} {{ M{n + 1} a = 1; M{n + 1} b = 2; }}" for n in range(15)),
            "more than 5000 fields",
        ),
        (
            "message R { M0 m = 1; } message M70 { int32 a = 1; }"
            + "".join(f"message M{n} {{ M{n + 1} a = 1; }}" for n in range(70)),
            "more than 64 levels",
        ),
        (
            "message R { confluent.type.Decimal d = 1 [(confluent.field_meta) = "
            '{ params: [ { key: "scale" value: "39" } ] }]; }',
            "scale '39'",
        ),
    ],
)
def test_schema_that_no_table_can_have_is_refused(body: str, why: str) -> None:
    with pytest.raises(UnusableSchema, match=why):
        schema(body)
