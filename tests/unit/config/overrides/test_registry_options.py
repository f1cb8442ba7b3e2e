"""The registry of a connector from an Airflow connection: what tasks have, and what plans do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from floe.config import ConfigError, Connector, restore_config
from floe.config.converters.with_registry import registry_of
from floe.config.keys.key_class import KeyClass
from floe.config.overrides.connection_options import with_registry
from floe.config.overrides.run_overrides import foreign_changes, replace_keys
from floe.config.schema_registry.connection import KEY, RegistryConnection
from floe.config.schema_registry.settings import RegistryAddress, RegistryLogin

AVRO = {"value.converter": "io.confluent.connect.avro.AvroConverter", KEY: "registry"}
APICURIO_KEY = {"key.converter": "io.apicurio.registry.utils.converter.AvroConverter"}
NONE = ("value.converter.schemas.enable",)
URL, USER_INFO = "value.converter.schema.registry.url", "value.converter.basic.auth.user.info"
FIELDS = {"host": "r", "port": 8081, "login": "u", "password": "passw0rd"}
Make = Callable[..., Connector]


def look(conn_id: str, **fields: Any) -> RegistryConnection:
    return RegistryConnection(conn_id, **{**FIELDS, **fields})


def resolve(connector: Connector, **fields: Any) -> Connector:
    return with_registry(connector, lambda conn_id: look(conn_id, **fields), dict[str, object]().update)[0]


def test_a_task_has_the_connections_registry(connector: Make) -> None:
    learned: dict[str, object] = {}
    made, unused = with_registry(connector(AVRO, NONE), look, learned.update)
    registry = registry_of(made.value_converter)
    assert registry.addresses == (RegistryAddress("http://r:8081"),)
    assert isinstance(registry.credentials, RegistryLogin)
    assert (registry.credentials.user, registry.credentials.password) == ("u", "passw0rd")
    assert learned[USER_INFO] == "u:passw0rd" and unused == ()
    assert made.warnings == ()


def test_keys_have_the_registry_of_their_own_class(connector: Make) -> None:
    made = resolve(connector({**AVRO, **APICURIO_KEY}, NONE))
    assert made.key_converter is not None
    assert registry_of(made.key_converter).addresses == (RegistryAddress("http://r:8081/apis/registry/v2"),)
    assert registry_of(made.value_converter).addresses == (RegistryAddress("http://r:8081"),)


def test_a_plan_has_nothing_of_the_connection(connector: Make) -> None:
    file = connector(AVRO, NONE)
    made = replace_keys(resolve(file), {"iceberg.tables.default-commit-branch": "b"})
    assert made.frozen() == {**file.frozen(), "iceberg.tables.default-commit-branch": "b"}
    assert registry_of(made.value_converter).addresses == (RegistryAddress("http://r:8081"),)
    assert foreign_changes(resolve(file).frozen(), file, KeyClass.LIVE) == []
    assert "passw0rd" not in str(made.frozen()) + repr(made)


def test_a_retry_has_the_connection_of_today(connector: Make) -> None:
    file = connector(AVRO, NONE)
    again = resolve(restore_config(resolve(file).frozen(), file), host="moved")
    assert registry_of(again.value_converter).addresses == (RegistryAddress("http://moved:8081"),)


def test_an_option_of_the_file_counts_over_the_connection(connector: Make) -> None:
    own = {URL: "http://own", USER_INFO: "me:my-password", "value.converter.basic.auth.credentials.source": "USER_INFO"}
    made = resolve(connector({**AVRO, **own}, NONE))
    registry = registry_of(made.value_converter)
    assert registry.addresses == (RegistryAddress("http://own"),)
    assert isinstance(registry.credentials, RegistryLogin)
    assert (registry.credentials.user, registry.credentials.password) == ("me", "my-password")
    assert made.frozen()[URL] == "http://own"
    assert registry_of(resolve(connector({**AVRO, URL: "http://own"}, NONE), login="", password="").value_converter)


@pytest.mark.parametrize(
    "over",
    [
        {URL: "http://evil"},
        {"value.converter.schema.registry.schema.registry.url": "http://evil"},
        {URL: "http://r:8081,http://evil"},
        {URL: "https://r:8081"},
        {"value.converter.proxy.host": "evil", "value.converter.proxy.port": "3128"},
        {"value.converter.schema.registry.ssl.truststore.location": "/evil.pem"},
        {"value.converter.bearer.auth.issuer.endpoint.url": "https://evil"},
    ],
)
@pytest.mark.parametrize("fields", [{}, {"login": ""}, {"extra": {"bearer.auth.client.secret": "passw0rd"}}])
def test_login_of_the_connection_does_not_follow_the_file(
    connector: Make, over: dict[str, str], fields: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(connector({**AVRO, **over}, NONE), **fields)
    message = str(caught.value)
    assert "would send the login of the connection" in message and "passw0rd" not in message
    assert any(key in message for key in over)


def test_login_of_the_connection_does_not_follow_apicurio(connector: Make) -> None:
    keys = {"value.converter": "io.apicurio.registry.utils.converter.AvroConverter", KEY: "registry"}
    for over in ("apicurio.registry.url", "apicurio.rest.url", "apicurio.auth.service.token.endpoint"):
        with pytest.raises(ConfigError, match="would send the login"):
            resolve(connector({**keys, f"value.converter.{over}": "http://evil"}, NONE))


def test_address_that_the_file_repeats_is_the_connections(connector: Make) -> None:
    made = resolve(connector({**AVRO, URL: "http://r:8081/"}, NONE))
    assert isinstance(registry_of(made.value_converter).credentials, RegistryLogin)


def test_an_extra_that_is_no_option_is_named(connector: Make) -> None:
    extra = {"max.retries": 7, "bearer.auth.tokn": "t", "connect.meta.data": "false"}
    made, unused = with_registry(connector(AVRO, NONE), lambda name: look(name, extra=extra), {}.update)
    assert registry_of(made.value_converter).limits.retries == 7
    assert unused == ("bearer.auth.tokn", "connect.meta.data")
    assert made.value_converter.options.get("connect.meta.data") is None


def test_without_a_connection_nothing_is_looked_up(connector: Make) -> None:
    def never(_: str) -> RegistryConnection:
        raise AssertionError

    plain = connector({**AVRO, URL: "http://own", KEY: ""}, NONE)
    assert with_registry(plain, never, {}.update) == (plain, ())
    json = connector({KEY: "registry"})
    assert with_registry(json, never, {}.update) == (json, ())
    assert json.warnings == (f"{KEY} has no effect: no converter has a schema registry",)


@pytest.mark.parametrize(
    ("over", "fields", "problem"),
    [
        ({}, {"host": ""}, f"{URL} is not given"),
        ({}, {"conn_type": "postgres"}, "it is of type 'postgres': one to a registry is of type 'http'"),
        ({KEY: "floe_default"}, {}, "it contains floe's own key: no registry gets it"),
        ({}, {"extra": {"max.retries": "many"}}, "value.converter.max.retries"),
        (
            {"value.converter.basic.auth.credentials.source": "USER_INFO"},
            {"login": "", "password": ""},
            "USER_INFO: set",
        ),
    ],
)
def test_an_unsuitable_connection_is_refused(
    connector: Make, over: dict[str, object], fields: dict[str, object], problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(connector({**AVRO, **over}, NONE), **fields)
    message = str(caught.value)
    assert problem in message and "Nothing was done" in message and "passw0rd" not in message
    assert f"which {KEY} of connector 'pizzas' names" in message


def test_without_a_connection_an_address_is_needed(problems: Callable[..., tuple[str, ...]]) -> None:
    assert any(f"{URL} is not given" in one for one in problems({**AVRO, KEY: ""}, NONE))
