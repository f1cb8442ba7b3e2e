"""Avro records whose schemas a real registry has."""

from __future__ import annotations

import json
import uuid

from floe.schema_registry.client import SchemaRegistry
from floe_job.convert.avro.decoder import AvroDecoder
from floe_job.convert.avro.schema import AvroOptions
from floe_job.convert.typed.frames import Framing
from stack.services import schema_registry as stack
from tests.support.avro import varint
from tests.support.registry.settings import settings
from tests.support.registry.subjects import register

ADDRESS = {"type": "record", "name": "Address", "namespace": "x", "fields": [{"name": "street", "type": "string"}]}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "x",
    "fields": [{"name": "id", "type": "long"}, {"name": "ship_to", "type": ["null", "x.Address"], "default": None}],
}
UNKNOWN = 999_999


def test_avro_records_of_registered_schemas_are_read(schema_registry: stack.SchemaRegistry) -> None:
    url, subject = schema_registry.confluent_url, f"orders {uuid.uuid4()}/value"
    register(url, f"{subject}.Address", json.dumps(ADDRESS))
    first = register(url, f"{subject}.old", json.dumps({**ORDER, "fields": ORDER["fields"][:1]}))
    second = register(url, subject, json.dumps(ORDER), references={"x.Address": f"{subject}.Address"})
    text = register(url, f"{subject}.proto", 'syntax = "proto3"; message A { int64 id = 1; }', "PROTOBUF")
    datum = varint(2) + b"\x02" + varint(4) + b"Main"
    records = [
        b"\x00" + schema_id.to_bytes(4, "big") + one
        for schema_id, one in (
            (second, datum),
            (first, varint(1)),
            (UNKNOWN, datum),
            (text, datum),
            (second, datum[:-1]),
        )
    ]
    registry = SchemaRegistry(settings(url))
    batch = AvroDecoder(Framing.ID_OF_4_BYTES, registry.schema, AvroOptions()).decode(records)
    rows = {place: row for part in batch.parts for place, row in zip(part.places, part.column.to_pylist(), strict=True)}
    assert rows == {0: {"id": 2, "ship_to": {"street": "Main"}}, 1: {"id": 1}}
    reasons = {one.index: one.reason for one in batch.rejected}
    assert f"no schema {UNKNOWN}" in reasons[2]
    assert "of the type PROTOBUF" in reasons[3]
    assert reasons[4].startswith(f"schema {second}: field 'ship_to.street'")
