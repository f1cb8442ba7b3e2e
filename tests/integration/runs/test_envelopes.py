"""JSON with Connect's schema envelope from a topic to a table."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from floe.tables.exceptions import DeadLettersLeft
from tests.support.job.formats.envelopes import DECIMAL, TIMESTAMP
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import replay

DEAD_LETTERS = "db.letters"
PLAIN = "value.converter.schemas.enable"
ID = {"field": "id", "type": "int32"}
FIELDS = [
    ID,
    {"field": "price", "type": "bytes", "name": DECIMAL, "version": 1, "parameters": {"scale": "2"}},
    {"field": "at", "type": "int64", "name": TIMESTAMP, "version": 1, "optional": True},
    {"field": "ship_to", "type": "struct", "optional": True, "fields": [{"field": "street", "type": "string"}]},
    {"field": "tags", "type": "array", "items": {"type": "string"}, "optional": True},
    {"field": "state", "type": "string", "default": "NEW"},
]
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def envelope(fields: list[dict[str, Any]] | None, **payload: Any) -> bytes:
    schema = None if fields is None else {"type": "struct", "name": "shop.Order", "optional": False, "fields": fields}
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()


@pytest.fixture
def envelopes(pipeline: MakePipeline) -> MakePipeline:
    """Make a topic and a connector that reads it with Connect's default of JsonConverter: with schemas."""
    return lambda **more: pipeline(**{PLAIN: None, **more})


def rows(one: Pipeline) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = one.table().scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: int(row["id"]))


def dead_letters(one: Pipeline) -> dict[int, tuple[str, str]]:
    found = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    return {row["offset"]: (row["stage"], row["reason"]) for row in found if row["kind"] == "dead"}


def test_envelopes_table_is_created_with_types_of_the_schema(envelopes: MakePipeline) -> None:
    one, millis = envelopes(), int(NOW.timestamp() * 1000)
    sent = {"price": "A7Y=", "at": millis, "ship_to": {"street": "Main"}, "tags": ["hot"], "state": None}
    one.produce([envelope(FIELDS, id=i, **sent) for i in range(300)])
    one.run()
    fields = {field.name: field for field in one.table().schema().fields}
    assert {name: (str(fields[name].field_type), fields[name].required) for name in ("id", "price", "at", "state")} == {
        "id": ("int", True),
        "price": ("decimal(38, 2)", True),
        "at": ("timestamptz", False),
        "state": ("string", True),
    }
    row = {"price": Decimal("9.50"), "at": NOW, "ship_to": {"street": "Main"}, "tags": ["hot"], "state": "NEW"}
    assert rows(one) == [{"id": i, **row} for i in range(300)]


def test_envelopes_another_schema_widens_the_table_in_one_run(envelopes: MakePipeline) -> None:
    one = envelopes()
    one.produce([envelope([ID], id=i) for i in range(50)])
    one.run()
    large = [{**ID, "type": "int64"}, {"field": "sauce", "type": "string", "optional": True}]
    other = [ID, {"field": "size", "type": "double", "optional": True}]
    one.produce([envelope([ID], id=50), envelope(large, id=2**40, sauce="hot"), envelope(other, id=51, size=0.5)])
    before = len(one.table().schemas())
    one.run()
    assert str(one.table().schema().find_type("id")) == "long"
    assert len(one.table().schemas()) == before + 1, "one update for all"
    found = {row["id"]: (row["sauce"], row["size"]) for row in rows(one)}
    assert {i: found[i] for i in (50, 51, 2**40)} == {50: (None, None), 51: (None, 0.5), 2**40: ("hot", None)}
    assert len(found) == 53


def test_envelopes_bad_records_are_dead_letters_to_redrive(envelopes: MakePipeline) -> None:
    one = envelopes(**{"floe.deadletter.table": DEAD_LETTERS})
    bad = [b'{"id": 1}', envelope([ID], id=1.5), envelope([{**ID, "type": "int"}], id=1), envelope([ID])]
    one.produce([envelope([ID], id=7), *bad, None, envelope(None, id=8), envelope([ID], id=9)])
    one.run()
    assert one.column("id") == [7, 8, 9]
    found = dead_letters(one)
    assert {stage for stage, _ in found.values()} == {"value_converter"}
    assert [
        next(word for word in ("an envelope is", "1.5", '"int"', "required") if word in found[i][1])
        for i in (1, 2, 3, 4)
    ] == ["an envelope is", "1.5", '"int"', "required"]
    with pytest.raises(DeadLettersLeft, match="3 Malformed, 1 UnusableSchema"):
        replay(one, dead_letters=True)
    assert one.column("id") == [7, 8, 9]
    assert set(dead_letters(one)) == {1, 2, 3, 4}


def test_envelopes_nulls_stay_where_the_option_says_so(envelopes: MakePipeline) -> None:
    one = envelopes(**{"value.converter.replace.null.with.default": False})
    fields = [ID, {"field": "state", "type": "string", "default": "NEW", "optional": True}]
    one.produce([envelope(fields, id=1, state=None), envelope(fields, id=2), envelope(fields, id=3, state="PAID")])
    one.run()
    assert [row["state"] for row in rows(one)] == [None, None, "PAID"]


def test_envelopes_route_by_a_field_of_the_payload(envelopes: MakePipeline) -> None:
    dynamic = {"iceberg.tables": None, "iceberg.tables.dynamic-enabled": True, "iceberg.tables.route-field": "to"}
    one, fields = envelopes(**dynamic), [ID, {"field": "to", "type": "string"}]
    for start in (0, 3):
        one.produce([envelope(fields, id=i, to=f"db.{'ab'[i % 2]}") for i in range(start, start + 3)])
        one.run()
    assert (one.column("id", "db.a"), one.column("id", "db.b")) == ([0, 2, 4], [1, 3, 5])
