"""Secrets that callers of Connect's API send, in good calls and bad ones, are in no answer, no log and no row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.api.routes import CONNECT, routes
from tests.support.api.server import ApiServer
from tests.support.canary import HARD, Canaries, Sighting, files, pages, sqlite
from tests.support.rest.floe_worker import CONFIG

TOKEN, PASSWORD = "iceberg.catalog.token", "consumer.override.sasl.password"
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="floe" password="{}";'
VALIDATE = "/connector-plugins/IcebergSinkConnector/config/validate"
AT_REST = ("airflow.db", "airflow.db-wal", "airflow.db-shm", "orders.json", "broken.json")
"""Files whose content is searched as rows, or is where the secrets were planted."""


class Calls:
    """Calls as the administrator, with what was answered."""

    def __init__(self, server: ApiServer) -> None:
        self._client = server.client("admin")
        self.answers: list[tuple[str, bytes]] = []

    def __call__(self, method: str, path: str, content: Any = None) -> int:
        text = content if isinstance(content, str | None) else json.dumps(content)
        answer = self._client.request(method, path, content=text, headers={"Content-Type": "application/json"})
        where = f"the answer {answer.status_code} of {method} {path}"
        self.answers += [(where, answer.content), (f"headers of {where}", str(answer.headers).encode())]
        return answer.status_code

    def close(self) -> None:
        self._client.close()


@pytest.fixture(scope="module")
def canaries() -> Canaries:
    """The secrets that are planted."""
    return Canaries()


@pytest.fixture(scope="module")
def server(canaries: Canaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The server, with a good file and a broken one that have secrets, on which connectors can be made by REST."""
    filed: dict[str, dict[str, Any]] = {
        "orders": {"iceberg.catalog.s3.secret-access-key": canaries.plant("S3 key in a good file")},
        "broken": {
            "iceberg.catalog.tokn": canaries.plant("token under a misspelt key of a file"),
            "iceberg.catalog.type": f"sql://floe:{canaries.plant('password in an address of a file', hard=HARD)}@h",
        },
    }
    folder = tmp_path_factory.mktemp("api")
    one = ApiServer(folder, [], files=filed, FLOE_REST_CONNECTORS="true", FLOE_REST_HOSTS="catalog.example:8181")
    yield one
    one.stop()


def good_calls(call: Calls, canaries: Canaries) -> None:
    """Make, change and read a connector with secrets."""

    def secrets(when: str) -> dict[str, str]:
        plant = canaries.plant
        return {
            TOKEN: plant(f"token, {when}", hard="'%0A"),
            PASSWORD: plant(f"password, {when}", hard='"\\'),
            "iceberg.catalog.header.X-Api-Key": plant(f"header, {when}", hard="&'"),
            "iceberg.kafka.sasl.jaas.config": JAAS.format(plant(f"JAAS, {when}")),
            "iceberg.catalog.s3.secret-access-key": plant(f"S3 key, {when}", hard="/+"),
        }

    assert call("PUT", f"{CONNECT}/connectors/made/config", {**CONFIG, **secrets("made")}) == 201
    assert call("PATCH", f"{CONNECT}/connectors/made/config", secrets("changed")) == 200
    body = {"name": "posted", "config": {**CONFIG, **secrets("posted")}, "initial_state": "STOPPED"}
    assert call("POST", f"{CONNECT}/connectors", body) == 201
    assert call("PUT", CONNECT + VALIDATE, {**CONFIG, "name": "x", **secrets("checked")}) == 200
    for name in ("made", "posted", "orders"):
        for method, path in routes(name):
            if method == "GET":
                assert call(method, path) in (200, 307, 404), path
        call("GET", f"{CONNECT}/connectors?expand=info&expand=status")


def bad_bodies(canaries: Canaries) -> Iterator[dict[str, Any]]:
    """Yield configurations that are refused, or warned of, with secrets in them."""
    plant = canaries.plant
    yield {TOKEN: plant("token beside an error", hard=HARD), "tasks.max": "many"}
    yield {"iceberg.catalog.tokn": plant("token under a misspelt key"), "iceberg.control.commit.interval-ms": "x"}
    yield {"consumer.overide.sasl.password": plant("password under a misspelt prefix"), "topics": ""}
    yield {"iceberg.catalog.uri": f"http://floe:{plant('password in an address', hard='%40')}@catalog.example:8181"}
    yield {"iceberg.catalog.uri": f"http://catalog.example:8181/?token={plant('token in a query')}"}
    yield {"iceberg.kafka.sasl.jaas.config": f"password='{plant('JAAS that is none')}"}
    yield {PASSWORD: [plant("password in a list")]}
    yield {TOKEN: {"value": plant("token in an object")}}
    yield {TOKEN: "${file:/etc/x:y}" + plant("token behind a reference")}
    yield {TOKEN: "${floe:other:iceberg.catalog.token}" + plant("token behind the reference of another")}
    yield {"value.converter.basic.auth.user.info": plant("login that is none"), "transforms": "a,b"}
    yield {"ssl.keystore.password": plant("password of a key store"), "errors.tolerance": "some"}


def bad_calls(call: Calls, canaries: Canaries) -> None:
    """Send what is refused, to every route that takes a configuration."""
    for keys in bad_bodies(canaries):
        call("PUT", f"{CONNECT}/connectors/bad/config", {**CONFIG, **keys})
        call("PUT", f"{CONNECT}/connectors/made/config", {**CONFIG, **keys})
        call("PATCH", f"{CONNECT}/connectors/made/config", keys)
        call("PATCH", f"{CONNECT}/connectors/orders/config", keys)
        call("PUT", f"{CONNECT}/connectors/orders/config", {**CONFIG, **keys})
        call("POST", f"{CONNECT}/connectors", {"name": "bad", "config": {**CONFIG, **keys}})
        call("PUT", CONNECT + VALIDATE, {**CONFIG, "name": "bad", **keys})
    cut = json.dumps({TOKEN: canaries.plant("token in JSON that is cut", hard='"')})[:-1]
    doubled = f'{{"{TOKEN}": "{canaries.plant("token in JSON that is garbled")}" x}}'
    unknown = {"name": "bad", "config": CONFIG, "password": canaries.plant("password beside the configuration")}
    for content in (cut, doubled, unknown):
        for method, path in (("POST", "/connectors"), ("PUT", "/connectors/made/config"), ("PUT", VALIDATE)):
            assert call(method, CONNECT + path, content) == 400


def wrong_logins(server: ApiServer, canaries: Canaries) -> Iterator[tuple[str, bytes]]:
    """Send secrets as credentials, and yield what is answered."""
    for path in ("/floe/metrics", f"{CONNECT}/connectors", f"{CONNECT}/connectors/made/status"):
        with server.client(None) as client:
            login = httpx.BasicAuth("admin", canaries.plant(f"password of {path}", hard=":"))
            bearer = {"Authorization": f"Bearer {canaries.plant(f'token of {path}')}"}
            cookie = {"Cookie": f"_token={canaries.plant(f'cookie of {path}')}"}
            for answer in (
                client.get(path, auth=login),
                client.get(path, headers=bearer),
                client.get(path, headers=cookie),
            ):
                assert answer.status_code in (401, 403)
                yield f"the answer to credentials of {path}", answer.content


def test_secrets_of_calls_are_read_nowhere(server: ApiServer, canaries: Canaries) -> None:
    call = Calls(server)
    try:
        good_calls(call, canaries)
        bad_calls(call, canaries)
    finally:
        call.close()
    refused = list(wrong_logins(server, canaries))
    canaries.watch(lambda: call.answers, lambda: refused, sqlite(server.folder / "airflow.db"))
    canaries.watch(files(server.folder, leave_out=AT_REST))
    canaries.watch(pages(server.url, "viewer", server.passwords["viewer"], ["orders", "broken"]))
    assert (len(canaries.planted) > 40, len(call.answers) > 300) == (True, True)
    assert show(canaries.seen()) == []


def show(seen: list[Sighting]) -> list[str]:
    """Return each sighting once, as a line."""
    return sorted({f"{one.canary}: {one.where}: {one.around}" for one in seen})
