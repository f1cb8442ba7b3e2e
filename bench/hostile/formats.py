"""Records of other formats made to be expensive: each of about 300 bytes, and made of its number alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from pyiceberg.types import IntegerType, ListType, NestedField, StringType

from bench.hostile.records import BYTES, HostileShape
from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import AVRO, ENVELOPE, JSON_SCHEMA, PROTOBUF
from floe.config.properties import Properties
from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema, SchemaText, SchemaType

_REGISTRY: Final = Properties({API: "confluent", "schema.registry.url": "http://registry"})
_ENVELOPE: Final = ConverterSpec(ENVELOPE, Properties({"replace.null.with.default": "false"}))
_KINDS: Final[dict[SchemaType, str]] = {"AVRO": AVRO, "PROTOBUF": PROTOBUF, "JSON": JSON_SCHEMA}
_COLUMNS: Final = (
    NestedField(1001, "a", ListType(1002, IntegerType(), element_required=False), required=False),
    NestedField(1003, "text", StringType(), required=False),
)

_FEW: Final = 4
"""Schemas among which records choose: more than one, so that batches are divided."""


def formats() -> Iterator[HostileShape]:
    """Yield all shapes: of Avro, Protobuf, JSON Schema, and of envelopes."""
    yield _registered("AVRO", "cut", _avro, lambda i: _framed(i % _FEW, b"\xc8\x04" + b"\x02" * (280 + i % 20)))
    yield _registered("AVRO", "a block for each element", _avro, lambda i: _framed(0, b"\x02\x02" * 147 + b"\x00\x00"))
    yield _registered("AVRO", "a count of 2^62", _avro, lambda i: _framed(0, b"\xfe" * 8 + b"\x7f" + bytes(280)))
    yield _registered("AVRO", "no UTF-8", _avro, lambda i: _framed(0, b"\x00\xa4\x04" + b"\xff" * 290))
    yield _registered("AVRO", "no magic byte", _avro, lambda i: b"\x01" * BYTES)
    yield _registered("AVRO", "an unknown id each", _unknown, lambda i: _framed(i, b"\x00" * 295))
    yield _registered(
        "PROTOBUF", "cut", _proto, lambda i: _framed(i % _FEW, b"\x00\x0a\xff\x7f" + b"\x01" * (280 + i % 20))
    )
    yield _registered("PROTOBUF", "unknown fields", _proto, lambda i: _framed(0, b"\x00" + b"\x78\x01" * 147))
    yield _registered("PROTOBUF", "groups in each other", _proto, lambda i: _framed(0, b"\x00" + b"\x7b" * 294))
    yield _registered("PROTOBUF", "indexes each", _proto, lambda i: _framed(0, b"\x02" + _varint(i) + bytes(290)))
    yield _registered(
        "PROTOBUF", "a length of 2^64", _proto, lambda i: _framed(0, b"\x00\x12" + b"\xff" * 9 + b"\x01" * 283)
    )
    yield _registered("JSON", "no JSON", _json_schema, lambda i: _framed(i % _FEW, b"{" * 295))
    yield _registered("JSON", "of another type", _json_schema, lambda i: _framed(0, b'{"a":"%s"}' % (b"x" * 286)))
    yield _registered("JSON", "long numbers", _json_schema, lambda i: _framed(0, b'{"a":[%s]}' % (b"9" * 285)))
    yield _enveloped("a schema each", lambda i: _envelope([(f"c{i}", "int32")], {f"c{i}": 1}))
    yield _enveloped("one of 5,000 schemas", lambda i: _envelope([(f"c{i % 5000}", "int32")], {f"c{i % 5000}": 1}))
    yield _enveloped("a schema each that cannot be used", lambda i: _envelope([("a", f"int{i}")], {"a": 1}))
    yield _enveloped("not of its schema", lambda i: _envelope([("a", "int8")], {"a": 300}))
    yield _enveloped("the payload first", lambda i: _swapped(_envelope([("text", "string")], {"text": "x"})))
    yield _enveloped("no envelope", lambda i: b'{"a":"%s"}' % (b"x" * 290))


def _registered(
    kind: SchemaType, name: str, schema: Callable[[int], str], make: Callable[[int], bytes]
) -> HostileShape:
    def schema_of(schema_id: int) -> RegisteredSchema:
        return RegisteredSchema(SchemaText(kind, schema(schema_id)))

    spec = ConverterSpec(_KINDS[kind], _REGISTRY)
    return HostileShape(f"{kind.title()}, {name}", make, _COLUMNS, converter=spec, schema_of=schema_of)


def _enveloped(name: str, make: Callable[[int], bytes]) -> HostileShape:
    return HostileShape(f"envelopes, {name}", make, _COLUMNS, converter=_ENVELOPE)


def _framed(schema_id: int, value: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + value


def _varint(number: int) -> bytes:
    number <<= 1
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _avro(schema_id: int) -> str:
    fields = [{"name": "a", "type": {"type": "array", "items": "int"}}, {"name": "text", "type": "string"}]
    return json.dumps({"type": "record", "name": f"R{schema_id}", "fields": fields})


def _unknown(schema_id: int) -> str:
    problem = f"the registry has no schema {schema_id}"
    raise SchemaMissing(problem, schema_id)


def _proto(schema_id: int) -> str:
    return f'syntax = "proto3"; message R{schema_id} {{ repeated int32 a = 1; string text = 2; }}'


def _json_schema(schema_id: int) -> str:
    properties = {"a": {"type": "array", "items": {"type": "integer"}}, "text": {"type": "string"}}
    return json.dumps({"type": "object", "title": f"R{schema_id}", "properties": properties})


def _envelope(fields: list[tuple[str, str]], payload: dict[str, Any]) -> bytes:
    """Return an envelope; a description pads its schema to 300 bytes."""
    described = [{"type": kind, "optional": True, "field": name} for name, kind in fields]
    schema: dict[str, Any] = {"type": "struct", "fields": described, "doc": ""}
    size = len(json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")))
    schema["doc"] = "x" * max(0, BYTES - size)
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()


def _swapped(record: bytes) -> bytes:
    fields = json.loads(record)
    return json.dumps({"payload": fields["payload"], "schema": fields["schema"]}, separators=(",", ":")).encode()
