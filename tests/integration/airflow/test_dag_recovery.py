"""Ways out through a real Airflow: what a red run names is done by a param of the next one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pyiceberg.table import Table

from floe.catalogs.client import CatalogClient
from tests.support.airflow import Deployment, first_run
from tests.support.runs.pipeline import Pipeline
from tests.support.runs.records import ids
from tests.support.runs.replays import drop


def roll_back(table: Table, to: int) -> None:
    with table.manage_snapshots() as manage:
        manage.set_current_snapshot(snapshot_id=to)


def ids_of_both(pizzas: Pipeline) -> tuple[list[int], list[int]]:
    return pizzas.column("id", "db.t"), pizzas.column("id", "db.other")


@pytest.mark.full
def test_a_red_run_names_the_param_that_leads_out(
    deployment: Deployment, topic: Callable[..., str], admin: AdminClient, tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(2), tmp_path, **{"iceberg.tables": "db.t, db.other"})
    deployment.dag(pizzas.connector.name)
    pizzas.produce(ids(0, 100))
    assert first_run(deployment, pizzas).state == "success"
    pizzas.produce(ids(100, 200))
    assert deployment.run(pizzas).state == "success"

    # one table is rolled back: the other goes on, the run is red and names it
    other = CatalogClient.of(pizzas.connector).require("db.other")
    roll_back(other, other.snapshots()[0].snapshot_id)
    pizzas.produce(ids(200, 300))
    red = deployment.run(pizzas)
    assert (red.state, red.tasks) == ("failed", {"plan": "success", "write": "success", "commit": "failed"})
    assert "table 'db.other' is behind" in red.log("commit")
    assert ids_of_both(pizzas) == (list(range(300)), list(range(100)))
    assert deployment.run(pizzas, {"rolled_back": {"db.other": "replay"}}).state == "success"
    assert ids_of_both(pizzas) == (list(range(300)), list(range(300)))

    # the group is gone
    group = pizzas.connector.group_id
    admin.delete_consumer_groups([group])[group].result(30)
    pizzas.produce(ids(300, 320))
    red = deployment.run(pizzas)
    assert red.state == "failed"
    assert "`recover`" in red.log("plan")
    shown = deployment.run(pizzas, {"recover": True, "dry_run": True})
    assert shown.state == "success"
    assert ids_of_both(pizzas)[0] == list(range(300))
    recovered = deployment.run(pizzas, {"recover": True})
    assert recovered.state == "success"
    assert recovered.clear() == "success"
    assert ids_of_both(pizzas) == (list(range(320)), list(range(320)))

    # a param that the DAG does not have, and one whose old and new name differ
    pizzas.produce(ids(320, 330))
    red = deployment.run(pizzas, {"max_record": 1})
    assert (red.state, red.tasks["write"]) == ("failed", "upstream_failed")
    assert "param 'max_record' is not known: the nearest param is max_records" in red.log("plan")
    red = deployment.run(pizzas, {"forgive": ["db.t"], "drop_backlog": ["db.other"]})
    assert "differ" in red.log("plan")
    assert "is not of type" in deployment.run(pizzas, {"hand_back": "no"}).log("plan")
    assert ids_of_both(pizzas)[0] == list(range(320))
    assert deployment.run(pizzas, {"forgive": ["db.t"], "max_records": 5}).state == "success"
    some = ids_of_both(pizzas)[0]  # of ten that lie in one partition or in two
    assert (len(some), some[:320]) == (325, list(range(320)))
    assert deployment.run(pizzas).state == "success"

    # a name that the connector does not have
    red = deployment.run(pizzas, {"adopt": ["othre"]})
    assert red.state == "failed"
    assert "reset_topics names ['othre']" in red.log("plan")
    assert json.dumps(pizzas.backlogs()) == "{}"

    # from a Kafka Connect sink and back: nothing to take over here, and one at a time
    taken = deployment.run(pizzas, {"takeover": True})
    assert taken.state == "success"
    assert "nothing to take over" in taken.log("plan")
    red = deployment.run(pizzas, {"hand_back": True, "takeover": True})
    assert red.state == "failed"
    assert "Set it alone" in red.log("plan")
    handed = deployment.run(pizzas, {"return_to_connect": True})
    assert (handed.state, handed.tasks["write"]) == ("success", "skipped")
    assert "start the sink" in handed.log("plan")


def test_dropped_table_is_red_until_it_is_refilled(
    deployment: Deployment, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = deployment.add(topic(1), tmp_path, **{"iceberg.tables": "db.t, db.other"})
    pizzas.produce(ids(0, 100))
    pizzas.run()
    drop(pizzas, "db.other")
    pizzas.produce(ids(100, 120))

    deployment.dag(pizzas.connector.name)
    red = first_run(deployment, pizzas)
    assert (red.state, red.tasks["write"]) == ("failed", "upstream_failed")
    assert "table 'db.other'" in red.log("plan") and "does not exist any more" in red.log("plan")
    assert 'dropped_tables={"db.other": "refill"}' in red.log("plan")
    assert (pizzas.column("id", "db.t"), pizzas.position()) == (list(range(100)), {0: 100})

    refilled = deployment.run(pizzas, {"dropped_tables": {"db.other": "refill"}})
    assert refilled.state == "success", refilled.log("commit")
    assert ids_of_both(pizzas) == (list(range(120)), list(range(120)))
