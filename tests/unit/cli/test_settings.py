"""What is looked up of Airflow, without Airflow and with it, and what is said where it cannot be."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from floe.cli import airflow_lookup, settings
from floe.cli.airflow_lookup import connection, connection_field, is_configured, variable
from floe.cli.output import NotLookedUp
from floe.cli.settings import Surroundings, look_up
from floe.config import parse_connector
from floe.config.providers.allow_list import OperatorSettings
from floe.config.secrets.mask import hide
from tests.support.canary import Canaries
from tests.support.connectors import MINIMAL

KAFKA = {"conn_type": "kafka", "extra": {"bootstrap.servers": "broker:9092"}}
NO_AIRFLOW = "was not looked up, as no Airflow is configured here"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith(("AIRFLOW", "FLOE_", "_AIRFLOW")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def looked_up(**keys: object) -> Surroundings:
    return look_up(parse_connector({**MINIMAL, **keys}, operator=OperatorSettings.present()))


def give(monkeypatch: pytest.MonkeyPatch, conn_id: str, fields: Any) -> None:
    text = fields if isinstance(fields, str) else json.dumps(fields)
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", text)


def test_without_airflow_each_missing_connection_is_named() -> None:
    found = looked_up(
        **{"floe.catalog.conn-id": "lake", "iceberg.kafka.client.id": "x", "floe.kafka.conn-id": "kafka_west"}
    )
    assert found.settings is None and found.spark is None
    assert found.unknown["kafka"].startswith("the Airflow connection 'kafka_west' " + NO_AIRFLOW)
    assert found.unknown["spark"].startswith("the Airflow connection 'spark_default' " + NO_AIRFLOW)
    assert "'lake' " + NO_AIRFLOW in found.unknown["catalog"]


def test_connections_in_the_environment_need_no_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, "kafka_default", KAFKA)
    give(monkeypatch, "spark_default", {"conn_type": "spark_connect", "host": "sc", "port": "15002"})
    found = looked_up()
    assert found.unknown == {}
    assert found.settings is not None and found.settings.source["bootstrap.servers"] == "broker:9092"
    assert found.spark is not None and (found.spark.host, found.spark.port) == ("sc", 15002)


def test_brokers_of_the_worker_file_need_no_connection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "worker.properties").write_text("bootstrap.servers=own:9092\n")
    monkeypatch.setenv("FLOE_WORKER_CONFIG", str(tmp_path / "worker.properties"))
    found = looked_up()
    assert found.settings is not None and set(found.unknown) == {"spark"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"port": "x"}', "is no connection in JSON"),
        ('{"extra": []}', None),
        ('{"extra": [1]}', "is no object"),
        ("{", "is no connection in JSON"),
        ("kafka://broker", NO_AIRFLOW),
    ],
)
def test_connection_that_cannot_be_read_says_why(monkeypatch: pytest.MonkeyPatch, text: str, why: str | None) -> None:
    give(monkeypatch, "kafka_default", text)
    if why is None:
        assert connection("kafka_default").extra == {}
        return
    with pytest.raises(NotLookedUp, match=why):
        connection("kafka_default")


def test_references_are_resolved_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    canaries = Canaries()
    secret = canaries.plant("token")
    monkeypatch.setenv("FLOE_CONFIG_PROVIDERS", "env,conn,var")
    monkeypatch.setenv("LAKE_TOKEN", secret)
    give(monkeypatch, "kafka_default", KAFKA)
    found = looked_up(
        **{
            "iceberg.catalog.token": "${env:LAKE_TOKEN}",
            "consumer.override.client.id": "${var:client_id}",
        }
    )
    assert found.connector.catalog.properties["token"] == secret and hide(secret) != secret
    assert "client_id" in found.unknown["kafka"]
    assert not found.lacks("catalog") and secret not in repr(found)
    monkeypatch.setenv("AIRFLOW_VAR_CLIENT_ID", "me")
    known = looked_up(**{"consumer.override.client.id": "${var:client_id}"})
    assert known.settings is not None and known.settings.source["client.id"] == "me"


def test_what_exists_and_cannot_be_used_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CONFIG_PROVIDERS", "env")
    give(monkeypatch, "kafka_default", {"conn_type": "kafka"})
    give(monkeypatch, "spark_default", "{")
    found = looked_up(**{"iceberg.catalog.token": "${env:LAKE_TOKEN}"})
    assert found.unknown == {} and found.settings is None
    assert "names no brokers" in found.unusable["kafka"] and "no connection in JSON" in found.unusable["spark"]
    assert "LAKE_TOKEN" in found.unusable["catalog"]


def test_connection_as_address_needs_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, "kafka_default", "kafka://user:a-s3cret@broker")
    assert looked_up().unknown["kafka"].endswith("(AIRFLOW_HOME), and AIRFLOW_CONN_… is not in JSON")


def test_airflow_that_does_not_answer_leaves_all_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(settings, "look_up", lambda _: release.wait(30))
    found = settings.look_up_within(0.1, parse_connector(MINIMAL))
    release.set()
    assert set(found.unusable) == {"kafka", "registry", "catalog", "spark"}
    assert found.unusable["spark"].endswith("did not answer within 0.1 s")


def test_fields_of_connections_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, "lake", {"password": "a-long-passw0rd", "extra": {"token": "t"}})
    assert connection_field("lake", "password") == "a-long-passw0rd"
    assert connection_field("lake", "extra.token") == "t"
    assert connection_field("lake", "extra.none") is connection_field("lake", "none") is None


def test_airflow_is_asked_only_where_it_is_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not is_configured({"HOME": str(tmp_path)})
    assert is_configured({"AIRFLOW_HOME": "/x"}) and is_configured({"AIRFLOW_CONFIG": "/x"})
    (tmp_path / "airflow").mkdir()
    (tmp_path / "airflow" / "airflow.cfg").touch()
    assert is_configured({})
    monkeypatch.setattr(airflow_lookup.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(NotLookedUp, match="this Python has no Airflow"):
        variable("x")


def test_answers_of_airflow_are_told_from_its_errors() -> None:
    class AirflowNotFoundException(Exception):
        pass

    def ask(error: Exception) -> Any:
        raise error

    with pytest.raises(NotLookedUp, match="'x' is neither in Airflow's environment"):
        airflow_lookup._asked("connection 'x'", lambda: ask(AirflowNotFoundException("isn't defined")))
    with pytest.raises(NotLookedUp, match="'x' was not looked up: OSError: no database"):
        airflow_lookup._asked("connection 'x'", lambda: ask(OSError("no database\nat all")))
