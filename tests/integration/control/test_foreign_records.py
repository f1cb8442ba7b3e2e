"""Records of others in the control topic, under a connector's key: none of them stops it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from floe.catalogs.client import CatalogClient
from floe.control import searches
from floe.control.wire.codec import decode
from floe.control.wire.events import CommitToTable
from floe.kafka.transactions import ControlRecord
from stack.services.broker import Broker
from tests.support.kafka.forged import forge, sent
from tests.support.kafka.raw_records import produce_raw
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids

ROWS = 10
BY_NAME = {"iceberg.tables": None, "iceberg.tables.route-field": "to", "floe.route.namespace": "db"}


def routed(start: int, end: int, table: str = "t") -> list[dict[str, object]]:
    return [{"id": i, "to": table} for i in range(start, end)]


def naming(tables: str) -> ControlRecord:
    """A record that says that the connector wrote these tables."""
    return ControlRecord(b"", [("floe-v", "1"), ("floe-slice", "x/0"), ("floe-kind", "live"), ("floe-tables", tables)])


JUNK = {
    "a number": "5",
    "null": "null",
    "numbers": "[1, 2]",
    "too deep": "[" * 200_000,
    "no table": json.dumps({"../../x": {}, "": {}, "db": {}}),
    "no JSON": "{",
}


def test_tables_that_junk_names_stop_nothing(pipeline: MakePipeline) -> None:
    pizzas = pipeline(**BY_NAME)
    pizzas.produce(routed(0, ROWS))
    pizzas.run()
    forge(pizzas, [naming(text) for text in JUNK.values()])
    pizzas.produce(routed(ROWS, 2 * ROWS))
    pizzas.run()
    assert pizzas.column("id") == list(range(2 * ROWS))


def test_any_number_of_forged_names_costs_few_look_ups(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pizzas = pipeline(**BY_NAME)
    pizzas.produce(routed(0, ROWS))
    pizzas.run()
    forge(pizzas, [naming(json.dumps({f"db.n{i}_{n}": {} for n in range(5_000)})) for i in range(20)])
    pizzas.produce(routed(ROWS, 2 * ROWS))
    asked: list[str] = []
    load = CatalogClient.load
    monkeypatch.setattr(CatalogClient, "load", lambda self, name: asked.append(name) or load(self, name))
    pizzas.run()
    assert pizzas.column("id") == list(range(2 * ROWS))
    assert len(asked) < 300


def test_names_are_taken_from_the_newest_records(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pizzas = pipeline(**BY_NAME)
    pizzas.produce(routed(0, ROWS))
    plan = pizzas.run()
    topic, group = plan.control_topic, plan.group_id
    forge(pizzas, [naming(json.dumps({f"db.n{i}": {}})) for i in range(5)])
    ends = pizzas.plan().control_ends
    assert {"db.t", "db.n0", "db.n4"} <= searches.recent_tables(pizzas.settings, topic, ends, group)
    monkeypatch.setattr(searches, "MAX_TABLES", 2)
    assert searches.recent_tables(pizzas.settings, topic, ends, group) == {"db.n3", "db.n4"}
    monkeypatch.setattr(searches, "MAX_CHARACTERS", 30)
    assert searches.recent_tables(pizzas.settings, topic, ends, group) == {"db.n3", "db.n4"}


def test_a_commit_of_another_connector_says_nothing_of_this_one(
    pipeline: MakePipeline, topic: Callable[..., str]
) -> None:
    control = topic(1, "control")
    pizzas, other = (pipeline(**{"iceberg.control.topic": control}) for _ in range(2))
    other.produce(ids(0, ROWS))
    plan = other.run()
    own = [record for record in sent(other, plan) if isinstance(decode(record.value).payload, CommitToTable)]
    assert len(own) == 1
    CatalogClient.of(other.connector).catalog.drop_table("db.t")
    forge(pizzas, own)
    pizzas.produce(ids(0, ROWS))
    pizzas.run()
    assert pizzas.column("id") == list(range(ROWS))


def test_a_header_name_that_is_no_utf_8_stops_no_commit(pipeline: MakePipeline, broker: Broker) -> None:
    pizzas: Pipeline = pipeline()
    pizzas.produce(ids(0, ROWS))
    plan = pizzas.plan()
    key = plan.group_id.encode()
    produce_raw(broker.bootstrap, plan.control_topic, key, b"x", [(b"floe-\xff\xfe", b"1"), (b"floe-slice", b"\xff")])
    pizzas.write(plan)
    pizzas.commit(plan)
    assert pizzas.column("id") == list(range(ROWS))
    assert pizzas.position() == {0: ROWS}
