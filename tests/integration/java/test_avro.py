"""floe's Avro decoder against Apicurio's converter and Avro's own reader, in Java."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, cast

import pytest

from floe_job.convert.avro.decoder import AvroColumn, LockstepDecoder
from floe_job.convert.avro.schema import AvroOptions
from floe_job.exceptions import UnusableSchema
from floe_job.source.values import packed
from tests.support.avro import Schemas, Values, varint
from tests.support.java.program import java_program
from tests.support.job.connect_json import schema_json, value_json
from tests.support.job.formats.avro_orders import registered

PACKAGES = (
    "io.apicurio:apicurio-registry-utils-converter:2.6.13.Final",
    "org.apache.avro:avro:1.12.1",  # 1.12.0 reads doubles in arrays as floats
    "org.slf4j:slf4j-nop:2.0.17",
)
SCHEMAS = 150
APICURIO = AvroOptions(flatten_singletons=False)

NOT_IN_APICURIO = ("Mismatched names", "Invalid type for MAP")
"""Errors of Apicurio's converter for what Confluent's reads, or what no converter writes: decimals in a fixed, and arrays of
entries whose keys are texts."""

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def java_reads() -> Iterator[Ask]:
    """Ask the Java classes, in one process for all tests."""
    with java_program("AvroCheck", PACKAGES) as ask:

        def reads(schema: Any, datums: Sequence[bytes] = (), **options: str) -> dict[str, Any]:
            request = {"schema": json.dumps(schema), "datums": [one.hex() for one in datums], "options": options}
            return cast("dict[str, Any]", ask(request))

        yield reads


def decode(schema: Any, datums: Sequence[bytes], options: AvroOptions = APICURIO) -> tuple[LockstepDecoder, AvroColumn]:
    decoder = LockstepDecoder(registered(json.dumps(schema)), options)
    buffer = packed([bytes(5) + datum for datum in datums])
    return decoder, decoder.decode(buffer.data, buffer.starts + 5, buffer.ends)


def is_known(answer: dict[str, Any]) -> bool:
    """Whether Apicurio's converter refuses what floe reads on purpose."""
    errors = [answer.get("error", ""), *(one.get("error", "") for one in answer.get("values", ()))]
    return any(known in error for known in NOT_IN_APICURIO for error in errors)


def test_random_records_read_as_java_reads_them(java_reads: Ask) -> None:
    compared = 0
    for seed in range(SCHEMAS):
        random = Random(seed)
        schema = Schemas(random).record()
        values = Values(random)
        values.learn(schema)
        datums = [values.encode(schema, values.value(schema)) for _ in range(20)]
        java = java_reads(schema, datums)
        if is_known(java):
            continue
        decoder, column = decode(schema, datums)
        assert schema_json(decoder.schema) == java["schema"], schema
        assert not column.bad
        read = [value_json(decoder.schema, value) for value in column.values.to_pylist()]
        assert read == [one["value"] for one in java["values"]], schema
        compared += 1
    assert compared > SCHEMAS // 2


def test_nothing_is_read_that_java_refuses(java_reads: Ask) -> None:
    refused = 0
    for seed in range(SCHEMAS // 2):
        random = Random(seed)
        schema = Schemas(random).record()
        values = Values(random)
        values.learn(schema)
        datums = []
        for _ in range(30):
            datum = values.encode(schema, values.value(schema))
            at = random.randrange(len(datum) + 1)
            datums.append(
                random.choice([datum[:at], datum + b"\x00", datum[:at] + random.randbytes(3) + datum[at + 2 :]])
            )
        java = java_reads(schema, datums)
        if is_known(java):
            continue
        read = set(decode(schema, datums)[1].rows.tolist())
        by_java = {i for i, one in enumerate(java["values"]) if "error" in one}
        assert not read & by_java, schema
        refused += len(by_java)
    assert refused > 300


def field(avro: Any, **more: Any) -> dict[str, Any]:
    inner = {"type": avro} if isinstance(avro, str) else avro
    return {"type": "record", "name": "R", "namespace": "n.s", "fields": [{"name": "f", "type": inner, **more}]}


ENTRY = {"type": "record", "name": "MapEntry", "namespace": "io.confluent.connect.avro"}
SCHEMAS_OF_CONNECT = [
    field({"type": "int", "connect.type": "int8"}),
    field(["null", {"type": "int", "connect.type": "int16"}]),
    field({"type": "long", "connect.name": "io.debezium.time.MicroTimestamp", "connect.version": 1}),
    field({"type": "long", "connect.name": "org.apache.kafka.connect.data.Timestamp", "connect.version": 1}),
    field({"type": "string", "connect.version": -3}),
    field(
        {"type": "bytes", "connect.name": "org.apache.kafka.connect.data.Decimal", "connect.parameters": {"scale": "3"}}
    ),
    field({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}),
    field({"type": "bytes", "logicalType": "DECIMAL", "precision": 5}),
    field({"type": "string", "connect.parameters": {"a": "b"}, "avro.java.string": "String"}),
    field("int", default=5),
    field("int", default="x"),
    field("bytes", default="ÿ\x01"),
    field(["null", "string"], default=None),
    field([{"type": "string", "connect.default": "d"}, "null"], default="d"),
    field(["null", "string", "long"], default=None),
    field(["string", "long"], default="q"),
    field({"type": "array", "items": "int"}, default=[1, 2]),
    field({"type": "map", "values": "int"}, default={"a": 1}),
    field({"type": "enum", "name": "E", "symbols": ["A", "B"], "default": "A"}, default="B"),
    field({"type": "record", "name": "I", "fields": [{"name": "a", "type": "int"}]}, default={"a": 1}),
    field({"type": "int", "logicalType": "date"}, default=3),
    field({"type": "int", "logicalType": "time-millis"}, default=3),
    field({"type": "long", "logicalType": "timestamp-millis"}, default=1000),
    field({"type": "int", "connect.default": 5}, default=6),
    field({"type": "record", "name": "io.confluent.connect.avro.ConnectDefault2", "fields": []}),
    field(
        {
            "type": "array",
            "items": {**ENTRY, "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "int"}]},
        }
    ),
    field(["null", {"type": "fixed", "name": "q.w", "size": 2}, {"type": "array", "items": "int"}, "string"]),
    field(["string"]),
    ["null", "string"],
    ["string", "long"],
]


@pytest.mark.parametrize("is_enhanced", [False, True])
def test_schemas_become_what_java_makes_of_them(java_reads: Ask, is_enhanced: bool) -> None:
    options = AvroOptions(enhanced_support=is_enhanced, flatten_singletons=False)
    for schema in SCHEMAS_OF_CONNECT:
        java = java_reads(schema, **{"enhanced.avro.schema.support": str(is_enhanced).lower()})
        assert schema_json(decode(schema, [], options)[0].schema) == java["schema"], schema


REFUSED = [
    field({"type": "string", "connect.version": "x"}),
    field({"type": "string", "connect.name": 7}),
    field({"type": "string", "connect.parameters": {"a": 1}}),
    field({"type": "int", "connect.type": "int32"}),
    field({"type": "long", "connect.name": "x", "logicalType": "timestamp-millis"}),
    field({"type": "bytes", "logicalType": "decimal", "precision": "x"}),
    field({"type": "array", "items": {**ENTRY, "fields": [{"name": "key", "type": "int"}]}}),
    field([{"type": "record", "name": "x.A", "fields": []}, {"type": "record", "name": "y.A", "fields": []}]),
    field("null"),
    field(["int", "int"]),
    field([["int"]]),
    field("Unknown"),
]


def test_schemas_that_java_refuses_are_refused(java_reads: Ask) -> None:
    for schema in REFUSED:
        assert "error" in java_reads(schema), schema
        with pytest.raises(UnusableSchema):
            decode(schema, [])


def test_null_fields_stay_null_where_java_returns_their_default(java_reads: Ask) -> None:
    schema = field([{"type": "string", "connect.default": "d"}, "null"])
    java = java_reads(schema, [b"\x02", b"\x00" + varint(1) + b"a"])
    assert [one["value"] for one in java["values"]] == [{"f": "64"}, {"f": "61"}]
    assert decode(schema, [b"\x02", b"\x00" + varint(1) + b"a"])[1].values.to_pylist() == [{"f": None}, {"f": "a"}]
