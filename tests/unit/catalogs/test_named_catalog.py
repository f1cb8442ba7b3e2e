"""A named catalog of the operator under a connector's own keys: its login goes to its own addresses alone."""

from __future__ import annotations

import os

import pytest

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.catalogs.providers.base import catalog_settings
from floe.config import Connector, parse_connector
from tests.support.connectors import MINIMAL
from tests.support.registry.double import Reply, serving

LAKE = {
    "URI": "http://lake.example",
    "TOKEN": "canary-token",
    "S3__SECRET_ACCESS_KEY": "canary-s3",
    "S3__ACCESS_KEY_ID": "someone",
    "S3__ENDPOINT": "http://store.example",
    "ADLS__SAS_TOKEN": "canary-sas",
    "ADLS__ACCOUNT_NAME": "lake",
    "GCS__OAUTH2__TOKEN": "canary-google",
    "HEADER__X_API_KEY": "canary-header",
}


@pytest.fixture(autouse=True)
def lake(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PYICEBERG_CATALOG__")]:
        monkeypatch.delenv(name)
    for name, value in LAKE.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)


def connector(**over: str) -> Connector:
    keys = {"iceberg.catalog": "lake", "iceberg.catalog.type": "rest"}
    without = {key: value for key, value in MINIMAL.items() if not key.startswith("iceberg.catalog")}
    return parse_connector({**without, **keys, **{f"iceberg.catalog.{name}": value for name, value in over.items()}})


@pytest.mark.parametrize("key", ["adls.sas-token", "adls.account-key"])
def test_login_of_one_account_needs_to_say_of_which(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYICEBERG_CATALOG__LAKE__ADLS__ACCOUNT_NAME")
    monkeypatch.delenv("PYICEBERG_CATALOG__LAKE__ADLS__SAS_TOKEN")
    with pytest.raises(CatalogMisconfigured, match=rf"{key} is the login of one account.*Set iceberg.catalog.adls.acc"):
        catalog_settings(connector(**{key: "canary"}).catalog)
    for place in ({"adls.account-name": "lake"}, {"warehouse": "abfss://c@lake.dfs.core.windows.net/x"}):
        assert catalog_settings(connector(**{key: "canary"}, **place).catalog)[key] == "canary"


@pytest.mark.parametrize(
    "over",
    [
        {"uri": "http://evil.example"},
        {"uri": "https://lake.example"},
        {"uri": "http://lake.example:81"},
        {"uri": "http://lake.example@evil.example"},
        {"uri": "http://evil.example", "token": "my-own"},  # the keys of its store are not for another catalog
        {"oauth2-server-uri": "http://evil.example"},
        {"rest.client.proxy.hostname": "evil.example"},
        {"s3.endpoint": "http://evil.example"},
        {"s3.proxy-uri": "http://evil.example"},
        {"s3.endpoint": "http://evil.example", "s3.secret-access-key": "x", "uri": "http://evil.example"},
        {"adls.account-name": "evil"},
        {"adls.blob-storage-authority": "evil.example"},
        {"adls.dfs-storage-scheme": "http"},
        {"warehouse": "abfss://c@evil.dfs.core.windows.net/x"},
        {"warehouse": "abfss://c@lake.evil.example/x"},
        {"uri": "http://la\N{KELVIN SIGN}e.example"},
        {"gcs.service.host": "http://evil.example"},
    ],
)
def test_login_of_a_named_catalog_does_not_follow_the_connector(over: dict[str, str]) -> None:
    with pytest.raises(CatalogMisconfigured, match="would send the login of PyIceberg's configuration") as caught:
        catalog_settings(connector(**over).catalog)
    message = str(caught.value)
    assert "canary" not in message and "PYICEBERG_CATALOG__LAKE__*" in message
    assert any(f"iceberg.catalog.{name}" in message for name in over)


@pytest.mark.parametrize(
    "over",
    [
        {},
        {"warehouse": "other"},
        {"warehouse": "s3://other/x"},
        {"uri": "http://lake.example/"},
        {"uri": "HTTP://Lake.Example:80"},
        {"warehouse": "abfss://other@LAKE.dfs.core.windows.net/x"},
        {"s3.region": "r", "scope": "s"},
        {"token": "my-own"},
        {"hf.endpoint": "http://hub.example"},
    ],
)
def test_ordinary_keys_stay_over_a_named_catalog(over: dict[str, str]) -> None:
    found = catalog_settings(connector(**over).catalog)
    assert found.items() >= over.items()
    assert found["s3.secret-access-key"] == "canary-s3"


def test_connector_with_a_login_of_its_own_has_that_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LAKE:
        if not name.startswith(("URI", "TOKEN", "HEADER")):
            monkeypatch.delenv(f"PYICEBERG_CATALOG__LAKE__{name}")
    found = catalog_settings(connector(uri="http://own.example", token="my-own").catalog)
    assert (found["uri"], found["token"]) == ("http://own.example", "my-own")
    assert "canary" not in str(found)


def test_named_catalog_without_an_address_gives_a_connector_no_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYICEBERG_CATALOG__LAKE__URI")
    with pytest.raises(CatalogMisconfigured, match=r"iceberg\.catalog\.uri would send"):
        catalog_settings(connector(uri="http://own.example").catalog)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REST__AUTH__TYPE", "google"),
        ("REST__AUTH__SIGV4__DELEGATE_AUTH_TYPE", "google"),
        ("AUTH", "{'type': 'oauth2'}"),
        ("CREDENTIAL", "${a:b:c}"),
    ],
)
def test_identity_of_the_process_does_not_follow_the_connector(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in LAKE:
        monkeypatch.delenv(f"PYICEBERG_CATALOG__LAKE__{one}")
    monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
    with pytest.raises(CatalogMisconfigured, match=r"iceberg\.catalog\.uri would send"):
        catalog_settings(connector(uri="http://evil.example").catalog)


def test_another_server_gets_no_request() -> None:
    with serving(Reply(200, b"{}")) as evil, pytest.raises(CatalogMisconfigured, match="Nothing was sent"):
        CatalogClient.of(connector(uri=evil.url))
    assert evil.requests == []


def test_database_of_a_named_catalog_gives_no_password_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"URI": "postgresql://floe:canary-of-database@db.example/lake"}
    for name in LAKE:
        monkeypatch.delenv(f"PYICEBERG_CATALOG__LAKE__{name}")
    for name, value in own.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
    spec = parse_connector(
        {**MINIMAL, "iceberg.catalog": "lake", "iceberg.catalog.type": "sql", "iceberg.catalog.jdbc.sslmode": "disable"}
    )
    with pytest.raises(CatalogMisconfigured, match=r"jdbc\.sslmode would send the login .*\(uri\)"):
        catalog_settings(spec.catalog)
