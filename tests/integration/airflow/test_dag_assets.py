"""Assets in a real Airflow: a commit raises an event, and a DAG that is scheduled by the asset runs after it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from floe.model.ledger_codec import property_name
from stack.exceptions import StackError
from tests.support.airflow import Deployment


def events(deployment: Deployment, uri: str) -> list[dict[str, Any]]:
    """Return the events of an asset, the oldest first."""
    found: list[dict[str, Any]] = deployment.airflow.rest.call(
        "GET", "/api/v2/assets/events?order_by=timestamp&limit=100"
    )["asset_events"]
    return [event for event in found if event["uri"] == uri]


def test_commit_raises_event_and_starts_a_dag_behind(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    rest = deployment.airflow.rest
    table = f"db.t{uuid.uuid4().hex[:8]}"
    uri = f"iceberg://test/{table.replace('.', '/')}"
    first, then = tmp_path / "first", tmp_path / "then"
    first.mkdir()
    then.mkdir()
    orders = deployment.add(topic(1), first, **{"iceberg.tables": table, "floe.schedule": "manual"})
    behind = deployment.add(topic(1), then, **{"floe.schedule": uri, "floe.dag.tags": "behind"})
    for one in (orders, behind):
        deployment.dag(one.connector.name)
    orders.produce({"id": i} for i in range(30))
    behind.produce([{"id": 1}])

    run = deployment.run(orders)
    end = time.monotonic() + 60
    while not (runs := rest.runs(behind.connector.name)):
        assert time.monotonic() < end, "no run began after the event"
        time.sleep(0.3)
    idle = deployment.run(orders)

    assert (run.state, idle.state) == ("success", "success")
    assert idle.tasks["commit"] == "skipped"
    (event,) = events(deployment, uri)
    (snapshot,) = orders.table(table).snapshots()
    assert event["source_dag_id"] == orders.connector.name
    assert event["extra"]["snapshot_id"] == str(snapshot.snapshot_id)
    assert (event["extra"]["rows"], event["extra"]["ranges"]) == (30, [[orders.topic, 0, 0, 30]])
    path = f"/api/v2/dags/{orders.connector.name}/dagRuns/{quote(run.run_id)}/taskInstances/commit/links"
    page = f"floe/page/#/connectors/{orders.connector.name}"
    assert rest.call("GET", path)["extra_links"] == {
        "Replay this range": f"{page}/replay?topic={orders.topic}&ranges=%7B%220%22%3A%5B0%2C30%5D%7D",
        "Snapshots and control topic": page,
    }
    (triggered,) = runs
    assert triggered["run_type"] == "asset_triggered"
    assert rest.wait_for_run(behind.connector.name, triggered["dag_run_id"]) == "success"
    nodes = rest.call("GET", f"/ui/dependencies?node_id=dag:{orders.connector.name}")["nodes"]
    assert {f"dag:{behind.connector.name}", uri} <= {node[key] for node in nodes for key in ("id", "label")}

    # a replay starts the DAG behind too, though Airflow has one producer of the asset, which it materializes by
    replay = f"{orders.connector.name}.replay"
    again = rest.trigger(replay, {"ranges": {"0": [0, 10]}, "topic": orders.topic, "overlap": "append"})
    assert rest.wait_for_run(replay, again) == "success"
    end = time.monotonic() + 60
    while len(rest.runs(behind.connector.name)) < 2:
        assert time.monotonic() < end, "no run began after the replay's event"
        time.sleep(0.3)
    assert [event["source_dag_id"] for event in events(deployment, uri)] == [orders.connector.name, replay]
    made = rest.materialize(event["asset_id"], orders.connector.name)
    assert rest.wait_for_run(orders.connector.name, made) == "success"
    with pytest.raises(StackError, match="does not allow backfill"):
        dates = {"from_date": "2026-01-01T00:00:00Z", "to_date": "2026-01-02T00:00:00Z"}
        rest.call("POST", "/api/v2/backfills", {"dag_id": "floe.status", **dates}, is_repeatable=True)


@pytest.mark.full
def test_failed_run_raises_its_events_with_the_next_plan(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    good, bad = (f"db.t{uuid.uuid4().hex[:8]}" for _ in range(2))
    uri = f"iceberg://test/{good.replace('.', '/')}"
    orders = deployment.add(topic(1), tmp_path, **{"iceberg.tables": f"{good},{bad}", "floe.schedule": "manual"})
    deployment.dag(orders.connector.name)
    orders.produce({"id": i} for i in range(10))
    assert deployment.run(orders).state == "success"
    with orders.table(bad).transaction() as change:
        change.set_properties({property_name(orders.connector.group_id, "main"): "broken"})
    orders.produce({"id": i} for i in range(10, 30))

    failed = deployment.run(orders)
    before = events(deployment, uri)
    deployment.run(orders)

    assert failed.tasks["commit"] == "failed"
    assert [event["extra"]["rows"] for event in before] == [10]
    raised = events(deployment, uri)
    assert [event["extra"]["rows"] for event in raised] == [10, 20]
    assert [event["source_task_id"] for event in raised] == ["commit", "plan"]
    newest = orders.table(good).current_snapshot()
    assert newest is not None and raised[1]["extra"]["snapshot_id"] == str(newest.snapshot_id)
