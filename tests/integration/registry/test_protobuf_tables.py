"""Protobuf from a topic to a table, with the schemas of a real registry."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from stack.services.schema_registry import SchemaRegistry
from tests.support.job.formats import proto_orders
from tests.support.job.formats.random_messages import encoded
from tests.support.registry.subjects import register, register_artifact
from tests.support.runs.pipeline import MakePipeline, Pipeline

CONFLUENT = "io.confluent.connect.protobuf.ProtobufConverter"
APICURIO = "io.apicurio.registry.utils.converter.ProtobufConverter"
DEAD_LETTERS = "db.letters"
FIRST = b"\x00"
ADDRESS = 'syntax = "proto3"; package x; message Address { string street = 1; }'
TRIP = 'syntax = "proto3"; import "x/address.proto"; message Trip { int64 id = 1; x.Address to = 2; }'
SMALL = 'syntax = "proto3"; message Pizza { int32 id = 1; }'
LARGE = 'syntax = "proto3"; message Pizza { int64 id = 1; string sauce = 2; }'
UNKNOWN = 999_999


def framed(schema_id: int, message: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + message


@pytest.fixture
def known(schema_registry: SchemaRegistry) -> Callable[..., int]:
    """Register a schema under a subject of its own, or a given one; gives its id."""

    def make(text: str, subject: str = "", references: dict[str, str] | None = None) -> int:
        subject = subject or f"s-{uuid.uuid4()}"
        return register(schema_registry.confluent_url, subject, text, "PROTOBUF", references)

    return make


@pytest.fixture
def protobuf(
    pipeline: MakePipeline, schema_registry: SchemaRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Pipeline:
    """A topic and a connector that reads it as Protobuf."""
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))
    url = {"value.converter.schema.registry.url": schema_registry.confluent_url}
    none = {"value.converter.schemas.enable": None, "floe.deadletter.table": DEAD_LETTERS}
    return pipeline(**{"value.converter": CONFLUENT, **url, **none})


def test_protobuf_table_is_created_with_the_types_of_the_schema(protobuf: Pipeline, known: Any) -> None:
    described = FileDescriptorProto()
    proto_orders.message_class().DESCRIPTOR.file.CopyToProto(described)
    ids = [known(proto_orders.TEXT), known(encoded(described))]
    message = [proto_orders.ORDER + proto_orders.fill(number).SerializeToString() for number in range(4)]
    protobuf.produce([framed(ids[number % 2], one) for number, one in enumerate(message)])
    protobuf.run()
    columns = {field.name: str(field.field_type) for field in protobuf.table().schema().fields}
    assert {name: columns[name] for name in ("id", "state", "price", "at", "day", "time", "code", "total", "raw")} == {
        "id": "long",
        "state": "string",
        "price": "decimal(38, 2)",
        "at": "timestamptz",
        "day": "date",
        "time": "time",
        "code": "string",
        "total": "long",
        "raw": "binary",
    }
    rows = sorted(protobuf.table().scan().to_arrow().to_pylist(), key=lambda row: int(row["id"]))
    assert rows == [proto_orders.read(number) for number in range(4)]


def test_protobuf_versions_and_imports_reach_one_table(protobuf: Pipeline, known: Any) -> None:
    small, large = known(SMALL), known(LARGE)
    protobuf.produce(
        [framed(small, FIRST + b"\x08\x05"), framed(large, FIRST + b"\x08\x80\x80\x80\x80\x20\x12\x03hot")]
    )
    protobuf.run()
    assert str(protobuf.table().schema().find_type("id")) == "long"
    assert protobuf.column("id") == [5, 2**33]
    subject = f"s-{uuid.uuid4()}.address"
    known(ADDRESS, subject)
    trip = known(TRIP, references={"x/address.proto": subject})
    protobuf.produce([framed(trip, FIRST + b"\x08\x06\x12\x06\x0a\x04Main")])
    protobuf.run()
    rows = {row["id"]: row["to"] for row in protobuf.table().scan().to_arrow().to_pylist()}
    assert rows == {5: None, 2**33: None, 6: {"street": "Main"}}


def test_protobuf_bad_records_are_dead_letters(protobuf: Pipeline, known: Any) -> None:
    small = known(SMALL)
    good = framed(small, FIRST + b"\x08\x05")
    bad = [framed(UNKNOWN, FIRST), good[:-1], framed(small, b"\x02\x08"), b'{"id": 1}']
    protobuf.produce([good, *bad, None, good])
    protobuf.run()
    assert protobuf.column("id") == [5, 5]
    rows = protobuf.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    assert {row["offset"]: row["stage"] for row in rows} == dict.fromkeys(range(1, 5), "value_converter")
    reasons = {row["offset"]: row["reason"] for row in rows}
    assert f"no schema {UNKNOWN}" in reasons[1]
    assert "not a message of its type" in reasons[2]
    assert "no message at the indexes [4]" in reasons[3]
    assert "magic byte" in reasons[4]


def test_protobuf_of_apicurio_is_read_by_the_name_of_a_message(
    pipeline: MakePipeline, schema_registry: SchemaRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))
    keys = {"value.converter": APICURIO, "value.converter.apicurio.registry.url": schema_registry.url}
    one = pipeline(**keys, **{"value.converter.schemas.enable": None})
    text = f"{LARGE} message Other{uuid.uuid4().hex} {{ }}"
    global_id, _ = register_artifact(schema_registry.url, f"s-{uuid.uuid4()}", text, "PROTOBUF")
    schema_id = global_id.to_bytes(8, "big")
    one.produce([b"\x00" + schema_id + b"\x07\x0a\x05Pizza" + b"\x08\x05\x12\x03hot"])
    headers = [("apicurio.value.globalId", schema_id), ("apicurio.protobuf.type", b"Pizza")]
    one.produce([b"\x08\x06"], record={"headers": headers})
    one.run()
    rows = {row["id"]: row["sauce"] for row in one.table().scan().to_arrow().to_pylist()}
    assert rows == {5: "hot", 6: ""}
