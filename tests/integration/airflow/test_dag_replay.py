"""The replay DAG in a real Airflow: from the trigger form to the tables, cleared, beside others, and refused."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from floe.catalogs.client import CatalogClient
from stack.exceptions import StackError
from tests.support.airflow import DagRun, Deployment, first_run
from tests.support.runs.pipeline import Pipeline
from tests.support.runs.records import orders


def replay_id(one: Pipeline) -> str:
    return f"{one.connector.name}.replay"


def trigger(deployment: Deployment, one: Pipeline, conf: Mapping[str, Any]) -> DagRun:
    """Trigger a replay; it is not waited for."""
    deployment.airflow.rest.wait_for_dag(replay_id(one))
    return DagRun(deployment, replay_id(one), deployment.airflow.rest.trigger(replay_id(one), conf))


def ended(run: DagRun) -> DagRun:
    run.deployment.airflow.rest.wait_for_run(run.dag_id, run.run_id)
    return run


def replay(deployment: Deployment, one: Pipeline, **conf: Any) -> DagRun:
    """Trigger a replay and wait for its end."""
    return ended(trigger(deployment, one, conf))


def returned(run: DagRun) -> Any:
    """Return what the plan task returned."""
    path = f"/api/v2/dags/{run.dag_id}/dagRuns/{run.run_id}/taskInstances/plan/xcomEntries/return_value"
    return run.deployment.airflow.rest.call("GET", path)["value"]


def drop(one: Pipeline) -> None:
    CatalogClient.of(one.connector).catalog.drop_table("db.t")


def read_once(deployment: Deployment, topic: str, folder: Path) -> Pipeline:
    """Make a connector whose own DAG has read 200 records of two partitions."""
    pizzas = deployment.add(topic, folder)
    for partition in range(2):
        pizzas.produce(orders(partition * 100, partition * 100 + 100), partition=partition)
    deployment.dag(pizzas.connector.name)
    assert first_run(deployment, pizzas).state == "success"
    return pizzas


@pytest.fixture
def eaten(deployment: Deployment, topic: Callable[..., str], tmp_path: Path) -> Pipeline:
    """A connector of the test's own."""
    return read_once(deployment, topic(2), tmp_path)


@pytest.fixture(scope="module")
def untouched(deployment: Deployment, admin: AdminClient, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """One connector for all tests that write nothing."""
    name = f"untouched-{uuid.uuid4().hex[:12]}"
    admin.create_topics([NewTopic(name, num_partitions=2)])[name].result(30)
    return read_once(deployment, name, tmp_path_factory.mktemp("untouched"))


def test_dry_run_reports_then_replay_refills_dropped_table_once(deployment: Deployment, eaten: Pipeline) -> None:
    position = eaten.position()
    drop(eaten)

    dry = replay(deployment, eaten, dry_run=True, max_records=60)
    assert (dry.state, dry.tasks) == ("success", {"plan": "success", "write": "skipped", "commit": "skipped"})
    assert [(t["partition"], t["read"], t["held"], t["write"]) for t in returned(dry)["tables"]] == [
        (0, 100, 0, 100),
        (1, 100, 0, 100),
    ]
    assert "held already" in dry.log("plan")
    assert CatalogClient.of(eaten.connector).load("db.t") is None

    shown = replay(deployment, eaten, max_records=60)
    assert (shown.state, shown.tasks["write"]) == ("success", "skipped")
    assert "dry run: nothing was written, as the run names no" in shown.log("plan")
    assert returned(shown) == returned(dry)
    assert CatalogClient.of(eaten.connector).load("db.t") is None

    run = replay(deployment, eaten, max_records=60, all=True)
    assert run.state == "success", run.log("commit")
    assert eaten.column("id") == list(range(200))
    assert len(eaten.table().snapshots()) == 4
    assert eaten.position() == position

    for tasks in (["plan"], ["write"], ["commit"], None):
        assert run.clear(tasks) == "success", tasks
        assert eaten.column("id") == list(range(200))
        assert len(eaten.table().snapshots()) == 4

    idle = replay(deployment, eaten, all=True)
    assert (idle.state, idle.tasks["write"]) == ("success", "skipped")
    assert "held already" in idle.log("plan")


@pytest.mark.full
def test_append_cleared_and_rerun_appends_once_to_its_branch(deployment: Deployment, eaten: Pipeline) -> None:
    run = replay(deployment, eaten, ranges={"1": [0, 10]}, overlap="append", branch="audit", max_records=4)
    assert run.state == "success", run.log("commit")
    assert run.clear() == "success"
    assert run.clear(["commit"]) == "success"
    table = eaten.table()
    audit = table.snapshot_by_name("audit")
    assert audit is not None
    found = table.scan(snapshot_id=audit.snapshot_id, selected_fields=("id",)).to_arrow().column("id").to_pylist()
    assert sorted(found) == sorted([*range(200), *range(100, 110)])
    assert eaten.column("id") == list(range(200))


def test_two_replays_beside_live_run_leave_every_record_once(deployment: Deployment, eaten: Pipeline) -> None:
    drop(eaten)
    replay(deployment, eaten, ranges={"0": [0, 1]})
    eaten.produce(orders(200, 300), partition=0)
    runs = [trigger(deployment, eaten, {"ranges": {"0": [0, 100], "1": [0, 100]}}) for _ in range(2)]
    live = deployment.run(eaten)
    for run in runs:
        ended(run)
        if run.state != "success":  # the loser of the race; its way out is a new replay
            assert "other offsets than when" in run.log("commit")
    if live.state != "success":
        assert deployment.run(eaten).state == "success"
    assert replay(deployment, eaten, all=True).state == "success"
    assert eaten.column("id") == list(range(300))
    assert eaten.position() == {0: 200, 1: 100}


IMPOSSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "no-range": ({"overlap": "append"}, "overlap=append may add rows that the tables already contain, so it needs"),
    "misspelt": ({"range": {"0": [0, 10]}}, "param 'range' is not known: the nearest param is ranges"),
    "other-dag": ({"forgive": ["db.t"], "all": True}, "param 'forgive' is not known"),
    "other-topic": ({"config": {"topics": "other-topic"}}, "is not among the connector's topics"),
}
SHOWN_WITHOUT_AIRFLOW: dict[str, tuple[dict[str, Any], str]] = {
    "negative": ({"ranges": {"0": [-5, 10]}}, "offsets are not negative"),
    "reversed": ({"ranges": {"0": [20, 10]}}, "partition 0 is reversed: [20, 10]"),
    "past-the-end": ({"ranges": {"0": [0, 101]}}, "ends past the position 100"),
    "no-partition": ({"ranges": {"7": [0, 1]}}, "partition 7 of topic"),
    "future": ({"from_time": "2999-01-01T00:00:00Z"}, "has a time from 2999-01-01"),
    "no-table": ({"tables": ["db.other"]}, "'db.other' is not configured in this connector"),
}
"""The same refusals as in tests/integration/replay/test_replay_refusals.py, where each costs no run of a DAG."""


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        *(pytest.param(*case, id=name) for name, case in IMPOSSIBLE.items()),
        *(pytest.param(*case, id=name, marks=pytest.mark.full) for name, case in SHOWN_WITHOUT_AIRFLOW.items()),
    ],
)
def test_impossible_replay_is_refused_by_plan_and_writes_nothing(
    deployment: Deployment, untouched: Pipeline, conf: dict[str, Any], words: str
) -> None:
    before = untouched.table().metadata
    run = replay(deployment, untouched, **conf)
    assert (run.state, run.tasks["write"]) == ("failed", "upstream_failed")
    assert words in run.log("plan")
    assert untouched.table().metadata == before


@pytest.mark.parametrize(
    "conf",
    [
        {"topic": "other-topic"},
        {"from_time": "2026-01-01T00:00:00"},  # without a time zone
        {"ranges": {"0": [1]}},
        {"ranges": {"0": "all"}},
        {"ranges": [[0, 1]]},
        {"overlap": "twice"},
        {"dead_letters": "yes"},
        {"max_records": 0},
    ],
)
def test_the_form_itself_refuses_what_has_the_wrong_shape(
    deployment: Deployment, untouched: Pipeline, conf: dict[str, Any]
) -> None:
    with pytest.raises(StackError, match="answered 400"):
        replay(deployment, untouched, **conf)


BACKFILL = {
    "from_date": "2026-01-01T00:00:00Z",
    "to_date": "2026-01-02T00:00:00Z",
    "run_backwards": False,
    "max_active_runs": 1,
    "dag_run_conf": {},
}


@pytest.mark.parametrize("path", ["/api/v2/backfills", "/api/v2/backfills/dry_run"])
def test_airflow_backfill_is_refused_and_points_to_replay_dag(
    deployment: Deployment, untouched: Pipeline, path: str
) -> None:
    rest, name = deployment.airflow.rest, untouched.connector.name
    rest.wait_for_dag(replay_id(untouched))
    runs = len(rest.runs(name))
    with pytest.raises(StackError, match=r"answered 400.*does not allow backfill runs"):
        rest.call("POST", path, {"dag_id": name, **BACKFILL}, is_repeatable=True)
    with pytest.raises(StackError, match=r"answered 4\d\d.*backfill"):
        rest.call("POST", path, {"dag_id": replay_id(untouched), **BACKFILL}, is_repeatable=True)
    assert len(rest.runs(name)) == runs
    details = rest.call("GET", f"/api/v2/dags/{name}/details")
    assert replay_id(untouched) in details["doc_md"]
    assert not details["is_backfillable"]
