"""A real Airflow whose connectors are written by the tests; runs go through its scheduler."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from stack.services.airflow import Airflow
from stack.services.broker import Broker
from stack.settings import REPOSITORY, free_port
from tests.support.canary import Canaries
from tests.support.connectors import JSON, connector_keys
from tests.support.echo import Echo
from tests.support.keys import KEY_TEXT
from tests.support.runs.pipeline import Pipeline

ENVIRONMENT = "environment: "
"""How the names of canaries begin that are planted in Airflow's environment."""

SPARK_CONNECT = "spark_connect_default"

ALERTS = "floe_test_alerts"
"""The one module that connectors may name for callbacks."""

LOG_TAIL = 30
"""Lines of a failed task's log that are shown."""

_ALERTS = """
import json
from pathlib import Path


def note(context):
    error = str(context.get("exception"))
    call = {"dag": context["dag"].dag_id, "run_id": context["run_id"], "task": context["ti"].task_id}
    with Path(__file__).with_name("calls.jsonl").open("a") as file:
        file.write(json.dumps({**call, "reason": context["reason"], "error": error}) + chr(10))
"""

REST_LAKE = "rest_lake"
"""The connection with the catalog of connectors that are made by REST."""


def rest_lake(folder: Path) -> dict[str, str]:
    """Return the properties of that catalog, below the deployment's folder."""
    place = folder / REST_LAKE
    return {"uri": f"sqlite:///{place}/catalog.db", "warehouse": f"file://{place}/warehouse"}


@dataclass
class Deployment:
    """Airflow, the broker, and the folder of connectors that Airflow reads."""

    airflow: Airflow
    broker: Broker
    connectors: Path
    connect_port: int
    canaries: Canaries = field(default_factory=Canaries)
    echo: Echo | None = None
    """The listener that catalogs and brokers with planted secrets are led to; None where nothing is planted."""

    @property
    def alerts(self) -> Path:
        """The folder, on the path of Airflow's processes, with the module of callbacks and what it was called with."""
        return self.airflow.folder / "config"

    @property
    def secrets(self) -> Path:
        """The folder whose files connectors may refer to."""
        return self.connectors.parent / "secrets"

    @classmethod
    def make(cls, broker: Broker, folder: Path, more: Mapping[str, str] | None = None) -> Deployment:
        """Prepare an Airflow on free ports, with connections by environment variables; not started yet.

        ``more``: further variables of its environment.
        """
        connectors = folder / "connectors"
        connectors.mkdir(parents=True)
        (folder / REST_LAKE / "warehouse").mkdir(parents=True)
        connect_port = free_port()
        connections = {
            "KAFKA_DEFAULT": {"conn_type": "kafka", "extra": {"bootstrap.servers": broker.bootstrap}},
            "KAFKA_DOWN": {"conn_type": "kafka", "extra": {"bootstrap.servers": f"127.0.0.1:{free_port()}"}},
            "SPARK_DEFAULT": {"conn_type": "spark", "host": "local[2]"},
            "SPARK_CONNECT_DEFAULT": {"conn_type": "spark_connect", "host": "127.0.0.1", "port": connect_port},
            "KAFKA_BARE": {"conn_type": "kafka"},
            "NO_SPARK": {"conn_type": "http", "host": "127.0.0.1"},
            REST_LAKE.upper(): {"conn_type": "generic", "extra": rest_lake(folder)},
        }
        environment = {f"AIRFLOW_CONN_{name}": json.dumps(value) for name, value in connections.items()}
        environment["FLOE_CONNECTORS_DIR"] = str(connectors)
        environment["FLOE_SECRET_KEY"] = KEY_TEXT
        environment |= {"FLOE_REST_CONNECTORS": "true", "FLOE_REST_CONNECTIONS": REST_LAKE}
        environment["FLOE_REST_HOSTS"] = "http://127.0.0.1:*"
        environment["FLOE_CALLBACK_MODULES"] = ALERTS
        canaries, echo = Canaries(), Echo()
        environment["FLOE_WORKER_CONFIG"] = str(_worker_file(folder, broker, canaries))
        environment["AIRFLOW_CONN_WAREHOUSE"] = json.dumps({"conn_type": "generic", "extra": {"prefix": "file://"}})
        environment |= _secret_environment(canaries, echo) | dict(more or {})
        airflow = Airflow(folder / "airflow", free_port(), REPOSITORY / "dags", REPOSITORY / "plugins", environment)
        made = cls(airflow, broker, connectors, connect_port, canaries, echo)
        made.alerts.mkdir(parents=True)  # before Airflow starts: what is on its path later is not looked for
        (made.alerts / f"{ALERTS}.py").write_text(_ALERTS)
        return made

    def stop(self) -> None:
        """End Airflow and the listener."""
        self.airflow.stop()
        if self.echo is not None:
            self.echo.close()

    def add(self, topic: str, folder: Path, **more: Any) -> Pipeline:
        """Write a connector file on a topic and return the pipeline that sees what its DAG does.

        Keys with references or callbacks are in the file alone: only Airflow's processes can look them up.
        """
        name = f"dag-{uuid.uuid4().hex[:8]}"
        keys = connector_keys(name, topic, folder, **{"iceberg.control.commit.interval-ms": 86_400_000, **more})
        (self.connectors / f"{name}.json").write_text(json.dumps(keys))
        known = {key: value for key, value in more.items() if "${" not in str(value) and "python:" not in str(value)}
        return Pipeline.make(self.broker.bootstrap, topic, folder, name=name, **known)

    def failures_since(self, moment: datetime) -> str:
        """Return the ends of the logs of the tasks, of all DAGs, that failed after a moment."""
        rest = self.airflow.rest
        begun = quote(moment.isoformat())
        path = f"/api/v2/dags/~/dagRuns/~/taskInstances?state=failed&end_date_gte={begun}&limit=20"
        found = rest.call("GET", path)["task_instances"]
        ends = ((one, rest.log(one["dag_id"], one["dag_run_id"], one)[-LOG_TAIL:]) for one in found)
        return "\n".join(
            "\n".join([f"--- {one['dag_id']} {one['dag_run_id']} {one['task_id']}", *lines]) for one, lines in ends
        )

    def dag(self, name: str) -> None:
        """Wait until a DAG is there and let it run; its schedule is a day away."""
        self.airflow.rest.wait_for_dag(name)
        self.airflow.rest.unpause(name)

    def run(self, pipeline: Pipeline, conf: Mapping[str, Any] | None = None) -> DagRun:
        """Trigger a run and wait for its end."""
        rest, name = self.airflow.rest, pipeline.connector.name
        run_id = rest.trigger(name, conf)
        rest.wait_for_run(name, run_id)
        return DagRun(self, name, run_id)


def _worker_file(folder: Path, broker: Broker, canaries: Canaries) -> Path:
    """Write the properties of a Connect worker: converters, and config providers over the folder ``secrets`` beside it.

    Its client settings, with canaries in the place of secrets, are for connectors whose connection has no brokers, such as
    ``kafka_bare``. They are refused: the broker has no SASL.
    """
    secrets = folder / "secrets"
    secrets.mkdir()
    (secrets / "kafka-password").write_text(canaries.plant("password of the worker's consumers, by reference"))
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="floe" password="{}";'
    provider = "org.apache.kafka.common.config.provider"
    keys = {
        **JSON,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "rest.port": "8083",
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": jaas.format(canaries.plant("JAAS of the worker file")),
        "consumer.security.protocol": "SASL_PLAINTEXT",
        "consumer.sasl.mechanism": "PLAIN",
        "consumer.sasl.jaas.config": jaas.format(f"${{secrets:{secrets}:kafka-password}}"),
        "consumer.ssl.key.password": canaries.plant("password of a key in the worker file"),
        "config.providers": "secrets,file,env,conn",
        "config.providers.secrets.class": f"{provider}.DirectoryConfigProvider",
        "config.providers.secrets.param.allowed.paths": str(secrets),
        "config.providers.file.class": f"{provider}.FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(secrets),
        "config.providers.env.class": f"{provider}.EnvVarConfigProvider",
        "config.providers.env.param.allowlist.pattern": "CANARY_.*",
        "config.providers.conn.class": "floe.AirflowConnectionProvider",
    }
    path = folder / "connect-distributed.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    return path


def _secret_environment(canaries: Canaries, echo: Echo) -> dict[str, str]:
    """Return settings of catalogs that refuse every client, with canaries in the place of their secrets."""

    def planted(name: str) -> str:
        return canaries.plant(f"{ENVIRONMENT}{name}")

    return {
        "CANARY_REGISTRY": planted("password of a registry"),
        "PYICEBERG_CATALOG__ENVREST__URI": echo.address,
        "PYICEBERG_CATALOG__ENVREST__TOKEN": planted("token"),
        "PYICEBERG_CATALOG__ENVREST__HEADER__X_SECRET": planted("header"),
        "PYICEBERG_CATALOG__ENVREST__S3__SECRET_ACCESS_KEY": planted("S3 key"),
        "PYICEBERG_CATALOG__ENVSQL__URI": f"sqlite://floe:{planted('password of a SQLite address')}@host/x.db",
        "AIRFLOW_CONN_KAFKA_ENV": json.dumps(
            {
                "conn_type": "kafka",
                "password": planted("password of a connection"),
                "extra": {
                    "bootstrap.servers": echo.address.removeprefix("http://"),
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanism": "PLAIN",
                    "sasl.username": "floe",
                    "sasl.password": planted("SASL password of a connection"),
                },
            }
        ),
    }


@dataclass
class DagRun:
    """One run that has ended."""

    deployment: Deployment
    dag_id: str
    run_id: str

    @property
    def state(self) -> str:
        return str(self.deployment.airflow.rest.run(self.dag_id, self.run_id)["state"])

    @property
    def tasks(self) -> dict[str, str]:
        """Return the state of each task."""
        return {t["task_id"]: t["state"] for t in self.deployment.airflow.rest.task_instances(self.dag_id, self.run_id)}

    def log(self, task_id: str) -> str:
        """Return the log of a task's last try."""
        return "\n".join(self.deployment.airflow.rest.log(self.dag_id, self.run_id, self._task(task_id)))

    def logs(self, task_id: str) -> list[str]:
        """Return the logs of a task's tries, the last of which may have just begun."""
        rest, task = self.deployment.airflow.rest, self._task(task_id)
        tries = range(1, max(1, int(task["try_number"])) + 1)
        return ["\n".join(rest.log(self.dag_id, self.run_id, task, number)) for number in tries]

    def _task(self, task_id: str) -> dict[str, Any]:
        tasks = self.deployment.airflow.rest.task_instances(self.dag_id, self.run_id)
        (task,) = (t for t in tasks if t["task_id"] == task_id)
        return task

    def clear(self, task_ids: list[str] | None = None) -> str:
        """Clear tasks, wait for the run's end and return its state."""
        rest = self.deployment.airflow.rest
        rest.clear(self.dag_id, self.run_id, task_ids)
        return rest.wait_for_run(self.dag_id, self.run_id)


def first_run(deployment: Deployment, pipeline: Pipeline) -> DagRun:
    """Wait for the run that the scheduler starts when a DAG is unpaused."""
    rest, name = deployment.airflow.rest, pipeline.connector.name
    run_id = rest.wait_for_scheduled_run(name)
    rest.wait_for_run(name, run_id)
    return DagRun(deployment, name, run_id)
