"""Values that connectors refer to in Airflow: its connections and variables, hidden from the moment they are read."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path

import pytest

from floe.config import ConfigError, Connector, read_connector
from floe.config.converters.with_registry import registry_of
from floe.config.providers.allow_list import VARIABLE
from floe.config.secrets.mask import hide
from floe.operators.connections import resolved
from floe.operators.exceptions import ConnectionMissing
from floe.operators.failures import mask_logs
from tests.support.connectors import MINIMAL

TOKEN, URI = "iceberg.catalog.token", "iceberg.catalog.uri"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    fields = {
        "conn_type": "generic",
        "host": "store.example",
        "password": "conn-passw0rd",
        "extra": {"key": "extra-k3y"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_MY_STORE", json.dumps(fields))
    monkeypatch.setenv("AIRFLOW_VAR_MY_TOKEN", "var-t0ken")
    monkeypatch.setenv(VARIABLE, "conn,var")
    return monkeypatch


def connector(folder: Path, **over: object) -> Connector:
    path = folder / "x.json"
    keys = {**MINIMAL, "iceberg.catalog.type": "rest", **over}
    path.write_text(json.dumps({key: value for key, value in keys.items() if value is not None}))
    return read_connector(path)


def test_connections_and_variables_are_looked_up(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = resolved(
        connector(
            tmp_path,
            **{
                URI: "https://${conn:my_store:host}/x",
                TOKEN: "${var:my_token}",
                "iceberg.catalog.s3.secret-access-key": "${conn:my_store:password}",
                "iceberg.catalog.s3.session-token": "${conn:my_store:extra.key}",
            },
        )
    )
    assert dict(made.catalog.properties) == {
        "type": "rest",
        "uri": "https://store.example/x",
        "token": "var-t0ken",
        "s3.secret-access-key": "conn-passw0rd",
        "s3.session-token": "extra-k3y",
    }


def test_values_are_hidden_in_what_is_logged(
    environment: pytest.MonkeyPatch, tmp_path: Path, logged: io.StringIO
) -> None:
    environment.setenv("AIRFLOW_VAR_PLACE", "a-hidd3n-place")
    resolved(connector(tmp_path, **{"iceberg.catalog.warehouse": "${var:place}"}))
    mask_logs()
    logging.getLogger("x").warning("no warehouse %s", "a-hidd3n-place")
    assert "a-hidd3n-place" not in logged.getvalue() and hide("a-hidd3n-place") == "<hidden>"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${conn:no_such:password}", "the Airflow connection 'no_such' does not exist, or has no password"),
        ("${conn:my_store:extra.other}", "the Airflow connection 'my_store' does not exist, or has no extra.other"),
        ("${conn:my_store:login}", "the Airflow connection 'my_store' does not exist, or has no login"),
        ("${var:no_such}", "there is no Airflow variable 'no_such'"),
    ],
)
def test_what_is_not_there_is_named(environment: pytest.MonkeyPatch, tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(connector(tmp_path, **{TOKEN: text}))
    assert f"{TOKEN}: {text}: {why}. Nothing was done" in str(caught.value)


def test_a_registry_connection_is_looked_up_and_hidden(
    environment: pytest.MonkeyPatch, tmp_path: Path, logged: io.StringIO
) -> None:
    fields = {
        "conn_type": "http",
        "host": "registry.example",
        "login": "floe",
        "password": "reg1stry-passw0rd",
        "extra": {"max.retries": 5, "tmeout": 1},
    }
    environment.setenv("AIRFLOW_CONN_REGISTRY", json.dumps(fields))
    mask_logs()
    avro = {"value.converter": "io.confluent.connect.avro.AvroConverter", "value.converter.schemas.enable": None}
    made = resolved(connector(tmp_path, **avro, **{URI: "http://x", "floe.registry.conn-id": "registry"}))
    found = registry_of(made.value_converter)
    assert (found.addresses[0].url, found.limits.retries) == ("http://registry.example", 5)
    assert "reg1stry" not in json.dumps(made.frozen())
    logging.getLogger("x").warning("refused: %s", "reg1stry-passw0rd")
    assert "'tmeout' in its extra has no effect" in logged.getvalue()
    assert "reg1stry" not in logged.getvalue() and hide("reg1stry-passw0rd") == "<hidden>"


def test_a_registry_connection_that_is_not_there_is_named(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    avro = {"value.converter": "io.confluent.connect.avro.AvroConverter", "value.converter.schemas.enable": None}
    made = connector(tmp_path, **avro, **{URI: "http://x", "floe.registry.conn-id": "no_such"})
    with pytest.raises(ConnectionMissing, match=r"'no_such', which floe\.registry\.conn-id names, does not exist"):
        resolved(made)
