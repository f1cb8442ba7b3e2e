"""`floe.dag.on-…-callback`: which modules connectors may name, and what is known of them without running them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from floe.config import ConfigError, parse_connector
from floe.config.connector_files import read_file
from floe.config.exceptions import OverrideRefused
from floe.config.overrides.frozen_config import restore_config
from floe.config.overrides.run_overrides import override
from floe.config.sections.dag import ON_FAILURE, ON_SUCCESS, VARIABLE, CallbackPath
from floe.config.stored.operator_lists import OperatorLists
from floe.config.stored.stored_connector import StoredConnector, parsed
from tests.support.connectors import MINIMAL
from tests.support.job.python_classes import Modules

NAMED = {**MINIMAL, ON_FAILURE: "python:own_alerts.page"}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Modules:
    """A module that ends the process that runs it, which the operator allows."""
    folder = tmp_path / "path"
    folder.mkdir()
    made = Modules(folder, monkeypatch)
    made.write("own_alerts", "import os\nos._exit(7)\n")
    monkeypatch.setenv(VARIABLE, "own_alerts")
    return made


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as found:
        parse_connector({**MINIMAL, ON_FAILURE: text})
    return str(found.value)


def test_callback_is_read_and_its_module_not_run(modules: Modules) -> None:
    dag = parse_connector({**NAMED, ON_SUCCESS: "python:own_alerts.praise"}).dag
    assert dag.on_failure == CallbackPath(ON_FAILURE, "own_alerts", "page")
    assert dag.on_success == CallbackPath(ON_SUCCESS, "own_alerts", "praise")
    assert "own_alerts" not in sys.modules
    assert parse_connector(MINIMAL).dag.on_failure is None


@pytest.mark.parametrize("listed", ["", "other", "own_alerts.*.x", "*"])
def test_callback_of_other_modules_is_refused(modules: Modules, monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    monkeypatch.setenv(VARIABLE, listed)
    text = problem("python:own_alerts.page")
    assert f"{ON_FAILURE} 'python:own_alerts.page': the module 'own_alerts' is not allowed here" in text
    assert f"{VARIABLE} lists {listed or 'none'}" in text
    assert f"the operator lists it in the environment of Airflow, such as {VARIABLE}=my_module" in text


def test_list_of_transforms_allows_no_callback(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    modules.allow("own_alerts")
    assert "is not allowed here" in problem("python:own_alerts.page")


@pytest.mark.parametrize(
    "text", ["own_alerts.page", "python:page", "python:own_alerts.", "python:a b.c", "python:a.b()"]
)
def test_callback_that_is_no_path_is_refused(modules: Modules, text: str) -> None:
    assert f"{ON_FAILURE} {text!r} is no path of a callable: write python:package.module.attribute" in problem(text)


def test_module_of_floe_is_no_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "floe.*")
    assert "in a package of floe's own" in problem("python:floe.operators.status.store.save")


def test_module_that_is_not_there_is_a_problem_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "no_such_alerts")
    assert "no module 'no_such_alerts' is on the path of this Python: install it" in problem("python:no_such_alerts.x")


def test_file_is_read_again_when_its_module_comes(
    modules: Modules, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, "late_alerts")
    file = tmp_path / "one.json"
    keys = ", ".join(f'"{key}": "{value}"' for key, value in {**MINIMAL, ON_FAILURE: "python:late_alerts.x"}.items())
    file.write_text(f"{{{keys}}}")
    assert read_file(file).connector is None
    modules.write("late_alerts", "")
    assert read_file(file).connector is not None


def test_run_names_no_callback_and_needs_no_module(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    made = parse_connector(NAMED)
    monkeypatch.setenv("FLOE_OVERRIDABLE_KEYS", "floe.*")
    with pytest.raises(OverrideRefused, match="shapes the DAG"):
        override(made, {ON_FAILURE: "python:own_alerts.other"})
    monkeypatch.delenv(VARIABLE)  # as in a Spark driver
    assert restore_config(made.frozen(), made).dag.on_failure == made.dag.on_failure


def test_connector_made_by_rest_names_allowed_modules_only(modules: Modules) -> None:
    lists = {"FLOE_REST_CONNECTORS": "true", "FLOE_REST_CONNECTIONS": "*", VARIABLE: "own_alerts"}
    assert OperatorLists.of(lists).problem("one", ON_FAILURE, "python:own_alerts.page") is None
    assert OperatorLists.of(lists).problem("one", "transforms.t.type", "python:own_alerts.page") is not None
    config = {key: str(value) for key, value in MINIMAL.items()}
    stored = StoredConnector("one", {**config, ON_FAILURE: "python:os.system"})
    with pytest.raises(ConfigError, match=f"the module 'os' is not allowed here, {VARIABLE} lists own_alerts"):
        parsed(stored, lists, ())
