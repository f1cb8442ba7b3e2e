"""What connectors take from a worker file: per role all or nothing; what the plan contains stays as it was planned."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe.config import ConfigError, Connector, override, read_connector, restore_config
from floe.config.__main__ import main
from floe.config.check import rows_of
from floe.config.connector_files import read_file
from floe.config.worker_file import VARIABLE
from tests.support.connectors import JSON

CLASS, SCHEMAS = "value.converter", "value.converter.schemas.enable"
NO_CLASS = {"name": "pizzas", "topics": "t", "iceberg.tables": "db.t", "iceberg.catalog.type": "sql"}


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Write the worker file."""
    path = tmp_path / "worker.properties"
    monkeypatch.setenv(VARIABLE, str(path))
    changes = iter(range(1, 100))

    def make(**keys: str) -> None:
        path.write_text("".join(f"{key} = {value}\n" for key, value in keys.items()))
        os.utime(path, (at := next(changes), at))

    return make


@pytest.fixture
def load(write: Callable[..., Path]) -> Callable[..., Connector]:
    def make(**over: object) -> Connector:
        return read_connector(write("x.json", {**NO_CLASS, **over}))

    return make


def test_a_connector_without_class_takes_the_workers(worker: Any, load: Any):
    worker(**JSON, **{"rest.port": "8083"})
    connector = load()
    assert dict(connector.properties) == {**NO_CLASS, **JSON}
    assert connector.warnings == ()


def test_a_connector_with_class_takes_none_of_the_role(worker: Any, load: Any):
    worker(**{CLASS: "my.Own", "value.converter.x": "1"})
    assert dict(load(**JSON).properties) == {**NO_CLASS, **JSON}


def test_options_without_class_have_no_effect(worker: Any, load: Any):
    worker(**JSON)
    connector = load(**{SCHEMAS: "true"})
    assert connector.properties[SCHEMAS] == "false"
    (warning,) = connector.warnings
    assert warning.startswith(f"{SCHEMAS} has no effect: the connector names no {CLASS}") and VARIABLE in warning


def test_no_class_anywhere_names_both_places(worker: Any, load: Any, monkeypatch: pytest.MonkeyPatch):
    worker(**{"rest.port": "8083"})
    with pytest.raises(ConfigError, match=rf"neither by the connector nor by the worker file .*\({VARIABLE}\)"):
        load()
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ConfigError, match=rf"nor by a worker file \({VARIABLE} is not set\)"):
        load()


def test_problems_of_the_workers_keys_name_its_file(worker: Any, load: Any):
    worker(**{CLASS: "my.Own"})
    with pytest.raises(ConfigError, match=rf"my.Own.*\(value.converter is from the worker file .*\({VARIABLE}\)"):
        load()


def test_a_changed_worker_file_counts_at_the_next_parse(worker: Any, load: Any):
    worker(**{CLASS: "my.Own"})
    with pytest.raises(ConfigError):
        load()
    worker(**JSON)
    assert load().properties[SCHEMAS] == "false"


def test_a_broken_worker_file_breaks_connectors_and_keeps_names(worker: Any, write: Any):
    worker(**{"a": "\\u1"})
    file = read_file(write("x.json", {**NO_CLASS, **JSON, "iceberg.control.commit.interval-ms": 7000}))
    assert file.connector is None and (file.name, file.interval_ms) == ("pizzas", 7000)
    assert "line 1" in str(file.error)


def test_a_plan_keeps_what_was_decided(worker: Any, load: Any):
    worker(**JSON)
    frozen = load().frozen()
    worker(**{CLASS: "my.Own"})
    current = load(**JSON)
    assert restore_config(frozen, current).properties == {**NO_CLASS, **JSON}


def test_a_plan_from_before_the_worker_file_is_the_same(worker: Any, load: Any):
    worker()
    frozen = load(**JSON).frozen()
    worker(**{"key.converter": "my.Own", "header.converter": "my.Own"})
    assert restore_config(frozen, load(**JSON)).properties == {**NO_CLASS, **JSON}


def test_secrets_of_the_worker_are_references_in_a_plan(worker: Any, load: Any):
    worker(**JSON, **{"value.converter.basic.auth.user.info": "me:first-secret"})
    frozen = load().frozen()
    assert frozen["value.converter.basic.auth.user.info"] == "${floe:value.converter.basic.auth.user.info}"
    worker(**JSON, **{"value.converter.basic.auth.user.info": "me:next-secret"})
    restored = restore_config(frozen, load())
    assert restored.properties["value.converter.basic.auth.user.info"] == "me:next-secret"


def test_an_override_keeps_the_workers_keys(worker: Any, load: Any):
    worker(**JSON)
    assert override(load(), {"tasks.max": 3}).properties == {**NO_CLASS, **JSON, "tasks.max": "3"}


def test_the_report_says_what_is_the_workers(worker: Any, write: Any, capsys: pytest.CaptureFixture[str]):
    worker(**JSON, **{"rest.port": "8083", "plugin.path": "/x"})
    path = write("x.json", {**NO_CLASS, SCHEMAS: "true"})
    file = read_file(path)
    assert file.connector is not None
    sources = {row.key: row.source for row in rows_of(file.connector, file.given)}
    assert (sources["topics"], sources[CLASS], sources[SCHEMAS]) == ("file", "worker", "worker")
    assert main(["check", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"  connectors: {CLASS}, {SCHEMAS}"
    assert lines[4].startswith("  2 other keys of the worker itself")


RESET, OWN_RESET = "consumer.auto.offset.reset", "consumer.override.auto.offset.reset"


def test_connectors_start_where_the_workers_consumers_do(worker: Any, load: Any):
    worker(**JSON, **{RESET: "latest"})
    assert load().offset_reset == "latest"
    assert load(**{OWN_RESET: "earliest"}).offset_reset == "earliest"


def test_wrong_start_of_the_worker_names_its_file(worker: Any, load: Any):
    worker(**JSON, **{RESET: "none"})
    with pytest.raises(ConfigError, match=rf"set earliest or latest \(.* is from the worker file .*\({VARIABLE}\)"):
        load()


def test_check_says_whose_the_client_settings_are(worker: Any, write: Any, capsys: pytest.CaptureFixture[str]):
    secret = "w0rker-passw0rd"
    worker(
        **JSON,
        **{
            "bootstrap.servers": "a:1",
            "consumer.fetch.min.bytes": "7",
            "consumer.max.poll.records": "7",
            "sasl.jaas.config": f"x.Krb5LoginModule required password={secret};",
            "rest.port": "8083",
        },
    )
    assert main(["check", str(write("x.json", NO_CLASS))]) == 0
    out = capsys.readouterr().out
    assert "  clients of the control topic: bootstrap.servers, sasl.jaas.config\n" in out
    assert "  clients of topics: bootstrap.servers, sasl.jaas.config, consumer.fetch.min.bytes\n" in out
    assert "  consumer.max.poll.records has no effect: ranges are read to their end\n" in out
    assert "  WARNING sasl.jaas.config is not usable: " in out and "Kerberos is not in the client" in out
    assert "  1 other key of the worker itself" in out and secret not in out
