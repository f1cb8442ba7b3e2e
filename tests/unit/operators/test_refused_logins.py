"""Libraries that are refused, or given what they cannot read, quote secrets: neither errors nor logs of a task have one."""

from __future__ import annotations

import io
import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import airflow.sdk.log  # noqa: F401 - it sets the root logger up, as in a task
import pytest

from floe.catalogs.client import Tables
from floe.config import Connector, parse_connector
from floe.config.secrets import mask
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.operators import failures
from floe.operators.failures import floe_task, keep_secret
from tests.support.canary import HARD, Canaries
from tests.support.connectors import JSON
from tests.support.echo import Echo

KEYS = {
    "name": "c",
    "topics": "t",
    "iceberg.tables": "db.t",
    "iceberg.control.topic": "control",
    **JSON,
}
Message = Callable[[Mapping[str, Any], Callable[[Connector], object]], str]
HARDS = ["", HARD, "\n", "%2F", "+ ", "\"'\\", "=:", "é", ";,&", "?a=@", "#", "[", "\\n"]


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    one = Echo()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def without_airflows_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """What floe hides itself counts; and of hundreds of secrets Airflow makes one expression, again with each."""
    monkeypatch.setattr(failures, "_tell_airflow", lambda texts: None)


@pytest.fixture
def message(monkeypatch: pytest.MonkeyPatch) -> Message:
    """What a task tells Airflow that does something with a connector; "" where nothing fails."""

    def act_with(keys: Mapping[str, Any], act: Callable[[Connector], object]) -> str:
        # secrets of other tasks look like this one's, and would hide it
        monkeypatch.setattr(mask, "_KNOWN", mask.Mask())
        return message_of(keys, act)

    return act_with


def message_of(keys: Mapping[str, Any], act: Callable[[Connector], object]) -> str:

    @floe_task
    def execute(_self: object) -> None:
        act(parse_connector({**KEYS, **keys}))

    try:
        execute(object())
    except Exception as error:  # noqa: BLE001 - what it tells is the result
        return "".join(traceback.format_exception(error))
    return ""


def catalog(kind: str, uri: str, **more: str) -> dict[str, str]:
    keys = {"type": kind, "uri": uri, **{key.replace("__", "-"): value for key, value in more.items()}}
    return {"iceberg.catalog": "x", **{f"iceberg.catalog.{key}": value for key, value in keys.items()}}


def catalogs(echo: Echo, plant: Callable[[str], str]) -> Iterator[dict[str, str]]:
    host = echo.address.removeprefix("http://")
    yield catalog("rest", echo.address, token=plant("token"))
    yield catalog("rest", echo.address, credential=f"floe:{plant('client secret')}")
    yield catalog(
        "rest", echo.address, **{"header.X-Api": plant("header"), "header.Authorization": f"Bearer {plant('H')}"}
    )
    yield catalog("rest", f"http://u:{plant('login')}@{host}/?api_key={plant('key in a query')}")
    yield catalog("sql", f"sqlite://u:{plant('SQLite')}@h/db", warehouse="file:///x")
    yield catalog("sql", f"postgresql+psycopg2://u:{plant('SQL')}@127.0.0.1:1/db?sslpassword={plant('query')}")
    yield catalog("sql", f"jdbc:postgresql://127.0.0.1:1/db;user=u;password={plant('JDBC')}")


def extras(folder: Path, plant: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    yield {"sasl.jaas.config": f'{jaas} username="floe" password="{plant("JAAS")}"'}
    yield {"sasl.jaas.config": f'{jaas} pasword="{plant("misspelt in JAAS")}";'}
    yield {"sasl.jaas.config": f'my.own.Module required password="{plant("JAAS of another module")}";'}
    ssl = {"security.protocol": "SSL"}
    yield {**ssl, "ssl.keystore.location": str(folder / "none"), "ssl.keystore.password": plant("keystore")}
    yield {**ssl, "ssl.key.pem": plant("key")}
    yield {**ssl, "ssl.certificate.pem": plant("certificate")}
    yield {"sasl.pasword": plant("misspelt")}
    yield {"sasl": {"password": plant("nested")}}
    yield {"security.protocol": f"sasl://u:{plant('address in a wrong place')}@h"}


@pytest.mark.parametrize("hard", HARDS)
def test_refused_catalog_tells_no_secret(hard: str, echo: Echo, logged: io.StringIO, message: Message) -> None:
    canaries = Canaries()
    for keys in catalogs(echo, lambda name: canaries.plant(name, hard=hard)):
        error = message(keys, lambda connector: Tables.of(connector).load("db.t"))
        assert error, keys
        canaries.watch(lambda error=error: [("error", error.encode())])  # type: ignore[misc]
    canaries.watch(lambda: [("log", logged.getvalue().encode())])
    assert canaries.seen() == []


@pytest.mark.parametrize("hard", HARDS)
def test_refused_kafka_client_tells_no_secret(hard: str, tmp_path: Path, logged: io.StringIO, message: Message) -> None:
    canaries = Canaries()

    def client(extra: Mapping[str, Any]) -> Callable[[Connector], object]:
        def act(connector: Connector) -> None:
            keep_secret({"password": None, "extra": json.dumps(extra)})
            Cluster.of_source(KafkaSettings.of(connector, extra))

        return act

    for extra in extras(tmp_path, lambda name: canaries.plant(name, hard=hard)):
        error = message(catalog("sql", "sqlite://"), client({"bootstrap.servers": "127.0.0.1:1", **extra}))
        assert error, extra
        canaries.watch(lambda error=error: [("error", error.encode())])  # type: ignore[misc]
    canaries.watch(lambda: [("log", logged.getvalue().encode())])
    assert canaries.seen() == []
