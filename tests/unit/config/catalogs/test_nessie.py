"""Nessie's keys, as Java's NessieCatalog has them."""

import pytest

from floe.config import ConfigError, parse_connector
from floe.config.catalogs.nessie import iceberg_address
from tests.support.connectors import MINIMAL

URI = "http://nessie:19120/api/v1"


def properties(**over: str) -> dict[str, object]:
    rest = {key: value for key, value in MINIMAL.items() if not key.startswith("iceberg.catalog.")}
    keys = {"type": "nessie", "uri": URI, **over}
    return {**rest, **{f"iceberg.catalog.{key}": value for key, value in keys.items()}}


@pytest.mark.parametrize(
    ("uri", "ref", "address"),
    [
        (URI, "", "http://nessie:19120/iceberg"),
        (URI, "main", "http://nessie:19120/iceberg/main"),
        ("https://nessie/base/api/v2/", "etl/a", "https://nessie/base/iceberg/etl%2Fa"),
        ("http://nessie:19120/iceberg/", "main", "http://nessie:19120/iceberg/main"),
        ("http://nessie:19120/iceberg/etl%2Fa/", "", "http://nessie:19120/iceberg/etl%2Fa"),
        ("http://nessie:19120/iceberg/etl%2Fa/", "etl/a", "http://nessie:19120/iceberg/etl%2Fa"),
    ],
)
def test_address_of_iceberg_is_made_of_javas(uri: str, ref: str, address: str) -> None:
    assert iceberg_address(uri, ref) == address


def test_block_of_java_is_translated_once() -> None:
    login = {"authentication.type": "BEARER", "authentication.token": "t", "client-api-version": "1"}
    connector = parse_connector(properties(ref="main", warehouse="s3://b/w", **login))
    made = connector.catalog.for_pyiceberg()
    assert (made["token"], made["ref"], made["warehouse"]) == ("t", "main", "s3://b/w")
    assert "client-api-version" not in made


def test_class_of_java_means_nessie() -> None:
    given = properties(**{"catalog-impl": "org.apache.iceberg.nessie.NessieCatalog"})
    del given["iceberg.catalog.type"]
    assert parse_connector(given).catalog.type == "nessie"


def test_oauth2_login_becomes_a_credential() -> None:
    oauth2 = {"client-id": "floe", "client-secret": "s3", "token-endpoint": "https://login/token", "client-scopes": "a"}
    keys = {f"authentication.oauth2.{key}": value for key, value in oauth2.items()}
    made = parse_connector(properties(**{"authentication.type": "OAUTH2", **keys})).catalog.for_pyiceberg()
    assert (made["credential"], made["oauth2-server-uri"], made["scope"]) == ("floe:s3", "https://login/token", "a")
    assert not [key for key in made if key.startswith("authentication.oauth2")]


@pytest.mark.parametrize("uri", ["http://nessie:19120/iceberg", "http://nessie:19120/api/v1"])
def test_spark_takes_the_rest_catalog(uri: str) -> None:
    made = parse_connector(properties(uri=uri)).catalog.for_spark()
    assert made["type"] == "rest" and made["uri"].startswith("http://nessie:19120/iceberg") and "ref" not in made


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"uri": "http://nessie:19120/"}, "no address of Nessie"),
        ({"uri": "http://nessie:19120/iceberg/a", "ref": "b"}, "remove one"),
        ({"ref": "main@1234"}, "has no '@'"),
        ({"ref.hash": "1234"}, "at a hash nothing can be written"),
        ({"authentication.type": "AWS"}, "'AWS' is not supported"),
        ({"authentication.type": "BEARER"}, "authentication.token is missing"),
        ({"authentication.token": "t"}, "has no use"),
        ({"authentication.oauth2.issuer-url": "https://login"}, "token-endpoint"),
        ({"authentication.oauth2.grant-type": "password"}, "is not supported"),
        ({"client-builder-impl": "x.Y"}, "names a Java class"),
    ],
)
def test_key_that_cannot_work_is_refused_by_name(keys: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_connector(properties(**keys))
