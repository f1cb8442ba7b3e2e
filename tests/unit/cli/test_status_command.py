"""The command ``status``: parts of Airflow's that are not alive are a problem of every connector."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from floe.cli import airflow_lookup
from floe.cli import status as module
from floe.cli.airflow_lookup import dead_parts

DEAD = {
    "metadatabase": {"status": "healthy"},
    "scheduler": {"status": "unhealthy", "latest_scheduler_heartbeat": "2026-05-01T12:00:00+00:00"},
    "dag_processor": {"status": "healthy", "latest_dag_processor_heartbeat": None},
    "triggerer": {"status": None, "latest_triggerer_heartbeat": None},
}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    """What the command is asked: a folder with one broken connector."""
    (tmp_path / "bad.json").write_text("{")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    monkeypatch.setattr("airflow.api.common.airflow_health.get_airflow_health", lambda: DEAD)
    return argparse.Namespace(
        connectors=[str(tmp_path)], folder=None, json=False, watch=None, commits=1, dead_letters=False
    )


def test_dead_scheduler_is_said_once_and_in_json_of_each(
    asked: argparse.Namespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert module.run(asked) == 1
    said = capsys.readouterr().out
    assert said.startswith(
        "problem: Airflow's scheduler is not alive: it sent its last heartbeat at 2026-05-01T12:00:00"
    )
    asked.json = True
    assert module.run(asked) == 1
    (one,) = json.loads(capsys.readouterr().out)
    assert one["problems"][0].startswith("Airflow's scheduler is not alive") and len(one["problems"]) > 1


def test_airflow_is_not_asked_where_none_is_configured(
    asked: argparse.Namespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AIRFLOW_HOME", "AIRFLOW_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert dead_parts() == ()


def test_airflow_that_cannot_be_asked_is_named(asked: argparse.Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        msg = "no such table: job"
        raise RuntimeError(msg)

    monkeypatch.setattr("airflow.api.common.airflow_health.get_airflow_health", broken)
    assert dead_parts() == ("whether Airflow's scheduler is alive was not looked up: RuntimeError: no such table: job",)
    monkeypatch.setattr(airflow_lookup.importlib.util, "find_spec", lambda _: None)
    assert dead_parts() == ()
