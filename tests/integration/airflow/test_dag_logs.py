"""The log of a failed task: floe's sentence, the real reason, and a few short lines at the end."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from stack.exceptions import StackError
from stack.progress import wait_until
from stack.settings import free_port
from tests.support.airflow import DagRun, Deployment

WIDTH = 80
ENDED = ("up_for_retry", "failed")


@pytest.fixture(scope="module")
def runs(
    deployment: Deployment, tmp_path_factory: pytest.TempPathFactory, admin: AdminClient
) -> Iterator[dict[str, DagRun]]:
    """Runs that fail, side by side: broker away, catalog away, bad records. Each has failed once."""
    folder = tmp_path_factory.mktemp("logs")
    topics = [f"topic-{uuid.uuid4().hex[:12]}" for _ in range(3)]
    for created in admin.create_topics([NewTopic(name, num_partitions=1) for name in topics]).values():
        created.result(30)
    away = f"http://127.0.0.1:{free_port()}"
    rest: dict[str, Any] = {"iceberg.catalog": "dead", "iceberg.catalog.type": "rest", "iceberg.catalog.uri": away}
    for name in ("bad", "broker", "catalog"):
        (folder / name).mkdir()
    bad = deployment.add(topics[0], folder / "bad")
    bad.produce([{"id": 1}, b"oops", {"id": 2}])
    pipelines = {
        "broker": deployment.add(topics[1], folder / "broker", **{"floe.kafka.conn-id": "kafka_down"}),
        "catalog": deployment.add(topics[2], folder / "catalog", **rest),
        "records": bad,
    }
    airflow = deployment.airflow.rest
    found = {}
    for name, pipeline in pipelines.items():
        deployment.dag(pipeline.connector.name)
        found[name] = DagRun(
            deployment, pipeline.connector.name, airflow.wait_for_scheduled_run(pipeline.connector.name)
        )
    airflow.wait_for_run(found["records"].dag_id, found["records"].run_id)
    for name in ("broker", "catalog"):
        assert wait_until(lambda name=name: found[name].tasks.get("plan") in ENDED, 120), found[name].tasks  # type: ignore[misc]
    yield found
    for run in found.values():
        with suppress(StackError):  # it only spares the next tests their retries
            airflow.pause(run.dag_id)


def lines(run: DagRun, task_id: str) -> list[dict[str, Any]]:
    """Return the events of a task's first try."""
    path = f"/api/v2/dags/{run.dag_id}/dagRuns/{quote(run.run_id)}/taskInstances/{task_id}/logs/1?full_content=true"
    return [entry for entry in run.deployment.airflow.rest.call("GET", path)["content"] if isinstance(entry, dict)]


def end(events: list[dict[str, Any]]) -> list[str]:
    """Return the errors after the exception, as Airflow's level filter shows them; the very last names the error's code."""
    failed = next(at for at, event in enumerate(events) if event.get("error_detail"))
    *lines, code = [e["event"] for e in events[failed + 1 :] if e.get("level") == "error"]
    assert re.fullmatch(r"See FLOE-\d{3} in docs/troubleshooting\.md\.", code)
    assert max(map(len, lines)) <= WIDTH
    return lines


@pytest.mark.full
def test_broker_down_log_has_reason_once_and_three_last_lines(runs: dict[str, DagRun]) -> None:
    events = lines(runs["broker"], "plan")
    client = [e for e in events if e.get("logger") == "floe.kafka.librdkafka"]
    assert 1 <= len(client) <= 2 and client[0]["level"] == "error"
    assert not [e for e in events if "rdkafka#" in e["event"]]
    what, value, *step = end(events)
    assert what.startswith("Kafka at 127.0.0.1:") and what.endswith("did not answer")
    assert "Connection refused" in value
    assert " ".join(step).startswith("Check the broker and the address in the Airflow connection 'kafka_down'.")


def test_catalog_down_log_has_one_exception_and_three_last_lines(runs: dict[str, DagRun]) -> None:
    events = lines(runs["catalog"], "plan")
    (failure,) = (e for e in events if e.get("error_detail"))
    assert [one["exc_type"] for one in failure["error_detail"]] == ["CatalogUnreachable"]
    what, value, *step = end(events)
    assert what == "could not open catalog 'dead'"
    assert value == "Connection refused"
    assert step[0].startswith("Check that catalog 'dead' is up at http://127.0.0.1:")


def test_bad_record_logs_keep_levels_and_commit_says_the_cause(runs: dict[str, DagRun]) -> None:
    events = lines(runs["records"], "write")
    assert not [e for e in events if e["event"].startswith(("INFO floe", "ERROR floe", "WARN ", "ERROR "))]
    assert not [e for e in events if "owe these rows" in e["event"]]
    sentence = "1 of the 3 records just read cannot become rows of table"
    said = [e for e in events if sentence in e["event"]]
    assert len(said) == 1, "the first of the three lines; the exception itself has it in its detail"
    (failure,) = (e for e in events if e.get("error_detail"))
    assert failure["error_detail"][0]["exc_value"].startswith(sentence)
    committed = lines(runs["records"], "commit")
    assert runs["records"].tasks == {"plan": "success", "write": "failed", "commit": "failed"}
    assert end(committed)[:3] == end(events)[:3]
    assert end(events)[0].startswith(sentence)
    assert end(events)[1].startswith("topic 'topic-") and "offset 1" in end(events)[1]
    (failure,) = (e for e in committed if e.get("error_detail"))
    assert "The next run reads them again." in failure["error_detail"][0]["exc_value"]
