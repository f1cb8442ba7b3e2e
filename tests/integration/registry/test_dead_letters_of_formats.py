"""Dead letters of Avro and of envelopes, in table and topic; redriven once what refused them fits."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from pyiceberg.types import LongType

from stack.services.schema_registry import SchemaRegistry
from tests.support.job.formats.envelopes import envelope
from tests.support.registry.avro_values import datum, framed, record_schema
from tests.support.registry.subjects import register
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.redrive import DEAD_LETTERS, REDRIVE, states
from tests.support.runs.replays import replay

AVRO = "io.confluent.connect.avro.AvroConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
HEADERS: list[tuple[str, bytes | None]] = [("trace", b"\x00\xff"), ("empty", None), ("__connect.errors.stage", b"old")]
SMALL, LARGE = record_schema("Pizza", id="int"), record_schema("Pizza", id="long")


@pytest.fixture
def reading(pipeline: MakePipeline, topic: Callable[..., str], tmp_path: Path, monkeypatch: Any) -> Any:
    """Make a connector with dead letters in a table and a topic; gives it, and the topic."""
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))

    def make(**keys: Any) -> tuple[Pipeline, str]:
        name = topic(name="dead")
        dead = {"errors.deadletterqueue.topic.name": name, "errors.deadletterqueue.topic.replication.factor": 1}
        kept = {"floe.deadletter.table": DEAD_LETTERS, "errors.deadletterqueue.context.headers.enable": True}
        return pipeline(**{**kept, **dead, "iceberg.tables.evolve-schema-enabled": False, **keys}), name

    return make


def read(one: Pipeline, values: Sequence[bytes]) -> None:
    """Produce and read records; the first makes the table."""
    for number, value in enumerate(values):
        one.produce([value], record={"key": b"\x01k%d" % number, "headers": HEADERS})
        if number in (0, len(values) - 1):
            one.run()


def in_topic(one: Pipeline, name: str, count: int) -> list[ck.Message]:
    consumer = ck.Consumer({"bootstrap.servers": one.bootstrap, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(name, 0, 0)])
    found: list[ck.Message] = []
    while len(found) < count:
        found += [message for message in consumer.consume(count, 30) if message.error() is None]
    consumer.close()
    return sorted(found, key=lambda message: int(dict(message.headers() or [])["__connect.errors.offset"] or b""))


def check(one: Pipeline, name: str, values: Sequence[bytes], stages: dict[int, str]) -> dict[int, str]:
    """Check the dead letters of some offsets in both places; return their reasons."""
    rows = {row["offset"]: row for row in one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()}
    assert {offset: row["stage"] for offset, row in rows.items()} == stages
    messages = in_topic(one, name, len(stages))
    for message, (offset, stage) in zip(messages, sorted(stages.items()), strict=True):
        row, key = rows[offset], b"\x01k%d" % offset
        assert (row["key"], row["value"]) == (message.key(), message.value()) == (key, values[offset])
        assert [(one["key"], one["value"]) for one in row["headers"]] == HEADERS
        headers = message.headers() or []
        assert headers[: len(HEADERS)] == HEADERS
        said = dict(headers)
        assert said["__connect.errors.stage"] == (b"VALUE_CONVERTER" if stage == "value_converter" else b"TASK_PUT")
        assert said["__connect.errors.class.name"] == f"floe.{stage}".encode()
        assert said["__connect.errors.exception.message"] == row["reason"].encode()
    return {offset: row["reason"] for offset, row in rows.items()}


def widen(one: Pipeline) -> None:
    with one.table().update_schema() as update:
        update.update_column("id", LongType())


def test_dead_letters_of_avro_are_rows_after_the_repair(
    reading: Any, schema_registry: SchemaRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    url = schema_registry.confluent_url
    avro = {"value.converter": AVRO, "value.converter.schemas.enable": None, "value.converter.schema.registry.url": url}
    one, name = reading(**avro)
    small, large = (register(url, f"s-{uuid.uuid4()}", json.dumps(schema)) for schema in (SMALL, LARGE))
    missing = 1 + register(url, f"s-{uuid.uuid4()}", json.dumps(SMALL | {"name": f"N{uuid.uuid4().hex}"}))
    good = datum(SMALL, {"id": 0})
    values = [
        framed(small, good),
        framed(missing, datum(LARGE, {"id": 2})),
        framed(small, good + b"\x00"),
        framed(large, datum(LARGE, {"id": 2**40})),
    ]
    read(one, values)
    stages = {1: "value_converter", 2: "value_converter", 3: "coerce"}
    reasons = check(one, name, values, stages)
    assert f"no schema {missing}" in reasons[1]
    assert f"schema {small}" in reasons[2] and "left behind" in reasons[2]
    assert str(2**40) in reasons[3]
    widen(one)
    assert register(url, f"s-{uuid.uuid4()}", json.dumps(LARGE | {"name": f"N{uuid.uuid4().hex}"})) == missing
    with caplog.at_level(logging.INFO):
        replay(one, **REDRIVE)
    assert one.column("id") == [0, 2, 2**40]
    assert states(one) == {"dead": [1, 2, 3], "resolved": [1, 3]}
    assert "2 became rows, 1 failed again (1 Malformed)" in caplog.text


def test_dead_letters_of_envelopes_are_rows_after_the_repair(reading: Any, caplog: pytest.LogCaptureFixture) -> None:
    one, name = reading(**{"value.converter": JSON, "value.converter.schemas.enable": True})
    values = [
        envelope([("id", "int32")], id=0),
        envelope([("id", "int8")], id=200),
        b'{"id": 1}',
        envelope([("id", "int64")], id=2**40),
        b"\xff\xfe",
    ]
    read(one, values)
    stages = {1: "value_converter", 2: "value_converter", 3: "coerce", 4: "value_converter"}
    reasons = check(one, name, values, stages)
    assert "200" in reasons[1]
    assert "schemas.enable=false" in reasons[2]
    assert str(2**40) in reasons[3]
    assert "UTF-8" in reasons[4]
    widen(one)
    with caplog.at_level(logging.INFO):
        replay(one, **REDRIVE)
    assert one.column("id") == [0, 2**40]
    assert states(one) == {"dead": [1, 2, 3, 4], "resolved": [3]}
    assert "1 became rows, 3 failed again (3 Malformed)" in caplog.text
