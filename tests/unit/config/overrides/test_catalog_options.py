"""The catalog of a connector from Airflow connections: what tasks have, and what plans do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from floe.config import ConfigError, Connector, restore_config
from floe.config.connection_fields import ConnectionFields
from floe.config.keys.key_class import KeyClass
from floe.config.overrides.connection_options import with_catalog
from floe.config.overrides.run_overrides import foreign_changes, replace_keys
from floe.config.secrets.deployment_key import CONN_ID

REST = {"iceberg.catalog.type": "rest", "floe.catalog.conn-id": "lake"}
AWS = {"iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://own", "floe.aws.conn-id": "aws"}
Make = Callable[..., Connector]


def look(conn_id: str, key: str, **fields: Any) -> ConnectionFields:
    made = {"conn_type": "aws" if key == "floe.aws.conn-id" else "iceberg", "host": "h", "login": "u"}
    return ConnectionFields(conn_id, **{**made, "password": "passw0rd", **fields})


def resolve(connector: Connector, **fields: Any) -> Connector:
    return with_catalog(connector, lambda name, key: look(name, key, **fields), dict[str, object]().update)[0]


def test_a_task_has_the_connections_catalog(connector: Make) -> None:
    learned: dict[str, object] = {}
    made, unused = with_catalog(connector(REST), look, learned.update)
    assert dict(made.catalog.properties) == {"type": "rest", "uri": "http://h", "credential": "u:passw0rd"}
    assert learned["iceberg.catalog.credential"] == "u:passw0rd" and unused == ()


def test_a_plan_has_nothing_of_the_connections(connector: Make) -> None:
    for keys in (REST, AWS):
        file = connector(keys)
        made = replace_keys(resolve(file), {"iceberg.tables.default-commit-branch": "b"})
        assert made.frozen() == {**file.frozen(), "iceberg.tables.default-commit-branch": "b"}
        assert foreign_changes(resolve(file).frozen(), file, KeyClass.LIVE) == []
        assert "passw0rd" not in str(made.frozen()) + repr(made)


def test_a_retry_has_the_connection_of_today(connector: Make) -> None:
    file = connector(REST)
    again = resolve(restore_config(resolve(file).frozen(), file), host="moved")
    assert again.catalog.properties["uri"] == "http://moved"


def test_keys_of_aws_are_for_catalog_and_store(connector: Make) -> None:
    made, unused = with_catalog(
        connector(AWS), lambda n, k: look(n, k, extra={"region_name": "r", "verify": False}), {}.update
    )
    assert dict(made.catalog.properties) == {
        "type": "rest",
        "uri": "http://own",
        "client.access-key-id": "u",
        "client.secret-access-key": "passw0rd",
        "client.region": "r",
    }
    assert unused == ("verify",)


@pytest.mark.parametrize(
    ("keys", "fields", "problem"),
    [
        (REST, {"conn_type": "mysql"}, "of type 'mysql': this catalog's is of type 'iceberg' or 'http'"),
        (AWS, {"conn_type": "http"}, "of type 'http': this catalog's is of type 'aws'"),
        (REST, {"extra": {"py-io-impl": "os.system"}}, "py-io-impl names code"),
        (REST, {"extra": {"tokn": "t"}}, r"iceberg\.catalog\.tokn is no setting of PyIceberg"),
        ({**REST, "floe.catalog.conn-id": CONN_ID}, {}, "it contains floe's own key"),
    ],
)
def test_connection_of_another_kind_is_refused(
    connector: Make, keys: dict[str, str], fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        resolve(connector(keys), **fields)
    assert "Nothing was done" in str(caught.value) and "passw0rd" not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "over"),
    [
        (REST, {"uri": "https://evil"}),
        (REST, {"uri": "https://h"}),
        (REST, {"uri": "http://h.evil"}),
        (REST, {"oauth2-server-uri": "https://evil/token"}),
        (REST, {"rest.client.proxy.hostname": "evil"}),
        ({**REST, "iceberg.catalog.type": "sql"}, {"uri": "jdbc:postgresql://evil/db"}),
        ({**REST, "iceberg.catalog.type": "sql"}, {"jdbc.sslmode": "disable"}),
        (AWS, {"s3.endpoint": "http://evil"}),
        (AWS, {"s3.proxy-uri": "http://evil"}),
        ({**AWS, "iceberg.catalog.type": "glue"}, {"glue.endpoint": "https://evil"}),
    ],
)
def test_login_of_a_connection_does_not_follow_the_file(
    connector: Make, keys: dict[str, str], over: dict[str, str]
) -> None:
    more = {f"iceberg.catalog.{name}": value for name, value in over.items()}
    kind = "postgres" if keys["iceberg.catalog.type"] == "sql" else "aws" if "floe.aws.conn-id" in keys else "iceberg"
    with pytest.raises(ConfigError) as caught:
        resolve(connector({**keys, **more}), conn_type=kind)
    message = str(caught.value)
    assert "would send the login of the connection" in message and "passw0rd" not in message
    assert all(key in message for key in more)
    assert "which floe." in message and "Nothing was sent" in message


def test_token_for_nessie_does_not_follow_the_file(connector: Make) -> None:
    keys = {**REST, "iceberg.catalog.type": "nessie", "iceberg.catalog.uri": "http://evil/iceberg"}
    with pytest.raises(ConfigError, match=r"iceberg\.catalog\.uri would send the login .*authentication\.token"):
        resolve(connector(keys), login="")


def test_endpoint_of_hadoops_keys_does_not_get_the_connections_login(connector: Make) -> None:
    with pytest.raises(ConfigError, match=r"iceberg\.catalog\.s3\.endpoint would send"):
        resolve(connector({**AWS, "iceberg.hadoop.fs.s3a.endpoint": "evil.example"}))


@pytest.mark.parametrize(
    ("keys", "over"),
    [
        (REST, {"uri": "http://h/"}),
        (REST, {"warehouse": "other", "prefix": "p", "scope": "s"}),
        (REST, {"uri": "https://own", "token": "my-own-token"}),
        (REST, {"s3.endpoint": "http://store"}),
        (AWS, {"s3.region": "r", "warehouse": "s3://lake/x"}),
        (AWS, {"s3.endpoint": "http://own", "s3.access-key-id": "me", "s3.secret-access-key": "my-own"}),
    ],
)
def test_ordinary_keys_of_the_file_stay_over_the_connections(
    connector: Make, keys: dict[str, str], over: dict[str, str]
) -> None:
    made = resolve(connector({**keys, **{f"iceberg.catalog.{name}": value for name, value in over.items()}}))
    found = made.catalog.properties
    assert found.items() >= over.items()
    is_own = any("own" in value for value in over.values()) and keys is REST
    assert ("passw0rd" in str(dict(found))) is not (is_own or "s3.access-key-id" in over)


def test_connector_without_connections_stays_as_it_is(connector: Make) -> None:
    made = connector({"iceberg.catalog.type": "rest"})
    assert resolve(made) is made
