"""Canary secrets, planted wherever a secret can be given, are read nowhere: after good runs and failing ones."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from stack.exceptions import StackError
from stack.progress import wait_until
from stack.services.airflow import USER
from stack.services.schema_registry import SchemaRegistry
from tests.support.airflow import ENVIRONMENT, DagRun, Deployment
from tests.support.avro import varint
from tests.support.canary import HARD, OWN, Canaries, Processes, Sighting, files, pages, sqlite, topics
from tests.support.registry.subjects import register

AVRO = {"value.converter": "io.confluent.connect.avro.AvroConverter", "value.converter.schemas.enable": None}
SCHEMA = '{"type": "record", "name": "Pizza", "fields": [{"name": "id", "type": "long"}]}'

FAILURES = {
    "kafka by OAuth": ("client 'floe'", "got no token"),
    "kafka by MSK": ("awsSecretKey", "FLOE-"),
    "rest by a connection": ("FLOE-", "credential"),
    "glue by a connection": ("FLOE-402", "GetTable"),
}
"""What the logs of logins by stored connections have to say: they failed for the reason that they were to fail for."""

ENDED = ("up_for_retry", "failed", "success")

HARMLESS = "what is no secret"
"""A value that Connect's API may answer."""


@pytest.fixture(scope="module")
def walked(
    deployment: Deployment,
    admin: AdminClient,
    schema_registry: SchemaRegistry,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Canaries, list[Sighting]]]:
    """Run connectors that fail of their secrets, and one that works, and walk through all places."""
    folder, canaries = tmp_path_factory.mktemp("canaries"), deployment.canaries
    names = [f"canary-{uuid.uuid4().hex[:8]}" for _ in range(3)]
    for created in admin.create_topics([NewTopic(name, num_partitions=1) for name in names]).values():
        created.result(30)
    source, dead_letter_rows, _ = names
    stored = stored_connection(deployment)
    dags = {
        name: deployment.add(source, folder, **keys).connector.name
        for name, keys in connectors(deployment, stored).items()
    }
    good = deployment.add(
        source,
        folder,
        **secrets_of_a_file(canaries),
        **dead_letters(dead_letter_rows),
        **of_registry(schema_registry.confluent_url, canaries.plant("token of a registry")),
        **by_reference(deployment, stored),
    )
    frame = b"\0" + register(schema_registry.confluent_url, f"{source}-value", SCHEMA).to_bytes(4, "big")
    good.produce([frame + varint(1), b"oops", frame + varint(2), frame])
    broken = broken_file(deployment)
    home = deployment.airflow.folder
    processes = Processes(home)
    canaries.watch(
        sqlite(home / "airflow.db"),
        # what runs there has its keys from here
        files(home, leave_out=("airflow.db", "airflow.db-wal", "airflow.json", "airflow.cfg")),
        files(folder),
        files_of_floe(),
        files(Path.home() / ".cache" / "floe" / "schemas"),
        topics(
            deployment.broker.bootstrap,
            [*names, *(f"control-{name}" for name in [*dags.values(), good.connector.name])],
        ),
        pages(
            deployment.airflow.url, USER, deployment.airflow.password(), [*dags.values(), good.connector.name, broken]
        ),
        processes,
    )
    with processes.watched():
        slow = {name: dag_id for name, dag_id in dags.items() if name.startswith("kafka")}
        runs = ended(deployment, {**slow, "good": good.connector.name})
        assert wait_until(partial(is_unpaused, deployment, broken), 60, pause=1.0)
        rest = deployment.airflow.rest
        started = DagRun(deployment, broken, rest.trigger(broken))
        runs |= ended(deployment, {name: dag_id for name, dag_id in dags.items() if name not in slow})
        runs["broken"] = started
        rest.wait_for_run(broken, started.run_id)
    assert runs["registry login"].tasks["write"] == "failed"
    for name, words in FAILURES.items():
        assert wait_until(partial(has_said, runs[name], "plan", words), 60, pause=1.0), runs[name].log("plan")[-3000:]
    said = partial(has_said, runs["kafka by the worker file"], "plan", ("worker file", "FLOE-2"))
    assert wait_until(said, 120, pause=1.0)
    assert runs["good"].tasks == {"plan": "success", "write": "success", "commit": "success"}
    yield canaries, canaries.seen()
    for run in runs.values():
        with suppress(StackError):  # it only spares the next tests their retries
            deployment.airflow.rest.pause(run.dag_id)


def ended(deployment: Deployment, dags: dict[str, str]) -> dict[str, DagRun]:
    """Start some DAGs side by side; return their runs once each has ended or has failed for the first time."""
    rest = deployment.airflow.rest
    for dag_id in dags.values():
        rest.wait_for_dag(dag_id)
        assert wait_until(partial(is_unpaused, deployment, dag_id), 60, pause=1.0), dag_id
    runs = {name: DagRun(deployment, dag_id, rest.wait_for_scheduled_run(dag_id)) for name, dag_id in dags.items()}
    for name, run in runs.items():
        last = "commit" if name == "good" else "write" if name.startswith("registry") else "plan"
        assert wait_until(partial(has_ended, run, last), 240, pause=1.0), name
    return runs


def is_unpaused(deployment: Deployment, dag_id: str) -> bool:
    try:
        deployment.airflow.rest.unpause(dag_id)
    except StackError:  # its database was locked: SQLite, while the scheduler writes
        return False
    return True


def has_ended(run: DagRun, task_id: str) -> bool:
    try:
        return run.tasks.get(task_id) in ENDED
    except StackError:  # an Airflow on SQLite that is busy
        return False


def has_said(run: DagRun, task_id: str, words: tuple[str, ...]) -> bool:
    """Return whether the log of one of a task's tries has all words; one that has just begun has none yet."""
    try:
        logs = run.logs(task_id)
    except StackError:  # an Airflow on SQLite that is busy
        return False
    return any(all(word in log for word in words) for log in logs)


def stored_connection(deployment: Deployment) -> str:
    """Store a connection with secrets in Airflow's database, and return its id."""
    plant, stored = deployment.canaries.plant, f"canary_{uuid.uuid4().hex[:8]}"
    deployment.airflow.rest.add_connection(
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
                    "sasl.password": plant("SASL password of a stored connection", hard='"\\'),
                    "ssl.key.password": plant("password of a key in a stored connection"),
                }
            ),
        },
    )
    return stored


def by_stored_logins(deployment: Deployment) -> dict[str, dict[str, Any]]:
    """Store logins at token endpoints and at AWS in Airflow's database; return keys of connectors that they fail."""
    plant, echo = deployment.canaries.plant, deployment.echo.address
    kafka = "org.apache.kafka.common.security.oauthbearer"
    oauth = f"{kafka}.OAuthBearerLoginModule required clientId='floe' clientSecret='{{}}' scope='kafka';"
    msk = "software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName='none' awsSecretKey='{}';"
    to_broker = {"bootstrap.servers": deployment.broker.bootstrap, "security.protocol": "SASL_PLAINTEXT"}
    stored: dict[str, dict[str, Any]] = {
        "kafka by OAuth": {
            "conn_type": "kafka",
            "extra": {
                **to_broker,
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": f"{echo}/token",
                "sasl.login.callback.handler.class": f"{kafka}.OAuthBearerLoginCallbackHandler",
                "sasl.jaas.config": oauth.format(plant("client secret for Kafka", hard="+%")),
            },
        },
        "kafka by MSK": {
            "conn_type": "kafka",
            "extra": {
                **to_broker,
                "sasl.mechanism": "AWS_MSK_IAM",
                "sasl.jaas.config": msk.format(plant("AWS key under an option that MSK has not")),
            },
        },
        "rest by a connection": {
            "conn_type": "iceberg",
            "host": echo,
            "login": "floe",
            "password": plant("client secret of a stored connection", hard="&'"),
            "extra": {
                "oauth2-server-uri": f"{echo}/token",
                "scope": "PRINCIPAL_ROLE:ALL",
                "header.X-Api-Key": plant("header of a stored connection"),
            },
        },
        "glue by a connection": {
            "conn_type": "aws",
            "login": "AKIAOFTHETESTS",
            "password": plant("AWS key of a stored connection"),
            "extra": {
                "region_name": "eu-west-1",
                "aws_session_token": plant("AWS token of a stored connection", hard="/+"),
                "service_config": {"glue": {"endpoint_url": echo}, "s3": {"endpoint_url": echo}},
            },
        },
    }
    ids = {name: f"canary_{uuid.uuid4().hex[:8]}" for name in stored}
    for name, fields in stored.items():
        body = {**fields, "connection_id": ids[name], "extra": json.dumps(fields["extra"])}
        deployment.airflow.rest.add_connection(body)
    without = {"iceberg.catalog.uri": None, "iceberg.catalog.warehouse": None}
    of_aws = {"iceberg.catalog.type": "glue", "iceberg.catalog.uri": None, "iceberg.catalog.warehouse": "s3://lake/x"}
    return {
        **{name: {"floe.kafka.conn-id": ids[name]} for name in ("kafka by OAuth", "kafka by MSK")},
        "rest by a connection": {
            **without,
            "iceberg.catalog": "r4",
            "iceberg.catalog.type": "rest",
            "floe.catalog.conn-id": ids["rest by a connection"],
        },
        "glue by a connection": {**of_aws, "iceberg.catalog": "g1", "floe.aws.conn-id": ids["glue by a connection"]},
    }


def by_reference(deployment: Deployment, stored: str) -> dict[str, str]:
    """Return headers for a registry whose values are in the environment, in files and in a connection."""
    plant, secrets = deployment.canaries.plant, deployment.secrets
    (secrets / "header").write_text(plant("a file that is a secret"))
    (secrets / "registry.properties").write_text(f"header={plant('a file of properties')}\n")
    headers = {
        "Env": "${env:CANARY_REGISTRY}",
        "Dir": f"${{secrets:{secrets}:header}}",
        "File": f"${{file:{secrets / 'registry.properties'}:header}}",
        "Conn": f"${{conn:{stored}:password}}",
    }
    return {f"value.converter.request.header.X-{name}": value for name, value in headers.items()}


def connectors(deployment: Deployment, stored: str) -> dict[str, dict[str, Any]]:
    """Return keys of connectors that all fail in their plan, and in their write where the registry refuses them."""
    plant, echo = deployment.canaries.plant, deployment.echo.address
    rest = {"iceberg.catalog.type": "rest", "iceberg.catalog.uri": echo, "iceberg.catalog.warehouse": None}
    from_environment = {"iceberg.catalog.uri": None, "iceberg.catalog.warehouse": None}
    password = plant("password of an address in a file", hard=HARD)
    return {
        "rest token": {
            **rest,
            "iceberg.catalog": "r2",
            "iceberg.catalog.token": plant("token in a file", hard="'%0A"),
        },
        "rest login": {
            **rest,
            "iceberg.catalog": "r3",
            "iceberg.catalog.credential": f"floe:{plant('credential', hard='+ %')}",
            "iceberg.catalog.header.X-Api-Key": plant("header in a file", hard="\"'&"),
            "iceberg.catalog.s3.secret-access-key": plant("S3 key of a failing file", hard="%2F"),
        },
        "sql address": {
            "iceberg.catalog": "s1",
            "iceberg.catalog.uri": f"postgresql+psycopg2://floe:{password}@127.0.0.1:1/x?sslpassword="
            f"{plant('password in a query', hard='@')}",
        },
        "rest by environment": {**from_environment, "iceberg.catalog": "envrest", "iceberg.catalog.type": "rest"},
        "sql by environment": {**from_environment, "iceberg.catalog": "envsql"},
        "kafka by environment": {"floe.kafka.conn-id": "kafka_env"},
        "kafka by a stored connection": {"floe.kafka.conn-id": stored},
        "kafka by the worker file": {"floe.kafka.conn-id": "kafka_bare"},
        "registry login": {
            **AVRO,
            "value.converter.schema.registry.url": echo,
            "value.converter.basic.auth.credentials.source": "USER_INFO",
            "value.converter.basic.auth.user.info": f"floe:{plant('password of a registry', hard='+ %')}",
            "value.converter.request.header.X-Api-Key": plant("header of a registry", hard="\"'&"),
            **by_reference(deployment, stored),
        },
        **by_stored_logins(deployment),
    }


def secrets_of_a_file(canaries: Canaries) -> dict[str, Any]:
    """Return secrets that nothing needs: the run is good."""
    return {
        "iceberg.catalog.s3.secret-access-key": canaries.plant("S3 key of a good file"),
        "iceberg.catalog.s3.session-token": canaries.plant("S3 token of a good file"),
        "value.converter.basic.auth.user.info": f"floe:{canaries.plant('registry login of a good file')}",
        "value.converter.apicurio.auth.password": canaries.plant("registry password of a good file"),
        "key.converter.schema.registry.url": f"http://floe:{canaries.plant('registry address of a good file')}@h",
    }


def of_registry(url: str, token: str) -> dict[str, Any]:
    """Return keys of Avro records whose registry is given a token that it does not ask for."""
    return {**AVRO, "value.converter.schema.registry.url": url, "value.converter.bearer.auth.token": token}


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
        "iceberg.tabels": plant(HARMLESS),
        "connector.class": f"sql://{'u' * 60}:{plant('password that a message cuts')}@h",
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
    assert len(canaries.planted) >= 40
    own = [sighting for sighting in seen if sighting.canary.startswith(ENVIRONMENT) and sighting.where.startswith(OWN)]
    assert own, "the walk sees what it is shown: floe's own processes have their environment"
    shown = [sighting for sighting in seen if sighting.canary == HARMLESS and sighting.where.startswith("/connect/")]
    assert shown, "Connect's API answers a broken file's keys that are no secrets"
    assert [sighting for sighting in seen if sighting not in own + shown] == []
