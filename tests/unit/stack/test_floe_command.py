"""floe's command line has the connections of the local Airflow while it runs, else what this process has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from stack import floe_command
from stack.floe_command import environment


def local(*, running: bool) -> SimpleNamespace:
    given = {"AIRFLOW_CONN_KAFKA_DEFAULT": "{}"}
    airflow = SimpleNamespace(running=running, environment=lambda: given)
    return SimpleNamespace(airflow=airflow, connectors=Path("dags/connectors"))


def test_environment_is_that_of_the_local_airflow_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARK", "1")
    monkeypatch.delenv("FLOE_CONNECTORS_DIR", raising=False)
    found = environment(local(running=True))  # type: ignore[arg-type]
    assert found == {"AIRFLOW_CONN_KAFKA_DEFAULT": "{}", "FLOE_CONNECTORS_DIR": "dags/connectors"}
    monkeypatch.setenv("FLOE_CONNECTORS_DIR", "mine")
    alone = environment(local(running=False))  # type: ignore[arg-type]
    assert (alone["MARK"], alone["FLOE_CONNECTORS_DIR"]) == ("1", "mine")


def test_command_becomes_floes_with_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(floe_command.os, "execve", lambda _, arguments, env: asked.append(arguments))
    floe_command.main(["doctor", "pizzas"])
    assert asked[0][1:] == ["-m", "floe", "doctor", "pizzas"]
