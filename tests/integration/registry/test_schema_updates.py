"""Records of several schema ids: a table gets one schema update and one snapshot for all of them, and never narrows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, FloatType, IntegerType, NestedField, StringType

from floe.catalogs.client import CatalogClient
from stack.services.schema_registry import SchemaRegistry
from tests.support.registry.avro_values import datum, framed, record_schema
from tests.support.registry.subjects import register
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.redrive import DEAD_LETTERS, DEAD_LETTERS_KEY, REDRIVE
from tests.support.runs.replays import opened


def array(**fields: Any) -> dict[str, Any]:
    return {"type": "array", "items": record_schema("Line", **fields)}


def mapped(**fields: Any) -> dict[str, Any]:
    return {"type": "map", "values": record_schema("Count", **fields)}


def money(precision: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}


FIRST: dict[str, Any] = {
    "id": "int",
    "ratio": "float",
    "price": money(9),
    "note": "string",
    "ship_to": record_schema("Address", street="string"),
    "lines": array(item="string"),
    "counts": mapped(n="int"),
}
ROW: dict[str, Any] = {
    "ratio": 0.5,
    "price": Decimal("1.25"),
    "note": "x",
    "ship_to": {"street": "Main"},
    "lines": [{"item": "pizza"}],
    "counts": {"a": {"n": 1}},
}
CHANGES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"id": "long"}, {"id": 2**40}),
    ({"ratio": "double"}, {"ratio": 1e300}),
    ({"price": money(20)}, {"price": Decimal("123456789012.25")}),
    ({"note": ["null", "string"]}, {"note": None}),
    (
        {"ship_to": record_schema("Address", street="string", floor=["null", "int"])},
        {"ship_to": {"street": "Main", "floor": 3}},
    ),
    ({"lines": array(item="string", pieces="int")}, {"lines": [{"item": "pizza", "pieces": 2}]}),
    ({"counts": mapped(n="long", unit="string")}, {"counts": {"a": {"n": 2**40, "unit": "g"}}}),
)
"""What each schema changes of the first, and a value that needs it."""
KEYS = {"iceberg.tables.evolve-schema-enabled": True, "iceberg.tables.auto-create-enabled": True}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def avro(pipeline: MakePipeline, schema_registry: SchemaRegistry) -> MakePipeline:
    """Make a topic and a connector that reads it as Avro."""
    keys = {
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": schema_registry.confluent_url,
        "value.converter.schemas.enable": None,
    }
    return lambda partitions=1, **more: pipeline(partitions, **{**keys, **KEYS, **more})


@pytest.fixture
def written(schema_registry: SchemaRegistry) -> Callable[..., bytes]:
    """Write a record of the first schema with changes, whose schema is registered."""

    def write(number: int, fields: dict[str, Any], values: dict[str, Any]) -> bytes:
        schema = record_schema("Order", **{**FIRST, **fields})
        schema_id = register(schema_registry.confluent_url, f"s-{uuid.uuid4()}", json.dumps(schema))
        return framed(schema_id, datum(schema, {**ROW, "id": number, **values}))

    return write


def types(one: Pipeline) -> dict[str, str]:
    return {name: str(one.table().schema().find_type(name)) for name in WIDENED}


# a decimal gets the digits of the largest value, not those that the schema allows
WIDENED = {
    "id": "long",
    "ratio": "double",
    "price": "decimal(14, 2)",
    "note": "string",
    "ship_to.floor": "int",
    "lines.element.pieces": "int",
    "counts.value.n": "long",
}


def narrow_table(one: Pipeline) -> None:
    """Let the table have narrow columns, decimals as no table of floe's own has them."""
    narrow = {"id": IntegerType(), "ratio": FloatType(), "price": DecimalType(9, 2), "note": StringType()}
    fields = (NestedField(i, name, kind, required=True) for i, (name, kind) in enumerate(narrow.items(), 1))
    catalog = CatalogClient.of(one.connector).catalog
    catalog.create_namespace_if_not_exists("db")
    catalog.create_table("db.t", Schema(*fields))


@pytest.mark.parametrize("tasks", [1, 3])
def test_all_changes_of_a_run_are_one_update_and_one_snapshot(avro: MakePipeline, written: Any, tasks: int) -> None:
    one = avro(3, **{"tasks.max": tasks})
    narrow_table(one)
    for number in range(3):
        one.produce([written(number, {}, {})], partition=number)
    one.run()
    table = one.table()
    before = len(table.schemas()), len(table.snapshots())
    for number, (fields, values) in enumerate(CHANGES, 3):
        one.produce([written(number, fields, values)], partition=number % 3)
    one.run()
    table = one.table()
    assert (len(table.schemas()), len(table.snapshots())) == (before[0] + 1, before[1] + 1)
    assert types(one) == WIDENED
    assert table.schema().find_field("note").optional
    assert one.column("id") == [0, 1, 2, *range(4, 10), 2**40]
    rows = {row["id"]: row for row in table.scan().to_arrow().to_pylist()}
    assert (rows[4]["ratio"], rows[5]["price"], rows[6]["note"]) == (1e300, Decimal("123456789012.25"), None)
    assert (rows[7]["ship_to"]["floor"], rows[8]["lines"][0]["pieces"], rows[9]["counts"]) == (
        3,
        2,
        [("a", {"n": 2**40, "unit": "g"})],
    )
    one.produce([written(10, {}, {}), *(written(i, fields, {}) for i, (fields, _) in enumerate(CHANGES[:3], 11))])
    one.run()
    assert len(one.table().schemas()) == before[0] + 1, "narrower schemas change nothing"
    assert len(one.column("id")) == 14


def test_slices_at_the_same_time_widen_one_table_together(avro: MakePipeline, written: Any) -> None:
    one = avro(**{"iceberg.tables.evolve-schema-enabled": False, DEAD_LETTERS_KEY: DEAD_LETTERS})
    narrow_table(one)
    one.produce([written(number, fields, values) for number, (fields, values) in enumerate(CHANGES[:4])])
    one.run()
    assert one.column("id") == []
    evolving = one.changed(**{"iceberg.tables.evolve-schema-enabled": True})
    plan, effective = opened(evolving, max_records=1, **REDRIVE)
    assert len(plan.slices) == 4
    before = len(one.table().schemas())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda slice_: effective.write_slice(plan, slice_), plan.slices))
    effective.commit(plan)
    assert one.column("id") == [1, 2, 3, 2**40]
    assert [str(one.table().schema().find_type(name)) for name in ("id", "ratio", "price")] == [
        "long",
        "double",
        "decimal(14, 2)",
    ]
    assert one.table().schema().find_field("note").optional
    assert len(one.table().schemas()) <= before + 4
