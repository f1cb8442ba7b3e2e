"""Callbacks that connectors name: on both DAGs, imported when they are called, and what is wrong with them then."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseNotifier
from airflow.serialization.serialized_objects import DagSerialization

from floe.config import ConfigError, parse_connector
from floe.config.sections.dag import ON_FAILURE, ON_SUCCESS, VARIABLE, CallbackPath
from floe.operators.callbacks import Callback
from floe.operators.dags.replay_dag import replay_dag
from floe.operators.dags.sink_dag import sink_dag
from tests.support.connectors import MINIMAL
from tests.support.job.python_classes import Modules

TEXT = """
from airflow.sdk import BaseNotifier

calls = []


def page(context):
    calls.append(context)


class Pager(BaseNotifier):
    template_fields = ("text",)

    def __init__(self, text):
        super().__init__()
        self.text = text

    def notify(self, context):
        calls.append(self.text)


notifier = Pager("run {{ run_id }}")
number = 7
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Modules:
    made = Modules(tmp_path, monkeypatch)
    made.write("alerts_of_test", TEXT)
    made.write("broken_alerts", "raise ImportError('no slack here')")
    monkeypatch.setenv(VARIABLE, "alerts_of_test,broken_alerts")
    monkeypatch.delitem(sys.modules, "alerts_of_test", raising=False)
    return made


def call(attribute: str, context: dict[str, Any], module: str = "alerts_of_test", key: str = ON_FAILURE) -> None:
    Callback(CallbackPath(key, module, attribute))(context)  # type: ignore[arg-type]


class Left:
    """A task instance whose run left errors, by task."""

    def __init__(self, **errors: str) -> None:
        self._errors = errors

    def xcom_pull(self, task_ids: str, key: str) -> str | None:
        assert key == "failure"
        return self._errors.get(task_ids)


def test_both_dags_have_the_callbacks_of_the_connector(modules: Modules) -> None:
    keys = {ON_FAILURE: "python:broken_alerts.page", ON_SUCCESS: "python:alerts_of_test.page"}
    one = parse_connector({**MINIMAL, **keys})
    for dag in (sink_dag(one), replay_dag(one)):
        stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
        assert (stored.has_on_failure_callback, stored.has_on_success_callback) == (True, True)
        assert isinstance(dag, DAG) and isinstance(dag.on_failure_callback, Callback)
    assert sink_dag(parse_connector(MINIMAL)).on_failure_callback is None


def test_function_and_notifier_are_called_with_the_context(modules: Modules) -> None:
    key, context = ON_SUCCESS, {"run_id": "r1"}
    call("page", context, key=key)
    call("notifier", {**context, "dag": None}, key=key)
    import alerts_of_test  # type: ignore[import-not-found]

    assert alerts_of_test.calls == [context, "run r1"]
    assert issubclass(alerts_of_test.Pager, BaseNotifier)


@pytest.mark.parametrize(
    ("ti", "error"),
    [
        (Left(write="no space", commit="not written"), "no space"),
        (Left(), None),  # as of a run that took too long
        (None, None),  # as of a run without tasks
    ],
)
def test_callback_of_a_failed_run_gets_its_first_error(modules: Modules, ti: Left | None, error: str | None) -> None:
    call("page", {"run_id": "r1", **({"ti": ti} if ti else {})})
    import alerts_of_test

    (context,) = alerts_of_test.calls[-1:]
    assert context.get("exception") is None if error is None else str(context["exception"]) == error


@pytest.mark.parametrize(
    ("module", "attribute", "why"),
    [
        ("broken_alerts", "page", "cannot be imported: ImportError: no slack here. Nothing was called"),
        ("alerts_of_test", "pag", "cannot be imported: AttributeError: module 'alerts_of_test' has no attribute 'pag'"),
        ("alerts_of_test", "number", "is of type int, which takes no context. Nothing was called"),
        ("alerts_of_test", "Pager", "is a class, which takes no context"),
    ],
)
def test_callback_that_cannot_be_used_says_why(modules: Modules, module: str, attribute: str, why: str) -> None:
    with pytest.raises(ConfigError) as found:
        call(attribute, {}, module)
    assert str(found.value).startswith(f"{ON_FAILURE} 'python:{module}.{attribute}' ")
    assert why in str(found.value)
