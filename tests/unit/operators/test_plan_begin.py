"""Which runs read nothing, because their connector is to be paused, stopped or deleted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Variable
from airflow.sdk.api.datamodels._generated import DagRunType
from airflow.sdk.exceptions import DownstreamTasksSkipped

from floe.config.stored.stored_connector import STATE
from floe.operators.plan import refuse_to_begin


def context(run_type: str) -> Any:
    return {"dag": SimpleNamespace(dag_id="orders"), "dag_run": SimpleNamespace(run_type=DagRunType(run_type))}


def keep(monkeypatch: pytest.MonkeyPatch, mark: str | None) -> None:
    monkeypatch.setattr(Variable, "get", lambda key, default: {STATE + "orders": mark}.get(key, default))


@pytest.mark.parametrize("run_type", ["scheduled", "manual", "asset_triggered"])
@pytest.mark.parametrize("mark", [None, "", "STOPPED", "wanted RUNNING", "stopped"])
def test_run_of_a_connector_that_runs_begins(monkeypatch: pytest.MonkeyPatch, run_type: str, mark: str | None) -> None:
    keep(monkeypatch, mark)
    refuse_to_begin(context(run_type))


@pytest.mark.parametrize("mark", ["wanted PAUSED", "wanted STOPPED", "wanted DELETED"])
def test_scheduled_run_of_a_connector_that_is_not_to_run_is_skipped(
    monkeypatch: pytest.MonkeyPatch, mark: str, caplog: pytest.LogCaptureFixture
) -> None:
    keep(monkeypatch, mark)
    with caplog.at_level("INFO"), pytest.raises(DownstreamTasksSkipped):
        refuse_to_begin(context("scheduled"))
    assert mark.removeprefix("wanted ") in caplog.text


def test_run_that_a_user_triggered_goes_on_but_for_a_deleted_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(monkeypatch, "wanted STOPPED")
    refuse_to_begin(context("manual"))
    keep(monkeypatch, "wanted DELETED")
    with pytest.raises(DownstreamTasksSkipped):
        refuse_to_begin(context("manual"))
