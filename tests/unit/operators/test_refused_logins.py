"""Libraries that are refused, or given what they cannot read, quote secrets: neither errors nor logs of a task have one."""

from __future__ import annotations

import io
import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import airflow.sdk.log  # noqa: F401 - it sets the root logger up, as in a task
import pytest

from floe.catalogs.client import CatalogClient
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
HARDS = [
    "",
    HARD,
    "\n",
    "\r\n",
    "\t",
    "\x0b",
    "\x00",
    "\u2028",
    "%0A",
    "%2F",
    "+ ",
    "\"'\\",
    "=:",
    "é",
    ";,&",
    "?a=@",
    "#",
    "[",
    "\\n",
]

BREAKS = ["", HARD, "\n", "%0A", ";,&", "\\n"]


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
    keys = {
        "type": kind,
        **({"uri": uri} if uri else {}),
        **{key.replace("__", "-"): value for key, value in more.items()},
    }
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
    proxy = {"rest.client.proxy.hostname": "127.0.0.1", "rest.client.proxy.port": "1"}
    own = {"rest.client.proxy.username": "u", "rest.client.proxy.password": plant("proxy")}
    yield catalog("rest", "http://lake.example", **proxy, **own)
    yield catalog("hive", f"thrift://u:{plant('Hive')}@127.0.0.1:1")


def of_aws(echo: Echo, plant: Callable[[str], str]) -> Iterator[dict[str, str]]:
    host = echo.address.removeprefix("http://")
    keys = {
        "client.access-key-id": plant("AWS id"),
        "client.secret-access-key": plant("AWS key"),
        "client.region": "r",
        "glue.max-retries": "1",
    }
    yield catalog("glue", "", **keys, **{"glue.endpoint": echo.address, "client.session-token": plant("AWS session")})
    yield catalog("glue", "", **keys, **{"glue.endpoint": f"http://u:{plant('AWS endpoint')}@{host}"})
    yield catalog("hadoop", "", warehouse="s3://lake/x", **keys, **{"s3.endpoint": echo.address})


def databases(scheme: str, plant: Callable[[str], str]) -> Iterator[dict[str, str]]:
    """Addresses that drivers cannot use, each of which words what is wrong in its own way."""
    at = "127.0.0.1:1/db"
    yield catalog("sql", f"{scheme}://u:{plant('login')}@{at}?sslpassword={plant('query')}")
    yield catalog("sql", f"{scheme}://{at}?user=u&password={plant('2nd of a query')}&sslmode=none")
    yield catalog("sql", f"{scheme}://{at}?sslmode=none&sslpassword={plant('last of a query')}")
    yield catalog("sql", f"{scheme}://{at}?options={plant('options')}&connect_timeout=x")
    yield catalog("sql", f"{scheme}://u:{plant('login before a bad host')}@[127.0.0.1/db?passfile=x")
    yield catalog("sql", f"{scheme}://{at}?sslkey=/none&sslcert=/none&unknown=1&sslpassword={plant('TLS')}")


def java_databases(scheme: str, plant: Callable[[str], str]) -> Iterator[dict[str, str]]:
    """The same by the keys of Java's drivers."""
    uri = f"jdbc:{scheme}://127.0.0.1:1/db"
    yield catalog("sql", f"{uri}?user=u&password={plant('of an address')}")
    yield catalog("sql", f"{uri}?sslpassword={plant('TLS')}&sslkey=/none&sslcert=/none")
    yield catalog("sql", uri, **{"jdbc.user": "u", "jdbc.password": plant("property")})
    yield catalog("sql", uri, **{"jdbc.sslpassword": plant("TLS property"), "jdbc.options": plant("options")})


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


def planted(canaries: Canaries, hard: str) -> Callable[[str], str]:
    return lambda name: canaries.plant(f"{name} with {hard!r}", hard=hard)


@pytest.mark.parametrize("hard", HARDS)
def test_refused_catalog_tells_no_secret(hard: str, echo: Echo, logged: io.StringIO, message: Message) -> None:
    canaries = Canaries()
    for keys in catalogs(echo, lambda name: canaries.plant(name, hard=hard)):
        error = message(keys, lambda connector: CatalogClient.of(connector).load("db.t"))
        assert error, keys
        canaries.watch(lambda error=error: [("error", error.encode())])  # type: ignore[misc]
    canaries.watch(lambda: [("log", logged.getvalue().encode())])
    assert canaries.seen() == []


@pytest.mark.parametrize("hard", BREAKS[1:3])
def test_refused_client_of_aws_tells_no_secret(hard: str, echo: Echo, logged: io.StringIO, message: Message) -> None:
    canaries = Canaries()
    for keys in of_aws(echo, planted(canaries, hard)):
        error = message(keys, lambda connector: CatalogClient.of(connector).load("db.t"))
        assert error, keys
        canaries.watch(lambda error=error: [("error", error.encode())])  # type: ignore[misc]
    canaries.watch(lambda: [("log", logged.getvalue().encode())])
    assert canaries.seen() == []


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "postgresql+psycopg2", "mysql+pymysql"])
def test_refused_database_tells_no_secret(scheme: str, logged: io.StringIO, message: Message) -> None:
    canaries = Canaries()
    makes = (databases, java_databases) if "+" not in scheme else (databases,)
    for hard, make in product(BREAKS, makes):
        for keys in make(scheme, planted(canaries, hard)):
            error = message(keys, lambda connector: CatalogClient.of(connector).load("db.t"))
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
