"""The params of a DAG: in the DAG alone, checked in each run all the same, and defaults that their own rules allow."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import DAG, Param
from airflow.sdk.definitions.param import process_params
from airflow.sdk.exceptions import ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization

from floe.config import parse_connector
from floe.operators.dags.forms import replay_form, sink_form
from floe.operators.dags.replay_dag import replay_dag
from floe.operators.dags.sink_dag import sink_dag
from tests.support.connectors import MINIMAL

CONNECTOR = parse_connector(MINIMAL)
SEVERAL = parse_connector({**MINIMAL, "topics": "orders,payments"})
DYNAMIC = parse_connector(
    {name: value for name, value in MINIMAL.items() if name != "iceberg.tables"}
    | {"iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "table"}
)
DAGS = pytest.mark.parametrize(
    ("dag", "form"),
    [(sink_dag(CONNECTOR), sink_form(CONNECTOR)), (replay_dag(CONNECTOR), replay_form(CONNECTOR))],
    ids=["sink", "replay"],
)


@DAGS
def test_params_are_the_dags_and_in_no_task(dag: DAG, form: dict[str, Param]) -> None:
    assert list(dag.params) == list(form)
    assert not any(task.params for task in dag.tasks)
    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert list(stored.params) == list(form)
    assert not any(task.params for task in stored.tasks)


@DAGS
def test_a_run_has_what_it_was_triggered_with_and_the_defaults(dag: DAG, form: dict[str, Param]) -> None:
    for task in dag.tasks:
        found = process_params(dag, task, {"max_records": 7, "dry_run": True}, suppress_exception=False)  # type: ignore[arg-type]
        assert found == {name: param.value for name, param in form.items()} | {"max_records": 7, "dry_run": True}


@DAGS
def test_a_value_that_a_rule_refuses_fails_each_task(dag: DAG, form: dict[str, Param]) -> None:
    for task in dag.tasks:
        with pytest.raises(ParamValidationError, match="max_records"):
            process_params(dag, task, {"max_records": 0}, suppress_exception=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "form", [make(one) for one in (CONNECTOR, SEVERAL, DYNAMIC) for make in (sink_form, replay_form)]
)
def test_defaults_are_allowed_by_their_own_rules(form: dict[str, Param]) -> None:
    """Airflow checks it in the constructor of a scheduled DAG, which is not given the params."""
    without: list[Any] = []
    for name, param in form.items():
        if param.value is None or param.has_value:
            assert param.resolve() == param.value
        else:
            without.append(name)
    assert without in ([], ["topic"])
