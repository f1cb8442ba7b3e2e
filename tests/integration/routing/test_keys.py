"""Records that go to tables by their keys, which are decoded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from floe_job.exceptions import SliceRefused
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import replay

DEAD_LETTERS = "ops.letters"
BY_KEY: dict[str, Any] = {"iceberg.tables": None, "floe.route.by": "key", "floe.route.namespace": "db"}
JSON_KEYS = {"key.converter": "JsonConverter", "key.converter.schemas.enable": "false"}


def produce(one: Pipeline, *keys: bytes | None) -> None:
    """Produce a record for each key, with numbers for ids."""
    for number, key in enumerate(keys):
        one.produce([{"id": number}], partition=0, record={"key": key})


def dead(one: Pipeline) -> list[tuple[Any, ...]]:
    rows = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    found = [(row["offset"], row["stage"], row["key"], row["table"]) for row in rows if row["kind"] == "dead"]
    return sorted(found, key=lambda row: int(row[0]))


@pytest.mark.parametrize("consumer", ["auto", "portable"])
def test_keys_field_names_the_table(pipeline: MakePipeline, consumer: str) -> None:
    one = pipeline(
        **BY_KEY,
        **JSON_KEYS,
        **{"iceberg.tables.route-field": "to.kind", "floe.deadletter.table": DEAD_LETTERS, "floe.consumer": consumer},
    )
    a, b = (json.dumps({"to": {"kind": kind}}).encode() for kind in "ab")
    produce(one, a, b, a, b"no json", None, b"{}", b'"a"', b)
    one.produce([None], partition=0, record={"key": b"tombstones have no route"})
    one.run()
    assert (one.column("id", "db.a"), one.column("id", "db.b")) == ([0, 2], [1, 7])
    stages = ["key_converter", "route", "route", "route"]
    keys = [b"no json", None, b"{}", b'"a"']
    assert dead(one) == [(3 + i, stages[i], keys[i], None) for i in range(4)]


def test_bad_key_fails_the_run_where_none_is_tolerated(pipeline: MakePipeline) -> None:
    one = pipeline(**BY_KEY, **JSON_KEYS, **{"errors.tolerance": "none"})
    produce(one, b'"a"', b"no json")
    with pytest.raises(SliceRefused, match=r"1 of the 2 records.*offset 1.*not JSON"):
        one.write(one.plan())


def test_ledger_of_text_keys_goes_on_with_a_converter(pipeline: MakePipeline) -> None:
    one = pipeline(**BY_KEY)
    produce(one, b"a", b"b")
    one.run()
    before = one.connector.route_rule("db.a", one.topic)
    typed = one.changed(**JSON_KEYS)
    assert typed.connector.route_rule("db.a", one.topic) == before
    typed.produce([{"id": 2}], partition=0, record={"key": b'"a"'})
    typed.run()
    assert typed.column("id", "db.a") == [0, 2]


def test_bad_key_is_routed_when_its_converter_is_right(pipeline: MakePipeline) -> None:
    one = pipeline(**BY_KEY, **JSON_KEYS, **{"floe.deadletter.table": DEAD_LETTERS})
    produce(one, b'"a"', b"a")
    one.run()
    assert [row[:2] for row in dead(one)] == [(1, "key_converter")]
    fixed = one.changed(**{"key.converter": "StringConverter", "key.converter.schemas.enable": None})
    replay(fixed, dead_letters=True)
    assert fixed.column("id", "db.a") == [0, 1]
