"""A connector whose brokers and login are in a worker file only: no Airflow connection, on listeners with SASL and TLS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.execution_time.context import OutletEventAccessors
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from floe.config.providers.allow_list import VARIABLE as PROVIDERS
from floe.config.worker_file import VARIABLE
from floe.exceptions import FloeError
from floe.operators.commit import CommitOperator
from floe.operators.connections import kafka_settings
from floe.operators.write import WriteFilesOperator
from stack.services.broker import Broker
from stack.settings import LOOPBACK, free_port
from tests.support.keys import KEY_TEXT
from tests.support.registry.stores import KEY_PASSWORD, PASSWORD, StoreFiles
from tests.support.runs.pipeline import Pipeline
from tests.support.task_instance import TaskInstance

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SECRET = "br0ker-passw0rd"


@dataclass(frozen=True)
class Cluster:
    """A broker with three listeners: open to the tests, with SASL, and with TLS that asks clients for a certificate."""

    broker: Broker
    sasl: str
    tls: str
    stores: StoreFiles


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    stores = StoreFiles.make(tmp_path_factory.mktemp("stores"))
    server = stores.authority.issue("broker")
    ports = {name: free_port() for name in ("PLAINTEXT", "SASL", "TLS", "CONTROLLER")}
    at = {name: f"{name}://{LOOPBACK}:{port}" for name, port in ports.items()}
    tls = "listener.name.tls.ssl"
    properties = {
        "listeners": ",".join(at.values()),
        "advertised.listeners": ",".join(at[name] for name in ("PLAINTEXT", "SASL", "TLS")),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f'{PLAIN} user_floe="{SECRET}";',
        f"{tls}.keystore.type": "PEM",
        f"{tls}.keystore.certificate.chain": server.certificate_text.replace("\n", "\\n"),
        f"{tls}.keystore.key": server.key_text.replace("\n", "\\n"),
        f"{tls}.truststore.type": "PEM",
        f"{tls}.truststore.certificates": stores.authority.file.read_text().replace("\n", "\\n"),
        f"{tls}.client.auth": "required",
    }
    one = Broker(tmp_path_factory.mktemp("secured"), ports["PLAINTEXT"], ports["CONTROLLER"], properties)
    one.start()
    yield Cluster(one, f"{LOOPBACK}:{ports['SASL']}", f"{LOOPBACK}:{ports['TLS']}", stores)
    one.stop()


@pytest.fixture
def pizzas(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A connector on a topic of 100 records, which are produced by the open listener."""
    topic = f"topic-{tmp_path.name}"[:100]
    admin = AdminClient({"bootstrap.servers": cluster.broker.bootstrap})
    admin.create_topics([NewTopic(topic, num_partitions=1)])[topic].result(30)
    monkeypatch.setenv("FLOE_SECRET_KEY", KEY_TEXT)
    monkeypatch.delenv("AIRFLOW_CONN_KAFKA_DEFAULT", raising=False)
    one = Pipeline.make(cluster.broker.bootstrap, topic, tmp_path)
    one.produce({"id": i} for i in range(100))
    return one


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Write the worker file."""

    def make(**keys: str) -> None:
        path = tmp_path / "worker.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
        monkeypatch.setenv(VARIABLE, str(path))

    return make


class Announced(TaskInstance):
    """A task instance behind a write that announced all slices."""

    def xcom_pull(self, task_ids: str, key: str = "return_value") -> Any:
        if task_ids == "plan":
            return super().xcom_pull(task_ids)
        return {"announced": [self._plan.slice_id(one) for one in self._plan.slices]} if key != "failure" else None


def sasl(cluster: Cluster, password: str) -> dict[str, str]:
    """Return what a worker for sink connectors has: its own login, and that of the consumers."""
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} username="floe" password="{password}";',
    }
    return {"bootstrap.servers": cluster.sasl, **login, **{f"consumer.{key}": value for key, value in login.items()}}


def test_worker_file_alone_brings_records_into_the_table(
    cluster: Cluster, pizzas: Pipeline, worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = tmp_path / "kafka.properties"
    secrets.write_text(f"password={SECRET}\n")
    worker(**sasl(cluster, f"${{file:{secrets}:password}}"))
    monkeypatch.setenv(PROVIDERS, f"file={tmp_path}")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    monkeypatch.setenv("SPARK_LOCAL_IP", LOOPBACK)
    pizzas.settings = kafka_settings(pizzas.connector)
    plan = pizzas.plan()
    assert SECRET not in json.dumps(plan.to_json()) and cluster.sasl not in json.dumps(plan.to_json())
    write = WriteFilesOperator(task_id="write", connector=pizzas.connector)
    write.execute({"ti": TaskInstance(plan)})  # type: ignore[arg-type]
    CommitOperator(task_id="commit", connector=pizzas.connector).execute(
        {"ti": Announced(plan), "outlet_events": OutletEventAccessors()}
    )
    assert pizzas.column("id") == list(range(100))


def test_refused_login_names_the_worker_file_and_no_secret(
    cluster: Cluster, pizzas: Pipeline, worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("floe.kafka.admin.REQUEST_TIMEOUT", 3.0)
    monkeypatch.setattr("floe.kafka.admin.REQUEST_TIMEOUT", 3.0)
    worker(**sasl(cluster, "wr0ng-passw0rd"))
    pizzas.settings = kafka_settings(pizzas.connector)
    with pytest.raises(FloeError, match=rf"refuses the credentials.*worker file .*\({VARIABLE}\)") as caught:
        pizzas.plan()
    assert "wr0ng" not in str(caught.value)


@pytest.mark.parametrize(("trust", "keys"), [("trust.jks", "keys.jks"), ("trust.p12", "keys.p12")])
def test_stores_of_the_worker_open_a_listener_with_tls(
    cluster: Cluster, pizzas: Pipeline, worker: Any, trust: str, keys: str
) -> None:
    folder = cluster.stores.folder
    worker(
        **{
            "bootstrap.servers": cluster.tls,
            "security.protocol": "SSL",
            "ssl.truststore.location": str(folder / trust),
            "ssl.truststore.password": PASSWORD,
            "ssl.keystore.location": str(folder / keys),
            "ssl.keystore.password": PASSWORD,
            **({"ssl.key.password": KEY_PASSWORD} if keys.endswith("jks") else {}),
        }
    )
    pizzas.settings = kafka_settings(pizzas.connector)
    pizzas.run()
    assert pizzas.column("id") == list(range(100))
