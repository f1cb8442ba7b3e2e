"""GUIDs of schemas in headers, as Confluent's serializers write them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import AVRO, PROTOBUF
from floe.config.properties import Properties
from floe.config.schema_registry.settings import RegistrySettings
from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema
from floe_job.contract.result import SchemaLookups
from floe_job.convert import guids
from floe_job.convert.context import ConverterContext
from floe_job.convert.header_framing import framing_of
from floe_job.convert.makers import converters_of
from floe_job.convert.typed.schema_source import SchemaSource
from floe_job.source.record_batch import Records
from tests.support.avro import varint
from tests.support.job.formats.avro_orders import registered
from tests.support.job.formats.random_messages import registered as proto_registered
from tests.support.kafka.messages import PIECE, Message, records

HEADER = "__value_schema_id"
GUID, OTHER = UUID("11111111-2222-3333-4444-555555555555"), UUID(int=7)
BY_GUID, BY_ID = b"\x01" + GUID.bytes, b"\x00\x00\x00\x00\x07"
TWO = 'syntax = "proto3"; message A { int64 a = 1; } message Bee { int64 b = 1; }'
DESERIALIZER = "io.confluent.kafka.serializers.schema.id."


def spec(kind: str = AVRO, **options: str) -> ConverterSpec:
    return ConverterSpec(kind, Properties({API: "confluent", "schema.registry.url": "http://registry", **options}))


def schemas(settings: RegistrySettings) -> SchemaSource:
    """Know a GUID and an id: a record of a long, named by what it was found by."""
    kind = settings.ids.kind

    def schema_of(number: int) -> RegisteredSchema:
        if number != {"guid": GUID.int, "id": 7}[kind]:
            problem = f"the registry has no {kind} {number}"
            raise SchemaMissing(problem, number)
        return registered(f'{{"type": "record", "name": "R", "fields": [{{"name": "{kind}", "type": "long"}}]}}')

    return schema_of


def given(*pairs: tuple[bytes | None, tuple[tuple[str, bytes | None], ...] | None]) -> Records:
    messages = [Message(i, headers=headers) for i, (_, headers) in enumerate(pairs)]
    return records(PIECE, [value for value, _ in pairs], messages)


def read(one: ConverterSpec, some: Records, source: Any = schemas) -> tuple[list[Any], dict[int, str]]:
    context = ConverterContext(source)
    parsed = converters_of(one, context).whole(framing_of(one, context)(some).bytes_of_values)
    return list(parsed.values), {rejected.index: rejected.reason for rejected in parsed.rejected}


def test_guid_in_header_names_the_schema() -> None:
    some = given(
        (varint(1), ((HEADER, BY_GUID),)),
        (varint(0), ((HEADER, b"bad"), ("trace", b"x"), (HEADER, BY_GUID))),
        (varint(2), ((HEADER, BY_ID),)),
        (BY_ID + varint(3), None),
        (BY_ID + varint(4), ((HEADER, None), ("__key_schema_id", BY_GUID))),
        (None, ((HEADER, BY_GUID),)),
        (varint(5), ((HEADER, BY_GUID + b"more"),)),
    )
    values, rejected = read(spec(), some)
    assert rejected == {}
    assert values == [{"guid": 1}, {"guid": 0}, {"id": 2}, {"id": 3}, {"id": 4}, None, {"guid": 5}]


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (b"\x01" + OTHER.bytes, "the registry has no guid 7"),
        (b"\x00\x00\x00\x00\x08", "the registry has no id 8"),
        (b"", "neither a byte 1 and a GUID"),
        (BY_GUID[:-1], "neither a byte 1 and a GUID"),
        (b"\x02" + GUID.bytes, "neither a byte 1 and a GUID"),
        (b"\x00\xff\xff\xff\xff", "neither a byte 1 and a GUID"),
    ],
)
def test_header_that_names_no_schema_rejects_its_record(header: bytes, why: str) -> None:
    some = given((varint(1), ((HEADER, BY_GUID),)), (varint(2), ((HEADER, header),)), (BY_ID + varint(3), ()))
    values, rejected = read(spec(), some)
    assert values == [{"guid": 1}, None, {"id": 3}]
    assert why in rejected[1]


def test_reason_names_the_guid_and_not_its_number() -> None:
    _, rejected = read(spec(), given((varint(1) + b"more", ((HEADER, BY_GUID),))))
    assert f"schema {GUID}: " in rejected[0]


def test_header_has_the_indexes_of_a_message() -> None:
    one = spec(PROTOBUF)
    some = given(
        (b"\x08\x05", ((HEADER, BY_GUID + b"\x00"),)),
        (b"\x08\x06", ((HEADER, BY_GUID + b"\x02\x02"),)),
        (BY_ID + b"\x02\x02\x08\x07", ()),
        (b"\x08\x08", ((HEADER, BY_GUID),)),
        (b"\x08\x09", ((HEADER, BY_ID + b"\x00"),)),
    )
    values, rejected = read(one, some, lambda _: lambda _: proto_registered(TWO))
    assert values == [{"a": 5}, {"b": 6}, {"b": 7}, None, {"a": 9}]
    assert "neither" in rejected[3]


def test_header_is_read_unless_the_class_does_not() -> None:
    some = given((varint(1), ((HEADER, BY_GUID),)))
    key = "value.schema.id.deserializer"
    assert read(spec(**{key: f"{DESERIALIZER}DualSchemaIdDeserializer"}), some)[0] == [{"guid": 1}]
    plain = spec(**{key: f"{DESERIALIZER}PrefixSchemaIdDeserializer"})
    assert framing_of(plain, ConverterContext(schemas))(some) is some


def test_records_without_header_are_not_copied() -> None:
    some = given((BY_ID + varint(1), (("trace", b"x"),)), (BY_ID, None))
    assert framing_of(spec(), ConverterContext(schemas))(some) is some


def test_too_many_guids_reject_only_those_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guids, "MAX_GUIDS", 1)
    some = given(*((varint(1), ((HEADER, b"\x01" + one.bytes),)) for one in (GUID, OTHER, GUID)))
    values, rejected = read(spec(), some)
    assert values == [{"guid": 1}, None, {"guid": 1}]
    assert "others in one task" in rejected[1]


def test_numbers_of_two_tasks_are_different() -> None:
    one, two = guids.GuidNumbers(), guids.GuidNumbers()
    first, second = one.number_of(GUID.bytes), two.number_of(OTHER.bytes)
    assert first != second and one.number_of(GUID.bytes) == first
    assert first is not None and one.guid_of(first) == GUID and two.guid_of(first) is None
    assert guids.name_of_schema(first) == str(GUID) and guids.name_of_schema(5) == "5"


def test_unknown_guids_are_named_in_full() -> None:
    assert SchemaLookups(False, (5, GUID.int)).names == ["5", str(GUID)]
