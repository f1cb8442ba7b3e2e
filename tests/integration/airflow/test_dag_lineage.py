"""Lineage by Airflow's real OpenLineage provider: what its HTTP transport sends of runs."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from stack.services.broker import Broker
from stack.settings import LOOPBACK
from tests.support.airflow import Deployment

SENT_WITHIN, ENDED_WITHIN = 60.0, 900.0

Event = dict[str, Any]


class Receiver:
    """An HTTP server on loopback that keeps the events that are posted to it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        kept = self.events

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                kept.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(201)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self.url = f"http://{LOOPBACK}:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def completed(self, dag_id: str, run_id: str, *tasks: str) -> dict[str, Event]:
        """Wait until the tasks of a run have completed, and return that event of each."""
        end = time.monotonic() + SENT_WITHIN
        while True:
            found = {task: event for task in tasks for event in self._of(dag_id, run_id, task, "COMPLETE")}
            if found.keys() == set(tasks):
                return found
            assert time.monotonic() < end, [(one["eventType"], one["job"]["name"]) for one in self.events]
            time.sleep(0.3)

    def of_task(self, dag_id: str, run_id: str, task: str) -> list[Event]:
        """Return all events of a task of a run."""
        return list(self._of(dag_id, run_id, task, None))

    def _of(self, dag_id: str, run_id: str, task: str, kind: str | None) -> Iterator[Event]:
        for event in list(self.events):
            run = event["run"]["facets"].get("airflow", {}).get("dagRun", {}).get("run_id")
            if (event["job"]["name"], run) == (f"{dag_id}.{task}", run_id) and kind in (None, event["eventType"]):
                yield event


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    yield one
    one.close()


@pytest.fixture(scope="module")
def lineage_deployment(
    broker: Broker, receiver: Receiver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """An Airflow of its own, whose provider sends to the receiver."""
    transport = json.dumps({"type": "http", "url": receiver.url, "endpoint": "api/v1/lineage"})
    one = Deployment.make(broker, tmp_path_factory.mktemp("lineage"), {"AIRFLOW__OPENLINEAGE__TRANSPORT": transport})
    one.airflow.start()
    one.airflow.rest.wait_for_dag("floe.status")
    one.airflow.rest.pause("floe.status")
    yield one
    one.stop()


def names(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["namespace"], one["name"]) for one in datasets]


def rows_of(event: Event) -> int:
    (output,) = event["outputs"]
    return int(output["outputFacets"]["outputStatistics"]["rowCount"])


def test_lineage_of_runs_and_replays_is_sent_by_commit(
    lineage_deployment: Deployment, receiver: Receiver, topic: Callable[..., str], tmp_path: Path
) -> None:
    deployment, rest = lineage_deployment, lineage_deployment.airflow.rest
    table = f"t{uuid.uuid4().hex[:8]}"
    orders = deployment.add(topic(1), tmp_path, **{"iceberg.tables": f"db.{table}", "floe.schedule": "manual"})
    name = orders.connector.name
    deployment.dag(name)
    orders.produce({"id": i} for i in range(30))
    of_topic = [(f"kafka://{orders.bootstrap}", orders.topic)]

    run = rest.trigger(name)
    assert rest.wait_for_run(name, run, ENDED_WITHIN) == "success"
    sent = receiver.completed(name, run, "plan", "write", "commit")

    expected = {"plan": ([], []), "write": ([], []), "commit": (of_topic, [("iceberg://test", f"db/{table}")])}
    assert {task: (names(one["inputs"]), names(one["outputs"])) for task, one in sent.items()} == expected
    assert rows_of(sent["commit"]) == 30

    replay = f"{name}.replay"
    deployment.dag(replay)
    again = rest.trigger(replay, {"ranges": {"0": [0, 10]}, "overlap": "append"})
    assert rest.wait_for_run(replay, again, ENDED_WITHIN) == "success"
    sent = receiver.completed(replay, again, "plan", "write", "commit")
    assert {task: (names(one["inputs"]), names(one["outputs"])) for task, one in sent.items()} == expected
    assert rows_of(sent["commit"]) == 10
    deployment.canaries.watch(lambda: [("what was sent", json.dumps(receiver.events).encode())])
    assert deployment.canaries.seen() == []
