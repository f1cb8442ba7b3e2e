"""Records whose keys are Avro, with the schemas of a real registry."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from floe.schema_registry.exceptions import UnknownSchemas
from stack.services.schema_registry import SchemaRegistry
from tests.support.registry.avro_values import datum, framed, record_schema
from tests.support.registry.subjects import register
from tests.support.runs.pipeline import MakePipeline, Pipeline

CONFLUENT = "io.confluent.connect.avro.AvroConverter"
DEAD_LETTERS = "db.letters"
UNKNOWN = 999_999
KEY = record_schema("Key", tenant=record_schema("Tenant", label="string", number="long"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def by_key(pipeline: MakePipeline, schema_registry: SchemaRegistry) -> MakePipeline:
    """Make a connector that reads keys as Avro, and routes by them."""

    def make(**more: Any) -> Pipeline:
        keys = {"key.converter": CONFLUENT, "key.converter.schema.registry.url": schema_registry.confluent_url}
        routed = {"iceberg.tables": None, "floe.route.by": "key", "floe.route.template": "db.t_{value}"}
        return pipeline(**keys, **routed, **{"floe.deadletter.table": DEAD_LETTERS}, **more)

    return make


def known(registry: SchemaRegistry, schema: Any) -> int:
    return register(registry.confluent_url, f"s-{uuid.uuid4()}-key", json.dumps(schema))


def produce(one: Pipeline, *keys: bytes) -> None:
    for number, key in enumerate(keys):
        one.produce([{"id": number}], partition=0, record={"key": key})


def test_avro_keys_field_names_the_table(by_key: MakePipeline, schema_registry: SchemaRegistry) -> None:
    one = by_key(**{"iceberg.tables.route-field": "tenant.number"})
    schema_id = known(schema_registry, KEY)
    good = [framed(schema_id, datum(KEY, {"tenant": {"label": "é", "number": number}})) for number in (7, 42)]
    unknown = framed(UNKNOWN, good[0][5:])
    produce(one, good[0], good[1], good[0], good[0][:-1], unknown)
    one.run()
    assert (one.column("id", "db.t_7"), one.column("id", "db.t_42")) == ([0, 2], [1])
    rows = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    found = {row["offset"]: (row["stage"], row["key"]) for row in rows if row["kind"] == "dead"}
    assert found == {3: ("key_converter", good[0][:-1]), 4: ("key_converter", unknown)}


def test_avro_key_of_one_value_names_the_table(by_key: MakePipeline, schema_registry: SchemaRegistry) -> None:
    one, schema_id = by_key(), known(schema_registry, "long")
    produce(one, *(framed(schema_id, datum({"type": "long"}, number)) for number in (7, 42, 7)))
    one.run()
    assert (one.column("id", "db.t_7"), one.column("id", "db.t_42")) == ([0, 2], [1])


def test_avro_keys_of_unknown_ids_alone_fail_the_slice(by_key: MakePipeline) -> None:
    one = by_key()
    produce(one, framed(UNKNOWN, b"\x02"))
    with pytest.raises(UnknownSchemas, match=r"keys of the records name, such as 999999.*class of key\.converter"):
        one.write(one.plan())
