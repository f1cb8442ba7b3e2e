"""States of connectors, from what Airflow has of their DAGs."""

from __future__ import annotations

from typing import Any

import pytest

from floe.config.stored.stored_connector import CONNECTOR, STATE
from tests.support.api.site import Site
from tests.support.rest.floe_worker import BASE, CONFIG


@pytest.fixture
def one(site: Site) -> Site:
    """A site with a connector of two tasks, in a file."""
    site.add_file("one", {**CONFIG, "name": "one", "tasks.max": "2"})
    site.add_dag("one")
    return site


def status(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = site.client(BASE).get("/connectors/one/status").json()
    return found


def states(site: Site) -> tuple[str, list[str]]:
    found = status(site)
    return found["connector"]["state"], [task["state"] for task in found["tasks"]]


@pytest.mark.parametrize("last", [None, "success", "running", "queued"])
def test_connector_runs_whatever_its_last_run_does(one: Site, last: str | None) -> None:
    if last is not None:
        one.add_run("one", "failed")
        one.add_run("one", last)
    assert states(one) == ("RUNNING", ["RUNNING", "RUNNING"])


def test_tasks_of_a_failed_run_have_its_error(one: Site) -> None:
    one.add_run("one", "success")
    tasks = {"plan": "success", "write": "failed", "commit": "upstream_failed"}
    one.add_run("one", "failed", tasks, {"write": "2 of the 50 records cannot become rows"})
    assert states(one) == ("RUNNING", ["FAILED", "FAILED"])
    assert [task["trace"] for task in status(one)["tasks"]] == ["write: 2 of the 50 records cannot become rows"] * 2


def test_page_says_why_the_last_run_failed(one: Site) -> None:
    one.add_run(
        "one", "failed", {"plan": "success", "write": "failed", "commit": "failed"}, {"write": "bad", "commit": "bad"}
    )
    lines = one.client("/floe").get("/view/connectors").json()["connectors"]
    assert [(line["state"], line["dag"]["failure"]) for line in lines] == [("failed", "bad")]
    one.add_run("one", "success", {"plan": "success"})
    assert one.client("/floe").get("/view/connectors/one").json()["dag"]["failure"] is None


def test_failed_task_without_an_error_names_its_log(one: Site) -> None:
    run = one.add_run("one", "failed", {"plan": "failed"})
    assert status(one)["tasks"][0]["trace"] == f"plan: see the log of this task in run {run} of the DAG one"


def test_stop_is_kept_until_the_dag_is_unpaused(one: Site) -> None:
    client = one.client(BASE)
    client.put("/connectors/one/stop")
    assert (states(one), one.variable(STATE + "one")) == (("STOPPED", []), "STOPPED")
    client.put("/connectors/one/pause")
    assert (states(one), one.variable(STATE + "one")) == (("PAUSED", ["PAUSED", "PAUSED"]), None)
    client.put("/connectors/one/stop")
    client.put("/connectors/one/resume")
    assert (states(one)[0], one.variable(STATE + "one")) == ("RUNNING", None)


def test_dag_that_is_unpaused_in_airflow_is_no_more_stopped(one: Site) -> None:
    one.set_variable(STATE + "one", "STOPPED")
    assert states(one)[0] == "RUNNING"


def test_broken_file_has_failed_with_its_problems(one: Site) -> None:
    one.add_file("one", {**CONFIG, "name": "one", "iceberg.tabels": "x", "iceberg.tables": ""})
    found = status(one)
    assert (found["connector"]["state"], found["tasks"]) == ("FAILED", [])
    assert all(part in found["connector"]["trace"] for part in ("Must specify table name(s)", "iceberg.tabels"))
    assert one.client(BASE).get("/connectors/one/config").json()["iceberg.tabels"] == "x"


def test_file_that_is_no_json_has_failed(one: Site) -> None:
    one.add_file("one", "{")
    assert status(one)["connector"]["state"] == "FAILED"
    assert one.client(BASE).get("/connectors/one/config").json() == {"name": "one"}


def test_variable_that_was_edited_has_failed(site: Site) -> None:
    site.set_variable(CONNECTOR + "one", "{")
    site.add_dag("one", "floe", "broken")
    assert status(site)["connector"]["state"] == "FAILED"


def test_connector_that_is_no_dag_yet_is_unassigned(site: Site) -> None:
    site.add_file("one", {**CONFIG, "name": "one"})
    assert states(site) == ("UNASSIGNED", ["UNASSIGNED"])
    answer = site.client(BASE).put("/connectors/one/pause")
    assert (answer.status_code, "not yet parsed" in answer.json()["message"]) == (409, True)


@pytest.mark.parametrize("path", ["restart", "restart?includeTasks=true", "tasks/1/restart"])
@pytest.mark.parametrize(
    ("tasks", "cleared"),
    [
        ({"plan": "failed", "write": "upstream_failed", "commit": "upstream_failed"}, ["plan", "write", "commit"]),
        ({"plan": "success", "write": "failed", "commit": "success"}, ["write", "commit"]),
        ({"plan": "success", "write": "success", "commit": "failed"}, ["commit"]),
    ],
)
def test_restart_clears_failed_tasks_and_what_is_behind(
    one: Site, path: str, tasks: dict[str, str], cleared: list[str]
) -> None:
    run = one.add_run("one", "failed", tasks)
    assert one.client(BASE).post(f"/connectors/one/{path}").status_code in (202, 204)
    assert [task for task, state in one.task_states("one", run).items() if state is None] == sorted(cleared)
    assert [state for _, state, _ in one.runs("one")] == ["queued"]


def test_restart_of_what_did_not_fail_changes_nothing(one: Site) -> None:
    run = one.add_run("one", "success", {"plan": "success", "write": "skipped"})
    assert one.client(BASE).post("/connectors/one/restart").status_code == 204
    assert one.task_states("one", run) == {"plan": "success", "write": "skipped"}
