"""Rows of Protobuf, JSON Schema and Debezium's types against the sink's, which gets the values as envelopes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from pyiceberg.table import Table

from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import PROTOBUF
from floe.config.properties import Properties
from floe_job.convert.base import Converters
from floe_job.convert.context import ConverterContext
from floe_job.convert.makers import converters_of
from floe_job.convert.typed.whole_values import TypedColumns
from floe_job.schema.proposal import ColumnRules
from tests.support.avro import varint
from tests.support.java.carried import envelope
from tests.support.java.program import Ask, java_program
from tests.support.java.rows import tree
from tests.support.java.sink import EMPTY_GROUP, PROGRAM, SINK_PACKAGES, floe_rows, sink_rows
from tests.support.job.formats import json_schema_orders, random_messages
from tests.support.job.formats.avro_orders import registered
from tests.support.job.formats.avro_records import APICURIO
from tests.support.job.formats.json_schema_records import SPEC as JSON_SCHEMA
from tests.support.tables.any_table import any_table

__all__ = ["any_table"]

SCHEMAS = int(os.environ.get("FLOE_ORACLE_SCHEMAS", "10"))
RECORDS = 25
GROW = {"auto-create-enabled": "true", "evolve-schema-enabled": "true"}
EVOLVE = ColumnRules(evolve=True)
PROTOBUF_SPEC = ConverterSpec(PROTOBUF, Properties({API: "confluent", "schema.registry.url": "http://registry"}))


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Ask the sink's classes, in one process for all tests."""
    with java_program(PROGRAM, SINK_PACKAGES, has_long_run=SCHEMAS > 100) as one:
        yield one


def carried(converters: Converters, records: list[bytes]) -> dict[int, bytes]:
    """Return the envelopes of records by place, without those that have a number that JSON has not."""
    values = converters.whole(records).values
    assert isinstance(values, TypedColumns)
    found = {}
    for place, (schema, value) in enumerate(zip(values.objects().schemas, values, strict=True)):
        assert schema is not None
        try:
            found[place] = envelope(schema, value)
        except ValueError:
            continue
    return found


def compared(ask: Ask, any_table: Table, converters: Converters, records: list[bytes], shown: Any) -> int:
    """Compare tables and rows; returns how many records were compared."""
    envelopes = carried(converters, records)
    records = [records[place] for place in envelopes]
    if not records:
        return 0
    sink = sink_rows(ask, list(envelopes.values()), keys=GROW)
    if any(EMPTY_GROUP in error for error in sink.errors.values()):
        return 0
    floe = floe_rows(converters, records, any_table, EVOLVE)
    assert not sink.errors, shown
    assert sink.schema is not None
    assert floe.schema is not None
    assert tree(floe.schema) == tree(sink.schema), shown
    assert dict(floe.rows) == dict(sink.rows), shown
    return len(records)


def test_protobuf_records_make_the_rows_of_the_sink(ask: Ask, any_table: Table) -> None:
    found = 0
    for seed in range(SCHEMAS):
        random = Random(seed)
        file = random_messages.complete(random_messages.Schemas(random, random.choice(("proto3", "proto2"))).file())
        messages = random_messages.Messages(random, random_messages.message_class(file))
        records = [bytes(5) + b"\x00" + messages.bytes() for _ in range(RECORDS)]
        text = random_messages.encoded(file)
        context = ConverterContext(lambda _, text=text: lambda _: random_messages.registered(text))
        found += compared(ask, any_table, converters_of(PROTOBUF_SPEC, context), records, text)
    assert found > SCHEMAS * 3


def test_json_schema_records_make_the_rows_of_the_sink(ask: Ask, any_table: Table) -> None:
    source = json_schema_orders.source({json_schema_orders.ID: json_schema_orders.ORDER})
    converters = converters_of(JSON_SCHEMA, ConverterContext(lambda _: source))
    records = [json_schema_orders.order(number) for number in range(200)]
    assert compared(ask, any_table, converters, records, "orders") == len(records)


DEBEZIUM: list[tuple[str, str, list[int], str, int]] = [
    ("int", "io.debezium.time.Date", [0, 19_724, -1], "date", 1),
    ("int", "io.debezium.time.Time", [0, 86_399_999], "time", 1_000),
    ("long", "io.debezium.time.MicroTime", [0, 86_399_999_999], "time", 1),
    ("long", "io.debezium.time.NanoTime", [0, 86_399_999_999_999], "long", 1),
    ("long", "io.debezium.time.Timestamp", [0, 1_704_164_645_123, -1], "timestamp", 1_000),
    ("long", "io.debezium.time.MicroTimestamp", [0, 1_704_164_645_123_456, -1], "timestamp", 1),
    ("long", "io.debezium.time.NanoTimestamp", [0, 2**63 - 1], "long", 1),
    ("int", "io.debezium.time.Year", [2024], "int", 1),
]
"""Avro's type, the name, values, the column with ``floe.debezium.types``, and by what it multiplies the number."""


@pytest.mark.parametrize("avro", ["int", "long"])
def test_debezium_s_numbers_are_the_sink_s_without_the_key(ask: Ask, any_table: Table, avro: str) -> None:
    cases = [case for case in DEBEZIUM if case[0] == avro]
    fields = [
        {"name": f"f{i}", "type": {"type": kind, "connect.name": name}} for i, (kind, name, *_) in enumerate(cases)
    ]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    records = [
        bytes(9) + b"".join(varint(values[number % len(values)]) for _, _, values, *_ in cases) for number in range(6)
    ]
    converters = converters_of(APICURIO, ConverterContext(lambda _: lambda _: registered(text)))
    sink = sink_rows(ask, records, avro=[text], keys=GROW)
    plain = floe_rows(converters, records, any_table, EVOLVE)
    assert sink.schema is not None
    assert plain.schema is not None
    assert tree(plain.schema) == tree(sink.schema) == {f"f{i}!": avro for i in range(len(cases))}
    assert dict(plain.rows) == dict(sink.rows)
    meant = floe_rows(converters, records, any_table, ColumnRules(evolve=True, debezium_types=True))
    assert meant.schema is not None
    assert tree(meant.schema) == {f"f{i}!": column for i, (*_, column, _) in enumerate(cases)}
    for place, row in meant.rows.items():
        for i, (*_, times) in enumerate(cases):
            assert int(row[f"f{i}"]) == int(sink.rows[place][f"f{i}"]) * times
