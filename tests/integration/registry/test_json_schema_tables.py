"""JSON records with a JSON Schema from a topic to a table, with the schemas of a real registry."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from stack.services.schema_registry import SchemaRegistry
from tests.support.job.formats.json_schema_orders import CONNECT, DECIMAL, framed
from tests.support.registry.subjects import register
from tests.support.runs.pipeline import MakePipeline

DEAD_LETTERS = "db.letters"
ADDRESS = {"type": "object", "title": "Address", "properties": {"street": {"type": "string"}}}
ORDER: dict[str, Any] = {
    "type": "object",
    "title": "Order",
    "properties": {
        "id": {"type": "integer"},
        "price": DECIMAL,
        "at": {"oneOf": [{"type": "null"}, {"type": "integer", "title": f"{CONNECT}.Timestamp"}]},
        "ship_to": {"$ref": "address.json"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id", "price"],
}


def test_json_schema_records_become_typed_rows(
    pipeline: MakePipeline, schema_registry: SchemaRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))
    url, subject = schema_registry.confluent_url, f"orders-{uuid.uuid4()}"
    register(url, f"{subject}.address", json.dumps(ADDRESS), "JSON")
    old = {**ORDER, "properties": {name: ORDER["properties"][name] for name in ("id", "price")}}
    first = register(url, f"{subject}.old", json.dumps(old), "JSON")
    second = register(url, subject, json.dumps(ORDER), "JSON", references={"address.json": f"{subject}.address"})
    keys = {"schema.registry.url": url, "use.optional.for.nonrequired": "true", "schemas.enable": None}
    one = pipeline(
        **{"value.converter": "io.confluent.connect.json.JsonSchemaConverter", "floe.deadletter.table": DEAD_LETTERS},
        **{f"value.converter.{key}": value for key, value in keys.items()},
    )
    one.produce([framed({"id": 0, "price": 9.5}, first)])
    one.run()
    assert {field.name: field.required for field in one.table().schema().fields} == {"id": True, "price": True}
    whole = {"id": 1, "price": "AQA=", "at": 1000, "ship_to": {"street": "Main"}, "tags": ["hot"]}
    bad = (b'{"id": 2}', framed({**whole, "id": "2"}, second), framed(whole, 999_999), framed({"price": None}, second))
    one.produce([framed(whole, second), *bad, framed({"id": 4}, second), None])
    one.run()
    assert {field.name: str(field.field_type) for field in one.table().schema().fields if field.name != "ship_to"} == {
        "id": "long",
        "price": "decimal(38, 2)",
        "at": "timestamptz",
        "tags": "list<string>",
    }
    rows = {row["id"]: row for row in one.table().scan().to_arrow().to_pylist()}
    empty = {"at": None, "ship_to": None, "tags": None}
    assert rows == {
        0: {"id": 0, "price": Decimal("9.50"), **empty},
        1: {**whole, "price": Decimal("2.56"), "at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)},
        4: {"id": 4, "price": None, **empty},
    }
    letters = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    found = {row["offset"]: (row["stage"], row["reason"]) for row in letters if row["kind"] == "dead"}
    assert {stage for stage, _ in found.values()} == {"value_converter"}
    assert "magic byte" in found[2][1]
    assert f"schema {second}: field 'id': cannot convert string '2' to int64" in found[3][1]
    assert "no schema 999999" in found[4][1]
    assert "field 'price': it is null" in found[5][1]
