"""Ids of schemas in headers, as Apicurio's serializers write them."""

from __future__ import annotations

from typing import Any

import pytest

from floe.config.converters.base import API, PLAIN_JSON, ConverterSpec
from floe.config.converters.kinds import AVRO, PROTOBUF
from floe.config.properties import Properties
from floe.config.schema_registry.settings import RegistrySettings
from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.context import ConverterContext
from floe_job.convert.header_framing import framing_of
from floe_job.convert.header_ids import RegistryRecords
from floe_job.convert.makers import converters_of
from floe_job.convert.typed.schema_source import SchemaSource
from floe_job.source.record_batch import Records
from tests.support.avro import varint
from tests.support.job.formats.avro_orders import registered
from tests.support.job.formats.random_messages import registered as proto_registered
from tests.support.kafka.messages import PIECE, Message, records

GLOBAL, CONTENT = "apicurio.value.globalId", "apicurio.value.contentId"
NAMED = {"globalId": 7, "contentId": 9}
LEGACY = {"apicurio.registry.id-handler": "io.apicurio.registry.serde.Legacy4ByteIdHandler"}


def spec(**options: str) -> ConverterSpec:
    url = {"apicurio.registry.url": "http://registry"}
    return ConverterSpec(AVRO, Properties({API: "apicurio", **url, **options}))


def schemas(settings: RegistrySettings) -> SchemaSource:
    """Know one schema of each kind of id: a record of a long, named by the kind."""
    kind = settings.ids.kind

    def schema_of(schema_id: int) -> RegisteredSchema:
        if schema_id != NAMED[kind]:
            problem = f"the registry has no {kind} {schema_id}"
            raise SchemaMissing(problem, schema_id)
        return registered(f'{{"type": "record", "name": "R", "fields": [{{"name": "{kind}", "type": "long"}}]}}')

    return schema_of


CONTEXT = ConverterContext(schemas)


def given(*pairs: tuple[bytes | None, dict[str, bytes | None] | None]) -> Records:
    messages = [Message(i, headers=None if h is None else tuple(h.items())) for i, (_, h) in enumerate(pairs)]
    return records(PIECE, [value for value, _ in pairs], messages)


def long_bytes(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def read(one: ConverterSpec, some: Records) -> tuple[list[Any], dict[int, str]]:
    parsed = converters_of(one, CONTEXT).whole(framing_of(one, CONTEXT)(some).bytes_of_values)
    return list(parsed.values), {rejected.index: rejected.reason for rejected in parsed.rejected}


@pytest.mark.parametrize("more", [{}, LEGACY])
def test_header_ids_of_both_kinds_are_read(more: dict[str, str]) -> None:
    framed = b"\x00" + (7).to_bytes(4 if more else 8, "big")
    some = given(
        (varint(1), {GLOBAL: long_bytes(7)}),
        (varint(0), {CONTENT: long_bytes(9), GLOBAL: long_bytes(8)}),
        (framed + varint(2), {}),
        (framed + varint(3), None),
        (None, {GLOBAL: long_bytes(7)}),
        (framed + varint(4), {"other": b"x", GLOBAL: None}),
    )
    values, rejected = read(spec(**more), some)
    assert rejected == {}
    assert values == [{"globalId": 1}, {"contentId": 0}, {"globalId": 2}, {"globalId": 3}, None, {"globalId": 4}]


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({GLOBAL: long_bytes(6)}, "no globalId 6"),
        ({CONTENT: long_bytes(6)}, "no contentId 6"),
        ({GLOBAL: b"\x07"}, "does not have 8 bytes"),
        ({GLOBAL: long_bytes(-7)}, "no schema can have the id"),
        ({GLOBAL: long_bytes(2**62)}, "no schema can have the id"),
        ({"apicurio.value.artifactId": b"orders"}, "floe reads globalId and contentId"),
        ({GLOBAL: long_bytes(7), "apicurio.value.encoding": b"JSON"}, "not Avro's binary one"),
    ],
)
def test_header_ids_that_name_no_schema_reject_their_record(headers: dict[str, bytes | None], why: str) -> None:
    some = given((varint(1), {GLOBAL: long_bytes(7)}), (varint(2), headers), (varint(3), {GLOBAL: long_bytes(7)}))
    values, rejected = read(spec(), some)
    assert values == [{"globalId": 1}, None, {"globalId": 3}]
    assert why in rejected[1]


def test_header_ids_leave_the_record_as_it_is_in_kafka() -> None:
    some = given((varint(1), {GLOBAL: long_bytes(7)}), (b"x", {}))
    framed = framing_of(spec(), CONTEXT)(some)
    assert list(framed.values) == [varint(1), b"x"]
    assert list(framed.bytes_of_values) == [b"\x00" + long_bytes(7) + varint(1), b"x"]
    assert list(framed.select([1, 0]).bytes_of_values) == [b"x", b"\x00" + long_bytes(7) + varint(1)]
    assert list(framed.without([0]).content) == [b"x"]


def test_header_ids_have_the_names_of_the_file() -> None:
    one = spec(**{"apicurio.registry.headers.value.globalId.name": "id"})
    assert read(one, given((varint(1), {"id": long_bytes(7)}))) == ([{"globalId": 1}], {})


@pytest.mark.parametrize(
    "one",
    [
        PLAIN_JSON,
        spec(**{"apicurio.registry.headers.enabled": "false"}),
        ConverterSpec(AVRO, Properties({API: "confluent", "schema.registry.url": "http://registry"})),
    ],
)
def test_header_ids_are_not_looked_for_elsewhere(one: ConverterSpec) -> None:
    some = given((varint(1), {GLOBAL: long_bytes(7)}))
    assert framing_of(one, CONTEXT)(some) is some


def test_header_ids_without_any_copy_no_value() -> None:
    some = given((b"a", {"h": b"v"}), (b"b", {}))
    assert framing_of(spec(), CONTEXT)(some) is some


def test_registry_records_open_both_kinds_for_headers_only() -> None:
    opened: list[str] = []

    def watched(settings: RegistrySettings) -> SchemaSource:
        opened.append(settings.ids.kind)
        return schemas(settings)

    RegistryRecords.of(spec(), ConverterContext(watched))
    RegistryRecords.of(spec(**{"apicurio.registry.headers.enabled": "false"}), ConverterContext(watched))
    assert opened == ["globalId", "contentId", "globalId"]


PROTOBUF_SPEC = ConverterSpec(PROTOBUF, Properties({API: "apicurio", "apicurio.registry.url": "http://registry"}))
TYPE = "apicurio.protobuf.type"
TWO = 'syntax = "proto3"; message A { int64 a = 1; } message Bee { int64 b = 1; }'


def test_header_names_the_message_that_a_value_is() -> None:
    context = ConverterContext(lambda _: lambda _: proto_registered(TWO))
    named, framed = b"\x05\x0a\x03Bee", b"\x00" + long_bytes(7)
    some = given(
        (b"\x08\x05", {GLOBAL: long_bytes(7), TYPE: b"Bee"}),
        (named + b"\x08\x06", {GLOBAL: long_bytes(7), TYPE: b"Bee"}),
        (named + b"\x08\x07", {GLOBAL: long_bytes(7)}),
        (framed + b"\x03\x0a\x01A\x08\x08", {TYPE: b"Bee"}),
        (b"\x08\x05", {GLOBAL: long_bytes(7), TYPE: b"C"}),
        (None, {GLOBAL: long_bytes(7), TYPE: b"Bee"}),
        (b"\x08\x05", {GLOBAL: long_bytes(7), TYPE: b"x" * 200}),
        (b"\x08\x05", {GLOBAL: long_bytes(7), TYPE: b"\xff"}),
    )
    parsed = converters_of(PROTOBUF_SPEC, context).whole(framing_of(PROTOBUF_SPEC, context)(some).bytes_of_values)
    assert list(parsed.values) == [{"b": 5}, {"b": 6}, {"b": 7}, {"a": 8}, None, None, None, None]
    reasons = {one.index: one.reason for one in parsed.rejected}
    assert set(reasons) == {4, 6, 7}
    assert "no message 'C'" in reasons[4]
    assert "no message 'xxx" in reasons[6]
