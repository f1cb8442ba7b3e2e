"""Canary secrets, planted wherever a secret can be given, are read nowhere: after good runs and failing ones."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sink_dag import ENVIRONMENT, DagRun, Deployment

from stack.progress import wait_until
from tests.support.canary import HARD, OWN, Canaries, Processes, Sighting, files, sqlite, topics

pytestmark = pytest.mark.airflow

ENDED = ("up_for_retry", "failed", "success")


@pytest.fixture(scope="module")
def walked(
    deployment: Deployment, admin: AdminClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Canaries, list[Sighting]]]:
    """Run connectors that fail of their secrets, and one that works, and walk through all places."""
    folder, canaries = tmp_path_factory.mktemp("canaries"), deployment.canaries
    names = [f"canary-{uuid.uuid4().hex[:8]}" for _ in range(3)]
    for created in admin.create_topics([NewTopic(name, num_partitions=1) for name in names]).values():
        created.result(30)
    source, letters, _ = names
    dags = {
        name: deployment.add(source, folder, **keys).connector.name
        for name, keys in connectors(deployment, letters).items()
    }
    good = deployment.add(source, folder, **secrets_of_a_file(canaries), **dead_letters(letters))
    good.produce([{"id": 1}, b"oops", {"id": 2}])
    broken = broken_file(deployment)
    home = deployment.airflow.folder
    processes = Processes(home)
    canaries.watch(
        sqlite(home / "airflow.db"),
        # what runs there has its keys from here
        files(home, leave_out=("airflow.db", "airflow.db-wal", "airflow.json", "airflow.cfg")),
        files(folder),
        files_of_floe(),
        topics(
            deployment.broker.bootstrap,
            [*names, *(f"control-{name}" for name in [*dags.values(), good.connector.name])],
        ),
        processes,
    )
    with processes.watched():
        runs = started(deployment, {**dags, "good": good.connector.name})
        airflow = deployment.airflow.rest
        airflow.wait_for_dag(broken)
        airflow.unpause(broken)
        runs["broken"] = DagRun(deployment, broken, airflow.trigger(broken))
        for name, run in runs.items():
            last = "commit" if name == "good" else "connector" if name == "broken" else "plan"
            assert wait_until(lambda run=run, last=last: run.tasks.get(last) in ENDED, 240), (name, run.tasks)  # type: ignore[misc]
    assert runs["good"].tasks == {"plan": "success", "write": "success", "commit": "success"}
    yield canaries, canaries.seen()
    for run in runs.values():
        airflow.pause(run.dag_id)


def started(deployment: Deployment, dags: dict[str, str]) -> dict[str, DagRun]:
    for dag_id in dags.values():
        deployment.dag(dag_id)
    rest = deployment.airflow.rest
    return {name: DagRun(deployment, dag_id, rest.wait_for_scheduled_run(dag_id)) for name, dag_id in dags.items()}


def connectors(deployment: Deployment, letters: str) -> dict[str, dict[str, Any]]:
    """Return keys of connectors that all fail in their plan."""
    plant, echo = deployment.canaries.plant, deployment.echo.address
    stored = f"canary_{uuid.uuid4().hex[:8]}"
    deployment.airflow.rest.call(
        "POST",
        "/api/v2/connections",
        {
            "connection_id": stored,
            "conn_type": "kafka",
            "password": plant("password of a stored connection"),
            "extra": json.dumps(
                {
                    "bootstrap.servers": deployment.broker.bootstrap,  # it speaks no SASL: the login is refused
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanism": "PLAIN",
                    "sasl.username": "floe",
                    "sasl.password": plant("SASL password of a stored connection"),
                }
            ),
        },
    )
    rest = {"iceberg.catalog.type": "rest", "iceberg.catalog.uri": echo, "iceberg.catalog.warehouse": None}
    from_environment = {"iceberg.catalog.uri": None, "iceberg.catalog.warehouse": None}
    password = plant("password of an address in a file", hard=HARD)
    return {
        "rest token": {**rest, "iceberg.catalog": "r1", "iceberg.catalog.token": plant("token of a file")},
        "rest token of two lines": {
            **rest,
            "iceberg.catalog": "r2",
            "iceberg.catalog.token": plant("token of two lines in a file", hard="\n"),
        },
        "rest login": {**rest, "iceberg.catalog": "r3", "iceberg.catalog.credential": f"floe:{plant('credential')}"},
        "sql address": {"iceberg.catalog": "s1", "iceberg.catalog.uri": f"postgresql://floe:{password}@127.0.0.1:1/x"},
        "rest by environment": {**from_environment, "iceberg.catalog": "envrest", "iceberg.catalog.type": "rest"},
        "line by environment": {**from_environment, "iceberg.catalog": "envline", "iceberg.catalog.type": "rest"},
        "sql by environment": {**from_environment, "iceberg.catalog": "envsql"},
        "other sql by environment": {**from_environment, "iceberg.catalog": "envpg"},
        "kafka by environment": {"floe.kafka.conn-id": "kafka_env"},
        "kafka by a stored connection": {"floe.kafka.conn-id": stored},
    }


def secrets_of_a_file(canaries: Canaries) -> dict[str, Any]:
    """Return secrets that nothing needs: the run is good."""
    return {
        "iceberg.catalog.s3.secret-access-key": canaries.plant("S3 key of a good file"),
        "iceberg.catalog.s3.session-token": canaries.plant("S3 token of a good file"),
    }


def dead_letters(topic: str) -> dict[str, Any]:
    return {
        "errors.tolerance": "all",
        "floe.deadletter.table": "db.letters",
        "errors.deadletterqueue.topic.name": topic,
        "errors.deadletterqueue.context.headers.enable": True,
    }


def broken_file(deployment: Deployment) -> str:
    """Write a file with secrets under keys that are misspelt, and return its DAG."""
    name, plant = f"broken-{uuid.uuid4().hex[:8]}", deployment.canaries.plant
    keys = {
        "name": name,
        "topics": "t",
        "iceberg.catalog.tokn": plant("token under a misspelt key"),
        "iceberg.kafka.sasl.pasword": plant("password under a misspelt key"),
        "consumer.overide.sasl.password": plant("password under a misspelt prefix"),
        "iceberg.tabels": plant("what is no secret"),
        "iceberg.catalog.type": f"sql://floe:{plant('address in a wrong place', hard=HARD)}@h",
    }
    (deployment.connectors / f"{name}.json").write_text(json.dumps(keys))
    return name


def files_of_floe() -> Any:
    """What floe left in the temporary folder."""

    def read() -> Iterator[tuple[str, bytes]]:
        for path in Path(tempfile.gettempdir()).glob("floe-*"):
            yield from files(path)()

    return read


def test_planted_secrets_are_read_nowhere(walked: tuple[Canaries, list[Sighting]]) -> None:
    canaries, seen = walked
    assert len(canaries.planted) >= 20
    own = [sighting for sighting in seen if sighting.canary.startswith(ENVIRONMENT) and sighting.where.startswith(OWN)]
    assert own, "the walk sees what it is shown: floe's own processes have their environment"
    assert [sighting for sighting in seen if sighting not in own] == []
