"""How a connector is stored: references in the place of secrets, which a new configuration keeps by sending them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from floe.config import ConfigError
from floe.config.providers.allow_list import AllowList
from floe.config.providers.base import ProviderContext, ValueMissing
from floe.config.stored.operator_lists import secret_reference
from floe.config.stored.stored_connector import (
    NAME,
    SECRETS,
    StoredConnector,
    groups_of,
    parsed,
    shown_config,
    stored_file,
    with_stored_secrets,
)
from tests.support.rest.floe_worker import CONFIG

ENVIRONMENT = {"FLOE_REST_CONNECTORS": "true", "FLOE_REST_HOSTS": "catalog.example:8181"}
TOKEN = "iceberg.catalog.token"
REFERENCE = secret_reference("one", TOKEN)
SECRET = "token-of-the-lake"


def stored(**more: str) -> StoredConnector:
    return StoredConnector.of("one", {**CONFIG, TOKEN: SECRET, **more}, None, is_paused=False)


def test_text_has_references_and_no_secret() -> None:
    assert stored().config[TOKEN] == REFERENCE
    assert SECRET not in stored().to_text()
    assert SECRET not in repr(stored())


def test_reference_keeps_the_secret_and_a_value_replaces_it() -> None:
    kept = StoredConnector.of("one", {**CONFIG, TOKEN: REFERENCE}, stored(), is_paused=False)
    assert kept.values[TOKEN] == SECRET
    changed = StoredConnector.of("one", {**CONFIG, TOKEN: "another-token"}, stored(), is_paused=False)
    assert changed.values[TOKEN] == "another-token"


@pytest.mark.parametrize("before", [None, StoredConnector("one", CONFIG)])
def test_reference_without_a_secret_is_refused(before: StoredConnector | None) -> None:
    with pytest.raises(ConfigError, match="not stored: send the value"):
        StoredConnector.of("one", {**CONFIG, TOKEN: REFERENCE}, before, is_paused=False)


@pytest.mark.parametrize(
    "change",
    [
        {"iceberg.catalog.uri": "http://catalog.example:8182"},
        {"iceberg.catalog.uri": None},
        {"iceberg.catalog": "lake"},
        {"iceberg.catalog.oauth2-server-uri": "http://catalog.example:8181/token"},
        {"iceberg.catalog.rest.client.proxy.hostname": "catalog.example"},
        {"floe.catalog.conn-id": "lake"},
        {"iceberg.catalog.type": "nessie"},
        {"iceberg.catalog.adls.account-name": "evil"},
        {"iceberg.catalog.warehouse": "abfss://c@evil.dfs.core.windows.net/x"},
        {"iceberg.catalog.s3.endpoint": "http://catalog.example:8181"},
        {"floe.kafka.conn-id": "other"},
    ],
)
def test_reference_does_not_take_a_secret_to_another_address(change: dict[str, str | None]) -> None:
    given = {**CONFIG, TOKEN: REFERENCE, **change}
    given = {key: value for key, value in given.items() if value is not None}
    with pytest.raises(ConfigError, match="send the value again") as caught:
        StoredConnector.of("one", given, stored(), is_paused=False)
    assert TOKEN in str(caught.value) and next(iter(change)) in str(caught.value)
    again = StoredConnector.of("one", {**given, TOKEN: "sent-again"}, stored(), is_paused=False)
    assert again.values[TOKEN] == "sent-again"


@pytest.mark.parametrize(
    "change",
    [
        {"consumer.override.sasl.oauthbearer.token.endpoint.url": "https://evil"},
        {"consumer.override.security.protocol": "SASL_PLAINTEXT"},
        {"consumer.override.sasl.mechanism": "PLAIN"},
        {"consumer.override.ssl.endpoint.identification.algorithm": ""},
        {"consumer.override.sasl.jaas.config": "PlainLoginModule required username=u password=another;"},
        {"floe.kafka.conn-id": "other"},
    ],
)
def test_reference_does_not_take_a_login_of_kafka_elsewhere(change: dict[str, str]) -> None:
    key = "consumer.override.sasl.oauthbearer.client.secret"
    before = stored(**{key: "secret-of-kafka"})
    with pytest.raises(ConfigError, match="send the value again"):
        StoredConnector.of("one", {**CONFIG, key: secret_reference("one", key), **change}, before, is_paused=False)


@pytest.mark.parametrize(
    "change",
    [
        {"topics": "others", "iceberg.tables": "db.others"},
        {"iceberg.catalog.warehouse": "other"},
        {"iceberg.catalog.uri": CONFIG["iceberg.catalog.uri"] + "/"},
        {"iceberg.kafka.bootstrap.servers": "b:9092"},
        {"iceberg.catalog.s3.region": "r"},
        {"iceberg.tables.default-commit-branch": "b"},
    ],
)
def test_reference_keeps_the_secret_where_nothing_moves(change: dict[str, str]) -> None:
    again = StoredConnector.of("one", {**CONFIG, TOKEN: REFERENCE, **change}, stored(), is_paused=False)
    assert again.values[TOKEN] == SECRET


def test_blank_is_no_secret() -> None:
    one = StoredConnector.of("one", {**CONFIG, TOKEN: " "}, stored(), is_paused=False)
    assert (one.config[TOKEN], one.secrets) == (" ", {})


def test_secret_that_shapes_the_dag_is_masked_and_kept() -> None:
    key = "transforms.t.secret"
    one = stored(**{key: "value-of-it"})
    assert (one.config[key], shown_config("one", one.config)[key]) == ("value-of-it", secret_reference("one", key))
    again = StoredConnector.of("one", shown_config("one", one.config), one, is_paused=False)
    assert again.values == one.values


def test_what_is_stored_is_read_again() -> None:
    read = StoredConnector.from_text("one", stored().to_text())
    assert (read.config, read.secrets) == (stored().config, {})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"name": "one"}', '{"config": 1}', '{"config": {"a": {}}}', '{"config": {"a": null}}']
)
def test_variable_that_was_edited_is_a_broken_connector(text: str) -> None:
    file = stored_file("one", text, ENVIRONMENT, set())
    assert (file.name, file.connector, file.interval_ms) == ("one", None, 300_000)
    assert "one of the REST API" in str(file.error)


def test_broken_connector_keeps_its_interval() -> None:
    text = json.dumps({"config": {"iceberg.control.commit.interval-ms": "60000"}})
    assert stored_file("one", text, ENVIRONMENT, set()).interval_ms == 60_000


def test_group_of_a_file_is_not_taken() -> None:
    connector = parsed(stored(), ENVIRONMENT, set())
    file = stored_file("one", stored().to_text(), ENVIRONMENT, set())
    with pytest.raises(ConfigError, match="is that of a connector file"):
        parsed(stored(), ENVIRONMENT, groups_of([file]))
    with pytest.raises(ConfigError, match="has the group 'connect-one'"):
        parsed(stored(**{"iceberg.connect.group-id": "connect-two"}), ENVIRONMENT, set())
    assert connector.group_id == "connect-one"


def test_values_are_not_looked_up_where_the_lists_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {**ENVIRONMENT, "FLOE_CONFIG_PROVIDERS": "env", "HIDDEN": "never shown"}
    with pytest.raises(ConfigError) as refused:
        parsed(stored(topics="${env:HIDDEN}"), environment, set())
    assert "never shown" not in str(refused.value)


def test_long_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="one made by REST may have 200"):
        parsed(StoredConnector("a" * 201, CONFIG), ENVIRONMENT, set())


def secret_of(path: str, key: str, values: object, connector: str = "one") -> str:
    def lookup(name: str, _: str) -> str | None:
        return json.dumps(values) if name == SECRETS + "one" else None

    context = ProviderContext({**ENVIRONMENT}, variable=lookup)
    return with_stored_secrets(AllowList(), connector).make(NAME, context).get(path, key)


def test_task_gets_its_own_secret() -> None:
    assert secret_of("one", TOKEN, {TOKEN: SECRET}) == SECRET


@pytest.mark.parametrize(
    ("path", "key", "values", "connector"),
    [
        ("one", TOKEN, {TOKEN: SECRET}, "two"),
        ("one", "other", {TOKEN: SECRET}, "one"),
        ("one", TOKEN, [1], "one"),
        ("one", TOKEN, {TOKEN: ""}, "one"),  # a client without a login would take the workers'
        ("one", TOKEN, {TOKEN: " "}, "one"),
        ("one", "iceberg.catalog.x", {"iceberg.catalog.x": "http://evil.example"}, "one"),
    ],
)
def test_other_secret_is_not_given(path: str, key: str, values: object, connector: str) -> None:
    with pytest.raises(ValueMissing):
        secret_of(path, key, values, connector)


def test_time_of_making_is_kept_and_read_again() -> None:
    made = datetime(2026, 1, 2, 3, tzinfo=UTC)
    one = StoredConnector.of("one", CONFIG, StoredConnector("one", {}, made=made), is_paused=False)
    assert StoredConnector.from_text("one", one.to_text()) == one
    assert one.made == made


@pytest.mark.parametrize("floe", [None, [], {"made": 5}, {"made": "soon"}, {"made": "2026-01-02T03:00:00"}])
def test_variable_without_a_time_is_read(floe: object) -> None:
    text = json.dumps({"name": "one", "config": CONFIG, "floe": floe})
    assert StoredConnector.from_text("one", text).made is None


@pytest.mark.parametrize("name", [" ", "one ", "one\n"])
def test_name_with_a_blank_at_its_end_is_broken(name: str) -> None:
    file = stored_file(name, StoredConnector("one", CONFIG).to_text(), ENVIRONMENT, set())
    assert file.error is not None
    assert "is no legal dag_id" in str(file.error)
