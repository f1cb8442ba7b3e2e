"""What every converter keeps to when it reads keys."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pytest

from floe.config.converters import converter_classes as config
from floe.config.converters.base import ConverterSpec
from floe.config.converters.charsets import ENCODING
from floe.config.converters.kinds import BOOLEAN, BYTES, ENVELOPE, JSON, PLAIN_KINDS, STRING
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.context import ConverterContext
from floe_job.convert.makers import converters_of
from tests.support.avro import varint
from tests.support.job.converters import NO_REGISTRY
from tests.support.job.formats import (
    avro_orders,
    avro_records,
    ext_json_records,
    json_schema_orders,
    json_schema_records,
    proto_records,
    random_messages,
)
from tests.support.job.formats.envelopes import envelope
from tests.support.kafka.messages import values_of

Read = tuple[dict[int, tuple[str, str]], list[str | None]]


@dataclass(frozen=True)
class Case:
    """One implementation. ``encode``: the bytes of a key of texts; ``bad``: what cannot be read; ``bare``: no object."""

    spec: ConverterSpec
    encode: Callable[[dict[str, str]], bytes]
    bad: tuple[bytes, ...]
    bare: bytes | None = None
    context: ConverterContext = NO_REGISTRY


def read(spec: ConverterSpec, context: ConverterContext, path: tuple[str, ...], keys: Sequence[bytes]) -> Read:
    """Return stage and reason of what is rejected, and the texts of the others."""
    rejected, texts = converters_of(replace(spec, role="key"), context).for_key(path).read(values_of(keys))
    return {one.index: (one.stage, one.reason) for one in rejected}, texts.to_pylist()


def _json(record: object) -> bytes:
    return json.dumps(record).encode()


KEYS = {
    "json": Case(ConverterSpec(JSON), _json, (b"", b"{", b"\xff", b"abc", b'{"id":1}x', b'"\xff"'), b'"text"'),
    "avro": Case(
        avro_records.CONFLUENT,
        avro_records.encode,
        (b"", b"\x01\x00\x00\x00\x00", b"\x00\xff\xff\xff\xff", avro_records.encode({"id": "1"})[:-1]),
        context=avro_records.CONTEXT,
    ),
    "avro of apicurio": Case(
        avro_records.APICURIO,
        partial(avro_records.encode, nbytes=8),
        (b"", b"\x01" + bytes(8), b"\x00" + b"\xff" * 8),
        context=avro_records.CONTEXT,
    ),
    "protobuf": Case(
        proto_records.CONFLUENT,
        proto_records.encode,
        (b"", b"\x01" + bytes(5), b"\x00\xff\xff\xff\xff\x00", proto_records.encode({"id": "1"})[:-1]),
        context=proto_records.CONTEXT,
    ),
    "protobuf of apicurio": Case(
        proto_records.APICURIO,
        partial(proto_records.encode, before=proto_records.NAME),
        (b"", b"\x01" + bytes(5), proto_records.encode({"id": "1"})),
        context=proto_records.CONTEXT,
    ),
    ENVELOPE: Case(
        ConverterSpec(ENVELOPE),
        lambda record: envelope([(name, "string") for name in record], **record),
        (b"", b"{", b'{"id": "1"}', b"\xff", b"null", b"text", envelope([("id", "string")], id=1)),
        b'{"schema":{"type":"string"},"payload":"text"}',
    ),
    "envelope without schema": Case(
        ConverterSpec(ENVELOPE),
        lambda record: _json({"schema": None, "payload": record}),
        (b"{", b'{"schema":null,"payload":{]}'),
        b'{"schema":null,"payload":"text"}',
    ),
    "schema.content": Case(
        ConverterSpec(
            ENVELOPE,
            Properties({"schema.content": _json(ext_json_records.struct(id="string", to="string")).decode()}),
        ),
        lambda record: _json({"id": "", **record}),
        (b"", b"{", b"\xff", b"7", b"null", b'{"id":1,"to":""}'),
    ),
    "json schema": Case(
        json_schema_records.SPEC,
        json_schema_records.encode,
        (b"", b"\x01\x00\x00\x00\x00", b"\x00\xff\xff\xff\xff", json_schema_records.encode({"id": "1"})[:-1]),
        context=json_schema_records.CONTEXT,
    ),
    "ext json": Case(
        ext_json_records.SPEC,
        ext_json_records.encode,
        (b"", b"{}", b"[1]", b'{"schemaId":999999,"payload":{}}', ext_json_records.encode({"id": "1"})[:-1]),
        context=ext_json_records.CONTEXT,
    ),
}


@pytest.fixture(params=KEYS)
def case(request: pytest.FixtureRequest) -> Case:
    """Each implementation."""
    return KEYS[request.param]


def of(case: Case, path: tuple[str, ...], keys: Sequence[bytes]) -> Read:
    return read(case.spec, case.context, path, keys)


def test_key_converter_every_kind_has_a_case() -> None:
    options = OptionReader({"schemas.enable": "false"})
    kinds = {one.read(options, "key").kind for one in config.CONVERTERS.values() if "key" in one.roles}
    assert kinds | {ENVELOPE} == {case.spec.kind for case in KEYS.values()} | PLAIN_KINDS


def test_key_field_is_text_in_the_order_of_keys(case: Case) -> None:
    keys = [case.encode({"id": str(i), "to": f"s{i}"}) for i in range(300)]
    assert of(case, ("to",), keys) == ({}, [f"s{i}" for i in range(300)])
    assert of(case, ("to",), []) == ({}, [])
    assert of(case, (), []) == ({}, [])


def test_key_without_the_field_has_no_text(case: Case) -> None:
    keys = [case.encode({"id": "1", "to": "a"}), case.encode({"to": "b", "id": "2"})]
    assert of(case, ("other",), keys) == ({}, [None, None])


@pytest.mark.parametrize("path", [("to",), ()])
def test_key_that_is_bad_is_the_only_one_rejected(case: Case, path: tuple[str, ...]) -> None:
    good = case.encode({"id": "1", "to": "a"})
    for bad in case.bad:
        rejected, texts = of(case, path, [good, bad, good])
        assert [(place, stage) for place, (stage, _) in rejected.items()] == [(1, "key_converter")], bad
        assert len(texts) == 2
        assert all(reason for _, reason in rejected.values())


def test_key_path_through_what_is_no_object_is_readable(case: Case) -> None:
    good = case.encode({"id": "1", "to": "a"})
    rejected, texts = of(case, ("to", "deeper"), [good, good])
    assert ({stage for stage, _ in rejected.values()}, texts) == ({"coerce"}, [])
    if case.bare is not None:
        rejected, texts = of(case, ("to",), [good, case.bare, good])
        assert ([(place, stage) for place, (stage, _) in rejected.items()], texts) == ([(1, "coerce")], ["a", "a"])


def test_key_as_a_whole_is_compact_json_of_an_object(case: Case) -> None:
    texts = of(case, (), [case.encode({"id": "1", "to": "a"})])[1]
    assert [json.loads(text or "") for text in texts] == [{"id": "1", "to": "a"}]
    assert " " not in str(texts[0])


# -- keys that are one value ------------------------------------------------------------------------------------------

AVRO_LONG, AVRO_TEXT, SCHEMA_TEXT = b"\x00\x00\x00\x00\x07", b"\x00\x00\x00\x00\x08", b"\x00\x00\x00\x00\x07"


def registry(**schemas: RegisteredSchema) -> ConverterContext:
    """Return the context of a registry of schemas by their ids."""
    return ConverterContext(lambda _: lambda schema_id: schemas[f"s{schema_id}"])


AVRO = registry(s7=avro_orders.registered('"long"'), s8=avro_orders.registered('["null", "string"]'))
SIMPLE = registry(s7=json_schema_orders.registered({"type": "number"}))
WRAPPER = 'syntax = "proto3"; import "google/protobuf/wrappers.proto"; message K { google.protobuf.Int64Value a = 1; }'
WHOLE: list[tuple[ConverterSpec, ConverterContext, bytes, str | None]] = [
    (ConverterSpec(JSON), NO_REGISTRY, b'"t"', "t"),
    (ConverterSpec(JSON), NO_REGISTRY, b' "t\\u00e9" ', "té"),
    (ConverterSpec(JSON), NO_REGISTRY, b"-42", "-42"),
    (ConverterSpec(JSON), NO_REGISTRY, b"-0", "0"),
    (ConverterSpec(JSON), NO_REGISTRY, b"1e2", "100.0"),
    (ConverterSpec(JSON), NO_REGISTRY, b"12345678901234567890", "12345678901234567890"),
    (ConverterSpec(JSON), NO_REGISTRY, b"true", "true"),
    (ConverterSpec(JSON), NO_REGISTRY, b"null", None),
    (ConverterSpec(ENVELOPE), NO_REGISTRY, b'{"schema":{"type":"string"},"payload":"t"}', "t"),
    (ConverterSpec(ENVELOPE), NO_REGISTRY, b'{"schema":{"type":"int32"},"payload":7}', "7"),
    (ConverterSpec(ENVELOPE), NO_REGISTRY, b'{"schema":{"type":"float"},"payload":0.1}', "0.1"),
    (ConverterSpec(ENVELOPE), NO_REGISTRY, b'{"schema":{"type":"string","optional":true},"payload":null}', None),
    (ConverterSpec(ENVELOPE), NO_REGISTRY, b'{"schema":null,"payload":"t"}', "t"),
    (ConverterSpec(ENVELOPE), NO_REGISTRY, b'{"schema":null,"payload":null}', None),
    (avro_records.CONFLUENT, AVRO, AVRO_LONG + varint(42), "42"),
    (avro_records.CONFLUENT, AVRO, AVRO_TEXT + b"\x02\x02t", "t"),
    (avro_records.CONFLUENT, AVRO, AVRO_TEXT + b"\x00", None),
    (json_schema_records.SPEC, SIMPLE, SCHEMA_TEXT + b"1.5", "1.5"),
    (ConverterSpec("short"), NO_REGISTRY, struct.pack(">h", -7), "-7"),
    (ConverterSpec("int"), NO_REGISTRY, struct.pack(">i", 7), "7"),
    (ConverterSpec("long"), NO_REGISTRY, struct.pack(">q", 1 << 40), str(1 << 40)),
    (ConverterSpec("float"), NO_REGISTRY, struct.pack(">f", 0.1), "0.1"),
    (ConverterSpec("double"), NO_REGISTRY, struct.pack(">d", 1e10), "1.0E10"),
    (ConverterSpec(BOOLEAN), NO_REGISTRY, b"\x01", "true"),
    (ConverterSpec(STRING), NO_REGISTRY, b"t", "t"),
    (ConverterSpec(STRING, Properties({ENCODING: "ISO-8859-1"})), NO_REGISTRY, b"\xe9", "é"),
]


@pytest.mark.parametrize(
    ("spec", "context", "key", "text"), WHOLE, ids=lambda one: one if isinstance(one, bytes) else ""
)
def test_key_of_one_value_has_its_text(
    spec: ConverterSpec, context: ConverterContext, key: bytes, text: str | None
) -> None:
    assert read(spec, context, (), [key, key]) == ({}, [text, text])


@pytest.mark.parametrize("spec", [ConverterSpec("long"), ConverterSpec(BOOLEAN)], ids=lambda spec: spec.kind)
def test_key_of_the_wrong_size_is_rejected(spec: ConverterSpec) -> None:
    rejected, texts = read(spec, NO_REGISTRY, (), [b"123"])
    assert ([stage for stage, _ in rejected.values()], texts) == (["key_converter"], [])


def test_key_of_bytes_has_no_text() -> None:
    rejected, texts = read(ConverterSpec(BYTES), NO_REGISTRY, (), [b"a"])
    assert ([stage for stage, _ in rejected.values()], texts) == (["coerce"], [])


def test_key_that_is_null_has_no_field() -> None:
    for spec, context, key, text in WHOLE:
        if text is None and key != b"null":
            assert read(spec, context, ("a",), [key]) == ({}, [None])


def test_key_of_json_of_any_kind_is_as_it_is_alone() -> None:
    keys = [
        b'"a"',
        b"1",
        b"{",
        b'{"b": 1}',
        b'"\xc3\xa9"',
        b"null",
        b"1.0",
        b'"\\n"',
        b"[1, 2]",
        b"",
        b'"\\ud800"',
        b"x",
    ]
    alone = [read(ConverterSpec(JSON), NO_REGISTRY, (), [key]) for key in keys]
    rejected, texts = read(ConverterSpec(JSON), NO_REGISTRY, (), keys)
    assert rejected == {place: one[0][0] for place, one in enumerate(alone) if one[0]}
    assert texts == [text for one in alone for text in one[1]]
    assert texts == ["a", "1", '{"b":1}', "é", None, "1.0", "\n", "[1,2]"]
    assert [stage for stage, _ in rejected.values()] == ["key_converter", "key_converter", "coerce", "key_converter"]


def test_key_field_of_protobuf_may_be_wrapped() -> None:
    context = registry(s7=random_messages.registered(WRAPPER))
    key = b"\x00\x00\x00\x00\x07\x00\x0a\x02\x08\x2a"
    assert read(proto_records.CONFLUENT, context, ("a",), [key]) == ({}, ["42"])
