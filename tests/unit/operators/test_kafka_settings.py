"""Where a task has its clients' settings from: the worker file, the Airflow connection, and none that is missing."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ErrorResponse

from floe.config import ConfigError, Connector, parse_connector
from floe.config.providers.allow_list import VARIABLE as PROVIDERS
from floe.config.secrets.mask import hide
from floe.config.worker_file import VARIABLE
from floe.operators.connections import kafka_settings
from floe.operators.exceptions import ConnectionMissing, ConnectionUnknown
from floe.operators.failures import mask_logs
from tests.support.connectors import MINIMAL

A = {"bootstrap.servers": "a:9092"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write the worker file."""

    def make(**keys: str) -> Path:
        path = tmp_path / "worker.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
        monkeypatch.setenv(VARIABLE, str(path))
        return path

    return make


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Put a supervisor in place that gives one answer."""

    class Supervisor:
        def __init__(self, answer: object) -> None:
            self._answer = answer

        def send(self, _: object) -> object:
            if isinstance(self._answer, Exception):
                raise self._answer
            return self._answer

    def make(answer: object) -> None:
        monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", Supervisor(answer), raising=False)

    return make


def connector(**over: str) -> Connector:
    return parse_connector({**MINIMAL, **over})


def test_missing_connection_is_allowed_with_the_workers_brokers(worker: Any) -> None:
    worker(**A)
    found = kafka_settings(connector())
    assert found.source["bootstrap.servers"] == found.control["bootstrap.servers"] == "a:9092"
    assert found.origin.startswith("the worker file")


def test_missing_connection_without_brokers_names_both_places(worker: Any) -> None:
    path = worker(**{"rest.port": "8083"})
    with pytest.raises(
        ConnectionMissing, match=rf"'kafka_default'.*put bootstrap\.servers into the worker file {path} "
    ):
        kafka_settings(connector())


def test_missing_connection_and_worker_file_names_both_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ConnectionMissing, match=rf"'kafka_default'.*\({VARIABLE} is not set\)"):
        kafka_settings(connector())


def test_named_connection_that_is_missing_names_both_places(worker: Any) -> None:
    path = worker(**A)
    with pytest.raises(ConnectionMissing, match=rf"'kafka_x'.*leave floe\.kafka\.conn-id out: .* {path} .*has brokers"):
        kafka_settings(connector(**{"floe.kafka.conn-id": "kafka_x"}))


@pytest.mark.parametrize(
    "answer",
    [
        ErrorResponse(error=ErrorType.API_SERVER_ERROR),
        AirflowRuntimeError(error=ErrorResponse(error=ErrorType.GENERIC_ERROR)),
    ],
)
def test_connection_that_airflow_cannot_look_up_is_not_missing(worker: Any, supervisor: Any, answer: object) -> None:
    worker(**A)
    supervisor(answer)
    with pytest.raises(ConnectionUnknown, match="did not say whether there is a connection 'kafka_default'"):
        kafka_settings(connector())


@pytest.mark.parametrize("is_raised", [False, True])
def test_connection_that_airflow_does_not_have_is_missing(worker: Any, supervisor: Any, is_raised: bool) -> None:
    worker(**A)
    answer = ErrorResponse(error=ErrorType.CONNECTION_NOT_FOUND)
    supervisor(AirflowRuntimeError(error=answer) if is_raised else answer)
    assert kafka_settings(connector()).source["bootstrap.servers"] == "a:9092"


def test_references_of_the_worker_are_resolved_and_hidden(
    worker: Any, monkeypatch: pytest.MonkeyPatch, logged: io.StringIO
) -> None:
    monkeypatch.setenv(PROVIDERS, "env")
    monkeypatch.setenv("KAFKA_PASSWORD", "w0rker-passw0rd")
    jaas = f'{PLAIN} username="floe" password="${{env:KAFKA_PASSWORD}}";'
    worker(**A, **{"security.protocol": "SASL_SSL", "sasl.jaas.config": jaas, "ssl.key.password": "pl4in-in-the-file"})
    mask_logs()
    found = kafka_settings(connector())
    assert found.source["sasl.password"] == found.control["sasl.password"] == "w0rker-passw0rd"
    logging.getLogger("x").warning("refused: %s, %s", "w0rker-passw0rd", "pl4in-in-the-file")
    assert logged.getvalue().endswith("refused: <hidden>, <hidden>\n")
    assert "passw0rd" not in hide(repr(found))


def test_reference_that_is_not_used_is_not_resolved(worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"conn_type": "kafka", "extra": A}))
    worker(**{"bootstrap.servers": "${env:NONE}", "sasl.jaas.config": "${file:/none:x}"})
    assert kafka_settings(connector()).source["bootstrap.servers"] == "a:9092"


@pytest.mark.parametrize(
    ("text", "why"),
    [("${env:NO_SUCH}", "there is no environment variable 'NO_SUCH'"), ("${vault:x}", "'vault' is not allowed here")],
)
def test_reference_without_value_names_the_files_key(
    worker: Any, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    monkeypatch.setenv(PROVIDERS, "env")
    path = worker(**A, **{"consumer.sasl.jaas.config": text})
    with pytest.raises(
        ConfigError, match=rf"worker file {path} .*consumer\.sasl\.jaas\.config: .*{why}.*Nothing was done"
    ):
        kafka_settings(connector())


def test_plan_has_nothing_of_the_workers_clients(worker: Any) -> None:
    without = connector().frozen()
    worker(**A, **{"sasl.jaas.config": f'{PLAIN} username="u" password="p";'})
    made = connector()
    kafka_settings(made)
    assert made.frozen() == without


def test_changed_worker_file_counts_for_the_next_task(worker: Any) -> None:
    worker(**A)
    made = connector()
    assert kafka_settings(made).source["bootstrap.servers"] == "a:9092"
    worker(**{"bootstrap.servers": "moved.example:9092"})
    assert kafka_settings(made).source["bootstrap.servers"] == "moved.example:9092"


def test_setting_of_the_connection_without_effect_is_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    extra = {**A, "max.block.ms": 1}
    monkeypatch.setattr("floe.operators.connections._extra", lambda *_: extra)
    kafka_settings(connector())
    assert caplog.text.count("the Airflow connection 'kafka_default': max.block.ms has no effect") == 1
