"""Java's keys of Hive's and Glue's catalogs, and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest

from floe.config import ConfigError, Connector, parse_connector
from floe.config.catalogs.hive import addresses
from tests.support.connectors import MINIMAL

HIVE = {"catalog-impl": "org.apache.iceberg.hive.HiveCatalog", "uri": "thrift://h:9083", "warehouse": "/w"}
GLUE = {"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog", "warehouse": "s3://lake/w"}


def read(keys: dict[str, str], **more: str) -> Connector:
    given: dict[str, Any] = {key: value for key, value in MINIMAL.items() if not key.startswith("iceberg.catalog.")}
    return parse_connector({**given, **{f"iceberg.catalog.{key}": value for key, value in {**keys, **more}.items()}})


def test_javas_class_names_mean_the_types() -> None:
    assert [read(keys).catalog.type for keys in (HIVE, GLUE)] == ["hive", "glue"]


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("thrift://h:9083", [("h", 9083)]),
        ("thrift://h:9083,thrift://h2:9084/", [("h", 9083), ("h2", 9084)]),
        ("thrift://[::1]:9083", [("::1", 9083)]),
    ],
)
def test_address_has_one_or_more_metastores(uri: str, found: list[tuple[str, int]]) -> None:
    assert addresses(uri) == found


@pytest.mark.parametrize(
    "uri", ["http://h:9083", "thrift://h", "thrift://h:0", "h:9083", "thrift://h:9083,", "thrift://u:p@h:1"]
)
def test_other_addresses_are_refused(uri: str) -> None:
    with pytest.raises(ConfigError, match="write thrift://host:9083"):
        read(HIVE, uri=uri)


@pytest.mark.parametrize(
    ("keys", "key", "reason"),
    [
        (HIVE, "hive.metastore.sasl.enabled", "Kerberos"),
        (HIVE, "hive.kerberos-authentication", "Kerberos"),
        (HIVE, "hive.metastore.kerberos.principal", "Kerberos"),
        (HIVE, "hive.metastore.use.SSL", "without TLS"),
        (HIVE, "iceberg.engine.hive.lock-enabled", "floe always takes the lock"),
        (GLUE, "client.assume-role.arn", "role_arn"),
        (GLUE, "client.factory", "role_arn"),
    ],
)
def test_key_that_cannot_be_kept_is_refused(keys: dict[str, str], key: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} is refused.*{reason}"):
        read(keys, **{key: "x"})


@pytest.mark.parametrize(
    "key", ["hive.metastore.sasl.enabled", "hive.kerberos-authentication", "hive.metastore.use.SSL"]
)
@pytest.mark.parametrize("value", ["false", " False"])
def test_hive_without_kerberos_or_tls_may_say_so(key: str, value: str) -> None:
    assert key not in read(HIVE, **{key: value}).catalog.for_pyiceberg()


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        (HIVE, "clients"),
        (HIVE, "client-pool-cache-keys"),
        (HIVE, "list-all-tables"),
        (HIVE, "iceberg.hive.lock-creation-timeout-ms"),
        (HIVE, "hive.metastore.client.socket.timeout"),
        (HIVE, "lock-check-retries"),
        (GLUE, "glue.skip-name-validation"),
        (GLUE, "lock.table"),
    ],
)
def test_key_without_effect_is_a_warning(keys: dict[str, str], key: str) -> None:
    assert [f"iceberg.catalog.{key} has no effect" in one for one in read(keys, **{key: "x"}).warnings] == [True]


def test_keys_of_locks_and_clients_are_taken() -> None:
    locks = {"iceberg.hive.lock-timeout-ms": "1000", "iceberg.hive.lock-check-max-wait-ms": "10"}
    assert locks.items() <= read(HIVE, **locks).catalog.for_pyiceberg().items()
    glue = {"glue.id": "123", "glue.endpoint": "http://g", "glue.skip-archive": "false", "client.region": "eu"}
    assert glue.items() <= read(GLUE, **glue).catalog.for_pyiceberg().items()


@pytest.mark.parametrize("value", ["0", "-1", "1 s", ""])
def test_wait_for_a_lock_is_a_number(value: str) -> None:
    with pytest.raises(ConfigError, match="number of milliseconds"):
        read(HIVE, **{"iceberg.hive.lock-timeout-ms": value})
