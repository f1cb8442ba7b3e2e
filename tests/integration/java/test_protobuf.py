"""floe's Protobuf decoder against Java's ``DynamicMessage``, which Kafka Connect's converters read."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, cast

import pytest

from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.protobuf.descriptors import ProtobufOptions
from floe_job.convert.protobuf.message_decoder import MessageDecoder, ProtobufColumn
from floe_job.convert.protobuf.schema_file import file_of
from floe_job.source.values import packed
from tests.support.java.program import java_program
from tests.support.job.formats.random_messages import Messages, Schemas, complete, encoded, message_class, registered

PACKAGES = ("com.google.protobuf:protobuf-java:4.34.0", "com.fasterxml.jackson.core:jackson-databind:2.21.0")
SCHEMAS = 100
PLAIN = ProtobufOptions(flatten_unions=True)

NOT_IN_FLOE = ("is no int64", "it is not UTF-8", "it is not a message of its type")
"""Why floe rejects what Java reads: Java changes the number or the text, or merges what is damaged."""

Ask = Callable[[Any, Sequence[bytes]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def java_reads() -> Iterator[Ask]:
    """Ask the Java classes, in one process for all tests."""
    with java_program("ProtobufCheck", PACKAGES) as ask:

        def reads(file: Any, messages: Sequence[bytes]) -> list[dict[str, Any]]:
            answer = ask({"file": encoded(file), "messages": [one.hex() for one in messages]})
            return cast("list[dict[str, Any]]", answer)

        yield reads


def java_form(schema: ConnectSchema, value: Any) -> Any:
    """Return a value as the Java program prints it."""
    if value is None:
        return "null"
    if schema.kind is Kind.STRUCT:
        return {name: java_form(inner, value[name]) for name, inner in schema.fields}
    if schema.kind is Kind.ARRAY:
        assert schema.element is not None
        return [java_form(schema.element, one) for one in value]
    if schema.kind is Kind.MAP:
        assert schema.key is not None
        assert schema.element is not None
        return {java_form(schema.key, key): java_form(schema.element, one) for key, one in value}
    if isinstance(value, str | bytes):
        return (value.encode() if isinstance(value, str) else value).hex()
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    if schema.kind is Kind.FLOAT32:
        return struct.pack(">f", value).hex()
    if schema.kind is Kind.FLOAT64:
        return struct.pack(">d", value).hex()
    return str(value).lower()


def decode(file: Any, messages: Sequence[bytes]) -> tuple[MessageDecoder, ProtobufColumn]:
    decoder = MessageDecoder(file_of(registered(encoded(file))).message_types_by_name["R"], PLAIN)
    buffer = packed(messages)
    return decoder, decoder.decode(buffer.data, buffer.starts, buffer.ends)


def compared(java_reads: Ask, file: Any, messages: Sequence[bytes]) -> tuple[set[int], set[int], ProtobufColumn]:
    """Compare what both read; returns the messages that floe reads, those that Java reads, and floe's column."""
    java = java_reads(file, messages)
    decoder, column = decode(file, messages)
    rows = column.rows.tolist()
    for row, value in zip(rows, column.values.to_pylist(), strict=True):
        if "value" in java[row]:
            assert java_form(decoder.schema, value) == java[row]["value"], (encoded(file), messages[row].hex())
    return set(rows), {place for place, one in enumerate(java) if "value" in one}, column


def test_random_messages_read_as_java_reads_them(java_reads: Ask) -> None:
    fast = 0
    for seed in range(SCHEMAS):
        random = Random(seed)
        file = complete(Schemas(random, random.choice(("proto3", "proto3", "proto2"))).file())
        messages = Messages(random, message_class(file))
        values = [messages.bytes() for _ in range(40)]
        floe, java, column = compared(java_reads, file, values)
        assert floe == java == set(range(len(values)))
        fast += column.fast_rows
    assert fast > SCHEMAS * 20


def test_damaged_messages_read_as_java_reads_them(java_reads: Ask) -> None:
    refused = more = 0
    for seed in range(SCHEMAS):
        random = Random(seed)
        file = complete(Schemas(random, random.choice(("proto3", "proto2"))).file())
        messages = Messages(random, message_class(file))
        values = []
        for _ in range(40):
            one = messages.bytes()
            at = random.randrange(len(one) + 1)
            values.append(random.choice([one[:at], one[:at] + random.randbytes(1) + one[at + 1 :], one + b"\xff"]))
        floe, java, column = compared(java_reads, file, values)
        assert all(any(byte & 7 == 4 for byte in values[row]) for row in floe - java), seed
        reasons = dict(column.bad)
        assert all(any(why in reasons[row] for why in NOT_IN_FLOE) for row in java - floe), seed
        more += len(floe - java)
        refused += len(values) - len(java)
    assert refused > SCHEMAS
    assert more < SCHEMAS // 10, "groups whose end is another's"
