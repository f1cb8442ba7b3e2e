"""The status of connectors on a real broker: idle, lagging, with a backlog, never run, without tables or without catalog."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from airflow.sdk.execution_time.context import OutletEventAccessors

from floe.catalogs.client import CatalogClient
from floe.model.offsets import Intervals, TopicPartition
from floe.model.plan import Plan
from floe.model.plan_seal import RunName
from floe.operators import task_context
from floe.operators.commit import CommitOperator
from floe.status.connector_status import Backlog, ConnectorStatus, PartitionStatus
from floe.status.reader import collect, latest
from floe.status.record import StatusRecord
from floe.status.record_reader import collect_record, record_after_run
from floe.status.reports import preview_json
from floe.tables.exceptions import TablesBehind
from stack.settings import free_port
from tests.support.keys import KEY, KEY_TEXT
from tests.support.runs.mishaps import BAD, GOOD, ids, replace_table, roll_back, two_tables
from tests.support.runs.pipeline import MakePipeline, Pipeline


def status_of(pizzas: Pipeline, **asked: Any) -> ConnectorStatus:
    """Collect the status of a connector, through its JSON."""
    found = collect(pizzas.connector, pizzas.settings, **asked)
    assert ConnectorStatus.from_json(json.loads(json.dumps(found.to_json()))) == found
    return found


def one_partition(status: ConnectorStatus) -> PartitionStatus:
    (found,) = status.partitions or ()
    return found


def behind(pipeline: MakePipeline) -> tuple[Pipeline, Plan]:
    """Return a connector of two tables, and a plan after whose commit one of them is behind by 50 records."""
    pizzas = two_tables(pipeline)
    pizzas.produce(ids(0, 50))
    plan = pizzas.plan()
    pizzas.write(plan)
    replace_table(pizzas, BAD)
    return pizzas, plan


def test_status_idle_connector_has_no_lag_and_its_commits(pipeline: MakePipeline) -> None:
    pizzas = pipeline(2)
    for start in (0, 10):
        pizzas.produce(ids(start, start + 10))
        pizzas.run()
    status = status_of(pizzas, commits=5)
    assert (status.lag, status.backlog, status.problems) == (0, (), ())
    assert sum(one.committed or 0 for one in status.partitions or ()) == 20
    (table,) = status.tables or ()
    assert table.exists and table.problem is None and table.open_dead_letters is None
    assert [(c.rows, c.kind, c.counts["rows"]) for c in table.commits] == [(10, "live", 10)] * 2
    assert table.commits[0].snapshot_id == table.snapshot_id
    assert table.committed_at is not None and table.valid_through is not None
    assert (table.rows, table.is_dead_letters) == (20, False)


def test_status_lagging_connector_counts_what_is_unread(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 10))
    pizzas.run()
    pizzas.produce(ids(10, 35))
    found = one_partition(status_of(pizzas))
    assert (found.committed, found.end, found.lag, found.lost) == (10, 35, 25, Intervals())


def test_status_connector_that_never_ran_lags_by_all_records(pipeline: MakePipeline) -> None:
    pizzas = pipeline(1)
    pizzas.produce(ids(0, 7))
    status = status_of(pizzas)
    assert one_partition(status) == PartitionStatus(pizzas.topic, 0, None, 0, 7, 7)
    (table,) = status.tables or ()
    assert (table.exists, table.problem, table.commits) == (False, None, ())
    newest = pizzas.changed(**{"consumer.override.auto.offset.reset": "latest"})
    assert one_partition(status_of(newest)).lag == 0


def test_status_backlog_names_table_and_offsets(pipeline: MakePipeline) -> None:
    pizzas, plan = behind(pipeline)
    with pytest.raises(TablesBehind):
        pizzas.commit(plan)
    status = status_of(pizzas)
    assert status.backlog == (Backlog(BAD, pizzas.topic, 0, 0, 50),)
    assert status.lag == 0


def test_status_broken_tables_hide_no_others(pipeline: MakePipeline) -> None:
    pizzas = two_tables(pipeline)
    for start in (0, 10):
        pizzas.produce(ids(start, start + 10))
        pizzas.run()
    first = pizzas.table(BAD).metadata.snapshots[0]
    roll_back(pizzas, first.snapshot_id)
    tables = {one.name: one for one in status_of(pizzas).tables or ()}
    assert tables[GOOD].problem is None
    assert "was rolled back" in str(tables[BAD].problem)
    assert tables[BAD].snapshot_id == first.snapshot_id, "what can be read of it is there"
    CatalogClient.of(pizzas.connector).catalog.drop_table(BAD)
    tables = {one.name: one for one in status_of(pizzas).tables or ()}
    assert tables[GOOD].commits[0].rows == 10
    assert (tables[BAD].exists, tables[BAD].problem) == (
        False,
        f"table {BAD!r} does not exist any more: it was dropped",
    )


def test_status_tables_that_records_name_are_found(pipeline: MakePipeline) -> None:
    pizzas = pipeline(**{"iceberg.tables": None, "iceberg.tables.route-field": "to", "floe.route.namespace": "db"})
    pizzas.produce([{"id": 1, "to": "a"}, {"id": 2, "to": "b"}])
    pizzas.run()
    tables = {one.name: one for one in status_of(pizzas).tables or ()}
    assert {name: one.commits[0].rows for name, one in tables.items()} == {"db.a": 1, "db.b": 1}
    Path(urlsplit(pizzas.table("db.b").metadata_location).path).unlink()
    tables = {one.name: one for one in status_of(pizzas).tables or ()}
    assert (tables["db.a"].problem, tables["db.b"].commits) == (None, ())
    assert "could not load table 'db.b'" in str(tables["db.b"].problem)


def test_status_unreachable_catalog_leaves_the_offsets(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 5))
    away = {"iceberg.catalog.type": "rest", "iceberg.catalog.uri": f"http://127.0.0.1:{free_port()}"}
    away |= {"iceberg.catalog.credential": "client:not-to-be-seen-anywhere"}
    lost = pizzas.changed(**away)
    status = status_of(lost)
    assert (status.lag, status.tables) == (5, None)
    (problem,) = status.problems
    assert "could not open catalog" in problem
    assert "not-to-be-seen" not in json.dumps(status.to_json())


def test_status_unreachable_broker_leaves_the_tables(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 5))
    pizzas.run()
    monkeypatch.setattr("floe.kafka.admin.REQUEST_TIMEOUT", 1.0)
    monkeypatch.setattr("floe.kafka.admin.REQUEST_TIMEOUT", 1.0)
    away = Pipeline(f"127.0.0.1:{free_port()}", pizzas.topic, pizzas.connector)
    status = status_of(away)
    assert (status.partitions, status.lag) == (None, None)
    assert "did not answer" in status.problems[0]
    assert [(one.problem, one.commits[0].rows) for one in status.tables or ()] == [(None, 5)]


def test_status_missing_topic_hides_no_other_topic(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 5))
    both = pizzas.changed(topics=f"{pizzas.topic}, never-made")
    status = status_of(both)
    assert one_partition(status).lag == 5
    assert status.problems == ("topic 'never-made' does not exist",)


def test_status_counts_open_dead_letters_when_asked(pipeline: MakePipeline) -> None:
    dead_letters = {"errors.tolerance": "all", "floe.deadletter.table": "db.dead"}
    pizzas = pipeline(**dead_letters)
    pizzas.produce([{"id": 1}, b"oops", {"id": 2}, b"again"])
    pizzas.run()
    counts = {one.name: one.open_dead_letters for one in status_of(pizzas, dead_letters=True).tables or ()}
    assert counts == {"db.t": 2, "db.dead": 2}
    tables = {one.name: (one.rows, one.is_dead_letters) for one in status_of(pizzas).tables or ()}
    assert tables == {"db.t": (2, False), "db.dead": (2, True)}


def test_latest_needs_no_broker(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 5))
    pizzas.run()
    status = latest(pizzas.connector)
    assert (status.partitions, status.problems) == (None, ())
    assert [(one.commits[0].rows, one.problem) for one in status.tables or ()] == [(5, None)]


def test_ledger_of_a_record_has_all_that_its_offsets_say(pipeline: MakePipeline) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 10))
    pizzas.run()
    before = collect_record(pizzas.connector, pizzas.settings, None)
    pizzas.produce(ids(10, 30))
    pizzas.run()
    after = record_after_run(collect(pizzas.connector, pizzas.settings), before, {}, None)
    committed = {one.tp: one.committed for one in after.status.partitions or ()}
    assert len(after.held) == 2
    for held in after.held:
        assert held.committed == held.spans.spans[-1][1], "what was read since is not taken for offsets without a row"
        assert held.committed < (committed[TopicPartition(held.topic, held.partition)] or 0)
    assert StatusRecord.from_json(json.loads(json.dumps(after.to_json()))) == after


def test_dry_run_leaves_what_the_run_would_read(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 25))
    found = json.loads(json.dumps(preview_json(pizzas.plan(10))))
    (one, *_) = found["partitions"]
    assert (one["partition"], one["range"], one["read"], one["kind"]) == (f"{pizzas.topic}-0", [0, 10], 10, "live")
    assert (found["read"], found["slices"], found["more"], one["tables"]) == (10, 1, 0, "db.t")


# -- the commit task ---------------------------------------------------------------------------------------------------


class TaskInstance:
    """What the commit task asks of Airflow's: its run, the plan, and what the write task announced."""

    dag_id, run_id = "pizzas", "manual__1"

    def __init__(self, plan: Plan) -> None:
        sealed = KEY.seal(plan.to_json(), RunName(self.dag_id, self.run_id))
        announced = {"announced": [plan.slice_id(slice_) for slice_ in plan.slices]}
        self._left: dict[tuple[str, str], Any] = {
            ("plan", "return_value"): sealed,
            ("write", "return_value"): announced,
        }

    def xcom_pull(self, task_ids: str, key: str = "return_value") -> Any:
        return json.loads(json.dumps(self._left.get((task_ids, key))))


@pytest.fixture
def connection(broker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Airflow connection to the broker, and the deployment's key."""
    fields = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker.bootstrap}}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps(fields))
    monkeypatch.setenv("FLOE_SECRET_KEY", KEY_TEXT)


def commit(pizzas: Pipeline, plan: Plan) -> dict[str, Any]:
    return CommitOperator(task_id="commit", connector=pizzas.connector).execute(
        {"ti": TaskInstance(plan), "outlet_events": OutletEventAccessors()}
    )


@pytest.mark.usefixtures("connection")
def test_commit_task_returns_and_logs_what_it_did(pipeline: MakePipeline, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    pizzas = pipeline(**{"errors.tolerance": "all", "floe.deadletter.table": "db.dead"})
    pizzas.produce([*ids(0, 1500), b"oops"])
    plan = pizzas.plan(1501)
    pizzas.write(plan)
    pizzas.produce(ids(0, 20))
    message = json.loads(json.dumps(commit(pizzas, plan)))
    assert (message["rows"], message["done_before"], message["commit_id"]) == (1500, False, str(plan.commit_id))
    assert message["tables"]["db.t"]["snapshot_id"] == str(pizzas.table().metadata.current_snapshot_id)
    assert message["dead_letters"]["records"] == sum(message["dead_letters"]["reasons"].values()) == 1
    assert (message["lag"]["records"], message["lag"]["behind"], message["backlog"]["records"]) == (20, 1, 0)
    (reason,) = message["dead_letters"]["reasons"]
    assert f"dead letters: 1 record: 1 {reason}" in caplog.messages
    assert "lag: 20 records in 1 of 1 partition" in caplog.messages
    assert f"  {pizzas.topic}-0: 20 records, committed 1501, log end 1521" in caplog.messages
    assert sum("1,500 rows" in message for message in caplog.messages) <= 1


@pytest.mark.usefixtures("connection")
def test_commit_task_goes_on_when_the_lag_is_unknown(
    pipeline: MakePipeline, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from floe.status.kafka_state import KafkaState

    def fail(*_: object) -> None:
        msg = "the brokers went away"
        raise OSError(msg)

    pizzas = pipeline()
    pizzas.produce(ids(0, 5))
    plan = pizzas.plan()
    pizzas.write(plan)
    monkeypatch.setattr(KafkaState, "of", fail)
    message = commit(pizzas, plan)
    assert (message["rows"], message["lag"], message["backlog"]) == (5, None, None)
    assert pizzas.column("id") == list(range(5))
    (warning,) = [one for one in caplog.records if one.name == task_context.__name__]
    assert warning.levelname == "WARNING" and "the brokers went away" in warning.getMessage()


@pytest.mark.usefixtures("connection")
def test_commit_task_that_fails_logs_the_lag_too(pipeline: MakePipeline, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    pizzas, plan = behind(pipeline)
    with pytest.raises(TablesBehind):
        commit(pizzas, plan)
    assert "lag: 0 records in 1 partition" in caplog.messages
