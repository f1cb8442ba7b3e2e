"""States of connectors, from what Airflow has of their DAGs."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from airflow.api.common.airflow_health import get_airflow_health

from floe.api.airflow_health import airflow_health, forget
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
    assert (states(one), one.variable(STATE + "one")) == (("PAUSED", ["PAUSED", "PAUSED"]), "PAUSED")
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
    assert site.client(BASE).post("/connectors/one/restart").status_code == 204


@pytest.mark.parametrize(("call", "state", "paused"), [("pause", "PAUSED", True), ("stop", "STOPPED", True)])
def test_state_that_is_wanted_before_airflow_knows_the_connector_is_kept(
    site: Site, call: str, state: str, paused: bool
) -> None:
    site.add_file("one", {**CONFIG, "name": "one"})
    client = site.client(BASE)
    assert client.put(f"/connectors/one/{call}").status_code in (202, 204)
    assert (states(site)[0], site.variable(STATE + "one")) == (state, f"wanted {state}")
    site.add_dag("one")
    assert (states(site)[0], site.is_paused("one")) == (state, paused)
    assert site.variable(STATE + "one") == state


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_initial_state_is_told_before_airflow_knows_the_connector(site: Site, state: str) -> None:
    body = {"name": "one", "config": CONFIG, "initial_state": state}
    assert site.client(BASE).post("/connectors", json=body).status_code == 201
    assert (states(site), site.client(BASE).get("/connectors/one/tasks").json()) == ((state, []), [])


def test_resume_before_airflow_knows_the_connector_is_kept(site: Site) -> None:
    body = {"name": "one", "config": CONFIG, "initial_state": "PAUSED"}
    client = site.client(BASE)
    assert client.post("/connectors", json=body).status_code == 201
    assert client.put("/connectors/one/resume").status_code == 202
    assert states(site)[0] == "UNASSIGNED"
    site.add_dag("one", is_paused=True)
    assert (states(site), site.is_paused("one")) == (("RUNNING", ["RUNNING"]), False)
    assert site.variable(STATE + "one") is None


def test_last_of_several_states_counts(site: Site) -> None:
    site.add_file("one", {**CONFIG, "name": "one"})
    client = site.client(BASE)
    for call in ("stop", "resume", "pause", "resume"):
        assert client.put(f"/connectors/one/{call}").status_code in (202, 204)
    site.add_dag("one")
    assert (states(site)[0], site.is_paused("one"), site.variable(STATE + "one")) == ("RUNNING", False, None)


@pytest.mark.parametrize(("call", "state"), [("pause", "PAUSED"), ("stop", "STOPPED")])
@pytest.mark.parametrize("end", ["success", "failed"])
def test_dag_is_paused_when_its_run_has_ended(one: Site, call: str, state: str, end: str) -> None:
    run = one.add_run("one", "running")
    one.add_run("other", "running")
    assert one.client(BASE).put(f"/connectors/one/{call}").status_code in (202, 204)
    assert (states(one)[0], one.is_paused("one")) == (state, False)
    one.end_run("other", one.runs("other")[0][0], "success")
    assert one.is_paused("one") is False
    one.end_run("one", run, end)
    assert (states(one)[0], one.is_paused("one")) == (state, True)


def test_run_of_a_dag_that_is_read_again_only_later_is_not_held(one: Site) -> None:
    run = one.add_run("one", "running")
    one.set_stale("one", is_stale=True)
    assert one.client(BASE).put("/connectors/one/pause").status_code == 202
    assert (states(one)[0], one.is_paused("one")) == ("PAUSED", False)
    one.set_stale("one", is_stale=False)
    one.end_run("one", run, "success")
    assert (states(one)[0], one.is_paused("one")) == ("PAUSED", True)


def test_pause_lets_a_run_end_that_airflows_pause_holds(one: Site) -> None:
    run = one.add_run("one", "running")
    one.set_paused("one", is_paused=True)
    assert states(one)[0] == "PAUSED"
    assert one.client(BASE).put("/connectors/one/stop").status_code == 204
    assert (states(one)[0], one.is_paused("one")) == ("STOPPED", False)
    one.end_run("one", run, "success")
    assert (states(one)[0], one.is_paused("one")) == ("STOPPED", True)


@pytest.mark.parametrize(("call", "state"), [("pause", "PAUSED"), ("stop", "STOPPED")])
def test_run_that_begins_in_the_moment_of_a_call_is_not_held(one: Site, call: str, state: str) -> None:
    assert one.client(BASE).put(f"/connectors/one/{call}").status_code in (202, 204)
    run = one.add_run("one", "running")
    assert (states(one)[0], one.is_paused("one")) == (state, False)
    one.end_run("one", run, "success")
    assert (one.is_paused("one"), one.variable(STATE + "one")) == (True, state)
    one.set_paused("one", is_paused=False)
    assert (states(one)[0], one.variable(STATE + "one")) == ("RUNNING", None)


def test_resume_while_the_last_run_ends_pauses_nothing(one: Site) -> None:
    run = one.add_run("one", "running")
    assert one.client(BASE).put("/connectors/one/stop").status_code == 204
    assert one.client(BASE).put("/connectors/one/resume").status_code == 202
    one.end_run("one", run, "success")
    assert (states(one)[0], one.is_paused("one"), one.variable(STATE + "one")) == ("RUNNING", False, None)


def test_status_run_settles_all_connectors(site: Site) -> None:
    for name in ("one", "two"):
        site.add_file(name, {**CONFIG, "name": name})
        assert site.client(BASE).put(f"/connectors/{name}/pause").status_code == 202
    for name in ("one", "two", "floe.status"):
        site.add_dag(name)
    site.end_run("floe.status", site.add_run("floe.status", "running"), "success")
    assert (site.is_paused("one"), site.is_paused("two"), site.is_paused("floe.status")) == (True, True, False)


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


# -- parts of Airflow's that are not alive -----------------------------------------------------------------------------

DEAD = "Airflow's scheduler is not alive: it sent its last heartbeat at 2026-01-01T00:00:00+00:00"


def test_connector_of_a_dead_scheduler_is_unassigned_and_says_why(one: Site) -> None:
    one.add_run("one", "success")
    one.beat("SchedulerJob")
    found = status(one)
    entries = [found["connector"], *found["tasks"]]
    assert [entry["state"] for entry in entries] == ["UNASSIGNED"] * 3
    assert all(entry["trace"].startswith(DEAD) for entry in entries)
    line = one.client("/floe").get("/view/connectors").json()
    assert (line["connectors"][0]["state"], line["airflow"][0].startswith(DEAD)) == ("stalled", True)
    one.beat()
    assert states(one) == ("RUNNING", ["RUNNING", "RUNNING"])


@pytest.mark.parametrize("last", ["running", "queued"])
def test_run_that_a_dead_scheduler_left_is_not_running(one: Site, last: str) -> None:
    one.add_run("one", last)
    one.beat("SchedulerJob")
    assert states(one)[0] == "UNASSIGNED"
    assert one.client("/floe").get("/view/connectors/one").json()["state"] == "stalled"


def test_tasks_that_failed_stay_so_when_the_scheduler_dies(one: Site) -> None:
    one.add_run("one", "failed", {"plan": "failed"}, {"plan": "bad"})
    one.beat("SchedulerJob")
    found = status(one)
    assert (found["connector"]["state"], found["tasks"][0]["state"], found["tasks"][0]["trace"]) == (
        "UNASSIGNED",
        "FAILED",
        "plan: bad",
    )


def test_paused_connector_needs_no_scheduler(one: Site) -> None:
    one.client(BASE).put("/connectors/one/pause")
    one.beat("SchedulerJob")
    assert states(one) == ("PAUSED", ["PAUSED", "PAUSED"])
    assert one.client("/floe").get("/view/connectors/one").json()["state"] == "paused"


def test_dead_dag_processor_is_named_where_a_connector_waits_for_it(one: Site) -> None:
    one.add_file("two", {**CONFIG, "name": "two", "iceberg.connect.group-id": "other"})
    one.beat("DagProcessorJob")
    assert states(one)[0] == "RUNNING"
    found = one.client(BASE).get("/connectors/two/status").json()["connector"]
    assert found["state"] == "UNASSIGNED"
    assert found["trace"].startswith("Airflow's DAG processor is not alive: it sent its last heartbeat at 2026-01-01")


@pytest.mark.parametrize(
    ("dead", "never", "code", "state", "named"),
    [
        ((), False, 200, "healthy", ()),
        (("SchedulerJob",), False, 500, "unhealthy", ("scheduler",)),
        (("SchedulerJob",), True, 503, "starting", ("scheduler",)),
        (("DagProcessorJob",), False, 500, "unhealthy", ("DAG processor",)),
        (("DagProcessorJob",), True, 500, "unhealthy", ("DAG processor",)),
        (("TriggererJob",), False, 200, "healthy", ("triggerer",)),
        (("TriggererJob",), True, 200, "healthy", ()),
        (("SchedulerJob", "DagProcessorJob", "TriggererJob"), False, 500, "unhealthy", ("scheduler", "DAG processor")),
    ],
)
def test_health_names_the_parts_that_are_not_alive(
    one: Site, dead: tuple[str, ...], never: bool, code: int, state: str, named: tuple[str, ...]
) -> None:
    one.beat(*dead, never=never)
    answer = one.client(BASE).get("/health")
    assert (answer.status_code, answer.json()["status"]) == (code, state)
    message = answer.json()["message"]
    assert [part for part in ("scheduler", "DAG processor") if f"{part} is not alive" in message] == [
        part for part in named if part != "triggerer"
    ]
    assert ("triggerer is not alive" in message) == ("TriggererJob" in dead and not never)


def test_database_that_does_not_answer_is_unhealthy(one: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api.common import airflow_health as airflows

    def broken() -> None:
        msg = "database is locked"
        raise RuntimeError(msg)

    forget()
    monkeypatch.setattr(airflows.SchedulerJobRunner, "most_recent_job", broken)
    answer = one.client(BASE).get("/health")
    assert (answer.status_code, answer.json()["status"]) == (500, "unhealthy")
    assert "Airflow's database does not answer" in answer.json()["message"]


def test_airflow_is_asked_once_in_some_seconds(one: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr("floe.api.airflow_health.get_airflow_health", lambda: calls.append(1) or get_airflow_health())
    forget()
    for _ in range(5):
        status(one)
    assert len(calls) == 1


# -- runs that fail again and again ------------------------------------------------------------------------------------


def test_page_says_since_when_runs_fail_while_the_next_one_is_at_work(one: Site) -> None:
    one.add_run("one", "success")
    first = one.add_run("one", "failed", {"plan": "failed"}, {"plan": "first"})
    last = one.add_run("one", "failed", {"plan": "failed"}, {"plan": "the brokers do not answer"})
    one.add_run("one", "success", conf={"dry_run": True}, ended=True)
    one.add_run("one", "running")
    found = one.client("/floe").get("/view/connectors").json()["connectors"][0]
    assert (found["state"], found["dag"]["failure"]) == ("failing", "the brokers do not answer")
    failing = found["dag"]["failing"]
    assert (failing["runs"], failing["run_id"], failing["is_longer"]) == (2, last, False)
    assert failing["since"] == one.ended("one", first)
    one.add_run("one", "success")
    found = one.client("/floe").get("/view/connectors/one").json()
    assert (found["state"], found["dag"]["failing"], found["dag"]["failure"]) == ("ready", None, None)


def test_page_lists_replays_with_what_they_read_and_their_error(one: Site) -> None:
    one.add_dag("one.replay", "floe", "replay", is_paused=True)
    failed = one.add_run(
        "one.replay",
        "failed",
        {"plan": "failed"},
        {"plan": "no dead letter"},
        conf={"dead_letters": True, "topic": "t"},
    )
    hostile = {
        "ranges": {str(i): [0, 1] for i in range(5000)},
        "topic": "x" * 10_000,
        "overlap": ["\ud800"],
        "all": "y",
    }
    one.add_run("one.replay", "queued", conf=hostile)
    one.add_run("one.replay", "running", conf={"ranges": 7, "dry_run": True})
    found = one.client("/floe").get("/view/connectors/one").json()["replays"]
    assert (found["paused"], [run["state"] for run in found["runs"]]) == (True, ["running", "queued", "failed"])
    last = found["runs"][-1]
    assert (last["run_id"], last["failure"], last["asked"]["dead_letters"]) == (failed, "no dead letter", True)
    asked = found["runs"][1]["asked"]
    assert (asked["partitions"], asked["all"], len(asked["topic"]) < 300) == (5000, True, True)
    assert found["runs"][0]["asked"]["partitions"] == 0 and found["runs"][0]["asked"]["dry_run"]
    assert len(json.dumps(found)) < 5000
    assert one.client("/floe", "other").get("/view/connectors/one").json().get("replays") is None


def test_connector_without_a_replay_dag_lists_none(one: Site) -> None:
    assert one.client("/floe").get("/view/connectors/one").json()["replays"] is None


@pytest.mark.parametrize("looks", [0, 3])
def test_failures_beyond_those_looked_at_are_said_to_be_longer(one: Site, looks: int) -> None:
    for _ in range(25):
        one.add_run("one", "failed")
    for _ in range(looks):
        one.add_run("one", "success", conf={"dry_run": True}, ended=True)
    failing = one.client("/floe").get("/view/connectors/one").json()["dag"]["failing"]
    assert (failing["runs"], failing["is_longer"]) == (20 - looks, True)


def test_call_beside_one_that_asks_airflow_does_not_wait(one: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    known = airflow_health()
    monkeypatch.setattr("floe.api.airflow_health.SECONDS", -1.0)
    asking, release = threading.Event(), threading.Event()

    def slow() -> Any:
        asking.set()
        release.wait(30)
        return get_airflow_health()

    monkeypatch.setattr("floe.api.airflow_health.get_airflow_health", slow)
    first = threading.Thread(target=airflow_health)
    first.start()
    assert asking.wait(30)
    assert airflow_health() == known
    release.set()
    first.join(30)
