"""References in connectors: which are resolved when the file is parsed, which by tasks, and what a plan has of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe.config import ConfigError, Connector, OverrideRefused, override, read_connector, restore_config
from floe.config.keys.key_class import KeyClass
from floe.config.overrides.connection_options import resolve_config
from floe.config.overrides.run_overrides import foreign_changes, replace_keys
from floe.config.providers.allow_list import VARIABLE, OperatorSettings
from floe.config.providers.base import ProviderContext
from floe.config.providers.reference import Resolver
from floe.config.sections.topics import with_topics
from tests.support.connectors import MINIMAL

TOKEN, URI, WAREHOUSE = "iceberg.catalog.token", "iceberg.catalog.uri", "iceberg.catalog.warehouse"
LINGER = "iceberg.kafka.linger.ms"
REST = {**MINIMAL, "iceberg.catalog.type": "rest", URI: "https://${env:HOST}/x"}


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "token").write_text("first-token\n")
    return folder


@pytest.fixture
def load(write: Callable[..., Path], secrets: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Connector]:
    monkeypatch.setenv(VARIABLE, f"env,dir={secrets}")
    monkeypatch.setenv("HOST", "catalog.example")

    def make(over: dict[str, object] | None = None) -> Connector:
        return read_connector(write("x.json", {**REST, TOKEN: f"${{dir:{secrets}:token}}", **(over or {})}))

    return make


def resolve(connector: Connector, learned: dict[str, object] | None = None) -> Connector:
    import os

    operator = OperatorSettings.of(os.environ)
    return resolve_config(
        connector,
        Resolver(operator.providers, ProviderContext(os.environ)),
        ({} if learned is None else learned).update,
    )


def test_late_keys_keep_their_references_at_parse(load: Any, secrets: Path):
    connector = load()
    assert connector.properties[URI] == "https://${env:HOST}/x"
    assert connector.catalog.properties["token"] == f"${{dir:{secrets}:token}}"


def test_a_task_has_the_values(load: Any):
    learned: dict[str, object] = {}
    made = resolve(load(), learned)
    assert made.catalog.properties["uri"] == "https://catalog.example/x"
    assert made.catalog.properties["token"] == "first-token"
    assert learned == {"0.secret": "first-token", URI: "https://catalog.example/x", TOKEN: "first-token"}


def test_a_connector_without_references_is_the_same(connector: Any):
    made = connector()
    assert resolve(made) is made


def test_a_plan_has_references_and_no_value(load: Any):
    connector = load({WAREHOUSE: "${env:HOST}"})
    made = resolve(connector)
    assert made.frozen() == connector.frozen()
    assert made.frozen()[TOKEN] == f"${{floe:{TOKEN}}}" and made.frozen()[WAREHOUSE] == "${env:HOST}"
    assert "catalog.example" not in str(made.frozen())


def test_a_retry_has_the_rotated_secret(load: Any, secrets: Path):
    frozen = resolve(load()).frozen()
    (secrets / "token").write_text("next-token")
    assert resolve(restore_config(frozen, load())).catalog.properties["token"] == "next-token"


def test_a_plan_with_references_is_the_files(load: Any):
    connector = load()
    assert foreign_changes(resolve(connector).frozen(), connector, KeyClass.LIVE) == []


def test_keys_put_over_resolved_ones_keep_the_references(load: Any):
    made = replace_keys(resolve(load()), {"iceberg.tables.default-commit-branch": "b"})
    assert made.catalog.properties["token"] == "first-token"
    assert made.frozen()[URI] == "https://${env:HOST}/x"


def test_resolved_topics_keep_the_references(load: Any):
    made = with_topics(resolve(load({"topics": "", "topics.regex": "a.*"})), ("a1",))
    assert made.frozen()[URI] == "https://${env:HOST}/x" and made.frozen()["topics"] == "a1"


def test_a_resolved_connector_shows_no_secret(load: Any):
    made = resolve(load())
    assert "first-token" not in repr(made)
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301


def test_a_missing_value_names_key_provider_and_path(load: Any, secrets: Path):
    (secrets / "token").unlink()
    with pytest.raises(ConfigError) as caught:
        resolve(load())
    message = str(caught.value)
    assert f"{TOKEN}: ${{dir:{secrets}:token}}: {secrets}/token cannot be read: No such file" in message
    assert "Nothing was done" in message


def test_a_value_that_the_key_cannot_have_is_refused(load: Any, monkeypatch: pytest.MonkeyPatch):
    connector = load({LINGER: "${env:LINGER}"})
    monkeypatch.setenv("LINGER", "soon")
    with pytest.raises(ConfigError, match=f"{LINGER} 'soon': a number"):
        resolve(connector)


def test_a_value_with_a_reference_is_not_resolved_again(load: Any, secrets: Path):
    (secrets / "token").write_text("${env:HOST}")
    assert resolve(load()).catalog.properties["token"] == "${env:HOST}"


def test_keys_that_shape_the_dag_have_values_at_parse(load: Any, monkeypatch: pytest.MonkeyPatch):
    over = {"topics": "orders-${env:STAGE}", "iceberg.control.commit.interval-ms": "${env:INTERVAL}"}
    monkeypatch.setenv("STAGE", "dev")
    monkeypatch.setenv("INTERVAL", "7000")
    connector = load(over)
    assert connector.topics == ("orders-dev",) and connector.committing.interval_ms == 7000
    assert connector.frozen()["topics"] == "orders-dev"
    monkeypatch.setenv("STAGE", "live")
    assert load(over).topics == ("orders-live",)


def test_keys_that_shape_the_dag_have_no_other_provider(load: Any, secrets: Path):
    with pytest.raises(ConfigError, match=r"topics: \$\{dir:.*: .* only environment variables are read there"):
        load({"topics": f"${{dir:{secrets}:token}}"})


SHAPING = (
    *(
        "tasks.max",
        "topics",
        "topics.regex",
        "name",
        "floe.schedule",
        "floe.dag.owner",
        "floe.dag.tags",
        "floe.dag.pool",
    ),
    *("floe.dag.queue", "floe.dag.retries", "floe.max-records-per-run", "iceberg.tables", "iceberg.control.topic"),
    *("iceberg.catalog", "floe.kafka.conn-id", "iceberg.control.commit.interval-ms", "transforms", "errors.tolerance"),
    *("iceberg.tables.default-partition-by", "floe.dag.on-failure-callback", "connector.class", "value.converter"),
)


@pytest.mark.parametrize("key", SHAPING)
@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("PASSWORD", "canary-hunter22", "${env:PASSWORD}"),
        ("PASSWORD", "canary-hunter22", "a,${env:PASSWORD}"),
        ("DB_ACCESS_KEY_ID", "canary-AKIA", "${env:DB_ACCESS_KEY_ID}"),
        *((one, "canary-hunter22", f"${{env:{one}}}") for one in ("DB_PASS", "LAKE_CREDS", "MY_PW", "GIT_PAT", "AUTH")),
        ("PLAIN", "http://floe:canary-hunter22@host", "${env:PLAIN}"),
        ("PLAIN", "Bearer canary-token-1", "${env:PLAIN}"),
        ("PLAIN", "-----BEGIN PRIVATE KEY-----canary", "${env:PLAIN}"),
    ],
)
def test_secret_in_a_key_that_shapes_the_dag_is_refused_and_not_told(
    load: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    key: str,
    name: str,
    value: str,
    form: str,
):
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        load({key: form})
    message = str(caught.value)
    assert f"{key}: " in message and "a secret, and Airflow shows what this key means" in message
    assert "canary" not in message + repr(caught.value) + caplog.text


def test_secret_in_a_key_that_is_named_so_is_taken(load: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PASSWORD", "hunter22")
    mask = {"transforms": "m", "transforms.m.type": "org.apache.kafka.connect.transforms.MaskField$Value"}
    over = {**mask, "transforms.m.fields": "a", "transforms.m.password": "${env:PASSWORD}"}
    with pytest.raises(ConfigError) as caught:
        load(over)
    message = str(caught.value)
    assert "transforms.m.password" in message and "Airflow shows" not in message and "hunter22" not in message


def test_a_missing_variable_is_an_error_at_parse(load: Any):
    with pytest.raises(ConfigError, match="there is no environment variable 'NOT_SET'"):
        load({"topics": "${env:NOT_SET}"})


@pytest.mark.parametrize("key", ["topics", TOKEN])
def test_a_provider_that_is_not_allowed_says_what_to_set(load: Any, monkeypatch: pytest.MonkeyPatch, key: str):
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ConfigError, match=f"{VARIABLE}=env,file=/run/secrets"):
        load({key: "${env:HOST}"})


def test_a_reference_without_its_end_is_refused(load: Any):
    with pytest.raises(ConfigError, match="a reference is written"):
        load({TOKEN: "${env:HOST"})


def test_a_run_sets_no_references(load: Any):
    with pytest.raises(OverrideRefused, match="references to config providers do not go in params"):
        override(load(), {LINGER: "${env:HOST}"})


def test_a_run_keeps_the_references_of_the_file(load: Any):
    made = override(load(), {"tasks.max": 3})
    assert made.properties[URI] == "https://${env:HOST}/x" and resolve(made).reading.tasks == 3
