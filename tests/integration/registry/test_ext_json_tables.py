"""Apicurio's JSON with the id of its schema from a topic to a table, with the schemas of a real registry."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from stack.services.schema_registry import SchemaRegistry
from tests.support.job.formats.ext_json_records import struct, written
from tests.support.registry.subjects import register_artifact
from tests.support.runs.pipeline import MakePipeline

DEAD_LETTERS = "db.letters"
ORDER = struct(id="int64", at={"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1})


def test_ext_json_records_become_typed_rows(
    pipeline: MakePipeline, schema_registry: SchemaRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))
    url = schema_registry.confluent_url.removesuffix("/apis/ccompat/v7")
    schema_id, _ = register_artifact(url, f"order-{uuid.uuid4()}", json.dumps(ORDER), "KCONNECT")
    keys = {"apicurio.registry.url": f"{url}/apis/registry/v2", "schemas.enable": None}
    one = pipeline(
        **{"value.converter": "io.apicurio.registry.utils.converter.ExtJsonConverter"},
        **{f"value.converter.{key}": value for key, value in keys.items()},
        **{"floe.deadletter.table": DEAD_LETTERS},
    )
    good = [written({"id": n, "at": n}, schema_id) for n in range(3)]
    one.produce([*good, written({"id": 3, "at": 1}, 999_999), written({"id": "4", "at": 1}, schema_id), None])
    one.run()
    assert {field.name: str(field.field_type) for field in one.table().schema().fields} == {"id": "long", "at": "date"}
    assert one.column("id") == [0, 1, 2]
    letters = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    found = {row["offset"]: (row["stage"], row["reason"]) for row in letters if row["kind"] == "dead"}
    assert {stage for stage, _ in found.values()} == {"value_converter"}
    assert "999999" in found[3][1]
    assert found[4][1].startswith(f"schema {schema_id}: ")
