"""Tables that the connector filled and that were dropped: no run goes on silently, and each decision does what it says."""

from __future__ import annotations

from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient
from pyiceberg.exceptions import ServiceUnavailableError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogUnreachable, TableMissing
from floe.model.exceptions import PlanRefused
from floe.planning.live_plan import draft_plan
from floe.tables.exceptions import TablesBehind
from tests.support.runs.mishaps import replace_table
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids
from tests.support.runs.replays import drop, replay

OTHER = {"iceberg.tables": "db.t, db.other"}
GONE = r"table 'db\.t' does not exist any more; this connector filled it \(.*dropped_tables="


def filled(pipeline: MakePipeline, count: int = 20, **more: Any) -> Pipeline:
    """Make a connector whose tables have rows."""
    pizzas = pipeline(1, **more)
    pizzas.produce(ids(0, count))
    pizzas.run()
    return pizzas


def create(pizzas: Pipeline, name: str = "db.t") -> None:
    CatalogClient.of(pizzas.connector).create(name, Schema(NestedField(1, "id", LongType(), required=False)))


@pytest.mark.parametrize("create_allowed", [True, False])
def test_dropped_table_fails_every_plan_until_decided(pipeline: MakePipeline, create_allowed: bool) -> None:
    pizzas = filled(pipeline, **OTHER)
    pizzas = pizzas.changed(**{"iceberg.tables.auto-create-enabled": create_allowed})
    drop(pizzas)
    pizzas.produce(ids(20, 30))
    for _ in range(2):
        with pytest.raises(PlanRefused, match=GONE):
            pizzas.plan()
    assert CatalogClient.of(pizzas.connector).load("db.t") is None
    assert (pizzas.position(), pizzas.column("id", "db.other")) == ({0: 20}, list(range(20)))


def test_refilled_table_gets_its_rows_again(pipeline: MakePipeline) -> None:
    pizzas = filled(pipeline, **OTHER)
    drop(pizzas)
    pizzas.produce(ids(20, 30))
    plan = pizzas.plan(dropped_tables={"db.t": "refill"})
    assert plan.decisions["dropped_tables"] == {"db.t": "refill"}
    pizzas.write(plan)
    pizzas.commit(plan)
    pizzas.run()
    for table in ("db.t", "db.other"):
        assert pizzas.column("id", table) == list(range(30))
    assert pizzas.backlogs() == {}


def test_refill_prints_what_the_log_has_lost(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = filled(pipeline)
    drop(pizzas)
    before = ck.TopicPartition(pizzas.topic, 0, 12)
    admin.delete_records([before])[before].result(30)
    plan = pizzas.plan(dropped_tables={"db.t": "refill"})
    (note,) = plan.decisions["notes"]
    assert "is filled again from 12 on; the offsets [0, 12) (12) before it are no longer in the log" in note
    pizzas.write(plan)
    pizzas.commit(plan)
    assert pizzas.column("id") == list(range(12, 20))


def test_continued_table_takes_new_rows_only(pipeline: MakePipeline) -> None:
    pizzas = filled(pipeline)
    drop(pizzas)
    pizzas.run(dropped_tables={"db.t": "continue"})
    assert CatalogClient.of(pizzas.connector).load("db.t") is None
    pizzas.produce(ids(20, 30))
    pizzas.run()
    assert pizzas.column("id") == list(range(20, 30))
    drop(pizzas)
    pizzas.produce(ids(30, 40))
    with pytest.raises(PlanRefused, match=GONE):
        pizzas.plan()


@pytest.mark.parametrize(("how", "first"), [("refill", 0), ("continue", 20)])
def test_table_recreated_by_hand_is_not_taken_for_old_one(pipeline: MakePipeline, how: str, first: int) -> None:
    pizzas = filled(pipeline)
    replace_table(pizzas, "db.t")
    pizzas.produce(ids(20, 30))
    with pytest.raises(PlanRefused, match=r"is another one \(.*\) than this connector filled"):
        pizzas.plan()
    pizzas.run(dropped_tables={"db.t": how})
    pizzas.run()
    assert pizzas.column("id") == list(range(first, 30))


def test_dropped_namespace_is_a_dropped_table(pipeline: MakePipeline) -> None:
    pizzas = filled(pipeline)
    drop(pizzas)
    CatalogClient.of(pizzas.connector).catalog.drop_namespace("db")
    pizzas.produce(ids(20, 30))
    with pytest.raises(PlanRefused, match=GONE):
        pizzas.plan()


def test_dropped_table_of_dynamic_routing_fails_the_plan(pipeline: MakePipeline) -> None:
    routed = {
        "iceberg.tables": None,
        "iceberg.tables.dynamic-enabled": True,
        "iceberg.tables.route-field": "to",
    }
    pizzas = pipeline(1, **routed)
    pizzas.produce([{"id": i, "to": "db.even" if i % 2 == 0 else "db.odd"} for i in range(20)])
    pizzas.run()
    drop(pizzas, "db.even")
    pizzas.produce([{"id": i, "to": "db.even"} for i in range(20, 22)])
    with pytest.raises(PlanRefused, match=r"'db\.even'.*does not exist any more"):
        pizzas.plan()
    pizzas.run(dropped_tables={"db.even": "refill"})
    pizzas.run()
    assert pizzas.column("id", "db.even") == [*range(0, 20, 2), 20, 21]
    assert pizzas.column("id", "db.odd") == list(range(1, 20, 2))


def test_dropped_table_of_dead_letters_fails_the_plan(pipeline: MakePipeline) -> None:
    dead_letters = {"errors.tolerance": "all", "floe.deadletter.table": "db.dead"}
    pizzas = pipeline(1, **dead_letters)
    pizzas.produce([{"id": 1}, b"no json"])
    pizzas.run()
    drop(pizzas, "db.dead")
    pizzas.produce(ids(2, 4))
    with pytest.raises(PlanRefused, match=r"'db\.dead'.*does not exist any more"):
        pizzas.plan()
    with pytest.raises(PlanRefused, match=r"'db\.dead' cannot be filled again.*continue"):
        pizzas.plan(dropped_tables={"db.dead": "refill"})
    pizzas.run(dropped_tables={"db.dead": "continue"})
    assert pizzas.column("id") == [1, 2, 3]


def test_replay_that_fills_the_table_is_a_decision_too(pipeline: MakePipeline) -> None:
    pizzas = filled(pipeline)
    drop(pizzas)
    pizzas.produce(ids(20, 30))
    replay(pizzas)
    pizzas.run()
    assert pizzas.column("id") == list(range(30))


def test_table_that_left_the_connector_is_not_asked_for(pipeline: MakePipeline) -> None:
    pizzas = filled(pipeline, **OTHER)
    drop(pizzas)
    pizzas.produce(ids(20, 30))
    pizzas.changed(**{"iceberg.tables": "db.other"}).run()
    assert pizzas.column("id", "db.other") == list(range(30))


def test_table_that_was_never_filled_is_no_dropped_one(pipeline: MakePipeline) -> None:
    pizzas = pipeline(1)
    pizzas.produce([None] * 5)
    pizzas.run()
    pizzas.produce(ids(0, 5))
    pizzas.run()
    assert pizzas.column("id") == list(range(5))


def test_table_dropped_before_write_is_found_by_next_plan(pipeline: MakePipeline) -> None:
    pizzas = filled(pipeline)
    pizzas.produce(ids(20, 30))
    plan = pizzas.plan()
    drop(pizzas)
    (error,) = pizzas.try_write(plan)
    assert "was dropped after this run was planned" in str(error)
    assert CatalogClient.of(pizzas.connector).load("db.t") is None
    with pytest.raises(PlanRefused, match=GONE):
        pizzas.plan()


def test_catalog_without_an_answer_is_no_dropped_table(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pizzas = filled(pipeline)
    pizzas.produce(ids(20, 30))

    def away(*_: object) -> None:
        raise ServiceUnavailableError

    with monkeypatch.context() as patch:
        patch.setattr("floe.catalogs.providers.sql.catalog.CheckedSqlCatalog.load_table", away)
        with pytest.raises(CatalogUnreachable):
            pizzas.plan()
    pizzas.run()
    assert pizzas.column("id") == list(range(30))


@pytest.mark.parametrize(
    ("decided", "words"),
    [({"db.othre": "refill"}, r"dropped_tables names \['db\.othre'\]")],
)
def test_unknown_name_in_dropped_tables_is_refused(pipeline: MakePipeline, decided: dict[str, str], words: str) -> None:
    with pytest.raises(PlanRefused, match=words):
        pipeline(1).plan(dropped_tables=decided)


def test_decision_about_a_table_that_is_there_changes_nothing(pipeline: MakePipeline) -> None:
    pizzas = filled(pipeline)
    pizzas.produce(ids(20, 30))
    plan = pizzas.run(dropped_tables={"db.t": "refill"})
    assert "dropped_tables" not in plan.decisions
    assert pizzas.column("id") == list(range(30))


# -- tables that are missing or refuse ----------------------------------------------------------------------------------


def test_missing_table_fails_the_plan_where_creation_is_off(pipeline: MakePipeline) -> None:
    pizzas = pipeline(1, **{"iceberg.tables.auto-create-enabled": False})
    assert pizzas.plan().slices == ()
    pizzas.produce(ids(0, 5))
    with pytest.raises(TableMissing, match=r"'db\.t' does not exist in catalog"):
        pizzas.plan()
    assert pizzas.position() == {0: 0}
    create(pizzas)
    pizzas.run()
    assert pizzas.column("id") == list(range(5))


def test_missing_table_beside_another_does_not_fail_the_plan(
    pipeline: MakePipeline, caplog: pytest.LogCaptureFixture
) -> None:
    pizzas = pipeline(1, **OTHER, **{"iceberg.tables.auto-create-enabled": False})
    create(pizzas, "db.other")
    pizzas.produce(ids(0, 5))
    plan = pizzas.plan()
    assert "table db.t gets no rows in this run: table 'db.t' does not exist" in caplog.text
    pizzas.write(plan)
    with pytest.raises(TablesBehind, match=r"db\.t"):
        pizzas.commit(plan)
    assert pizzas.column("id", "db.other") == list(range(5))


def test_idle_run_opens_no_catalog(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pizzas = filled(pipeline)

    def opened(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(CatalogClient, "of", opened)
    assert draft_plan(pizzas.connector, pizzas.settings).slices == ()
