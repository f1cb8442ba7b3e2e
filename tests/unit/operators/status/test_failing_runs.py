"""Connectors whose runs fail, as ``floe.status`` finds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from floe.operators.status import failing_runs as module
from floe.operators.status.failing_runs import failing

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@dataclass
class Run:
    """A run of Airflow's."""

    run_id: str
    logical_date: datetime
    end_date: datetime | None
    state: str = "success"
    conf: dict[str, Any] | None = field(default_factory=dict)


class Airflow:
    """The side of Airflow that tasks ask for the run before a date."""

    def __init__(self, *runs: Run) -> None:
        self.runs = sorted(runs, key=lambda run: run.logical_date, reverse=True)

    def send(self, asked: Any) -> Any:
        found = (run for run in self.runs if run.logical_date < asked.logical_date and run.state == asked.state)
        return SimpleNamespace(dag_run=next(found, None))


class Left:
    """A task instance that pulls what failed tasks left."""

    def __init__(self, left: Any) -> None:
        self.left = left

    def xcom_pull(self, **_: Any) -> Any:
        return self.left


def said(monkeypatch: pytest.MonkeyPatch, left: Any = None, **ago: int | None) -> dict[str, str]:
    """Return what is found of connector a; minutes since its last runs, by state."""

    def last(_: str, state: str) -> Run | None:
        minutes = ago.get(state)
        at = NOW - timedelta(minutes=minutes or 0)
        return None if minutes is None else Run(f"{state}-1", at, at)

    monkeypatch.setattr(module, "_last_run", last)
    return failing({"ti": Left(left)}, ["a"])  # type: ignore[typeddict-item]


def test_run_that_failed_after_the_last_good_one_is_told_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    found = said(monkeypatch, [None, "write: 2 records cannot become rows", "commit"], failed=3, success=9)
    assert found == {
        "a": "runs fail, the last good run ended at 2026-05-01T11:51:00+00:00; the last one failed at "
        "2026-05-01T11:57:00+00:00: write: 2 records cannot become rows"
    }


@pytest.mark.parametrize("ago", [{}, {"success": 3}, {"failed": 9, "success": 3}])
def test_connector_whose_last_run_is_good_is_not_told(
    monkeypatch: pytest.MonkeyPatch, ago: dict[str, int | None]
) -> None:
    assert said(monkeypatch, **ago) == {}


@pytest.mark.parametrize("left", [None, [], [None, None, None], 7, [{"x": 1}]])
def test_run_that_left_no_error_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch, left: Any) -> None:
    (text,) = said(monkeypatch, left, failed=3).values()
    assert "no run has succeeded yet" in text and text.endswith("see the log of its run failed-1")


def test_airflow_that_does_not_answer_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: str) -> None:
        msg = "no API server"
        raise RuntimeError(msg)

    monkeypatch.setattr(module, "_last_run", broken)
    assert failing({}, ["a", "b"]) == {}  # type: ignore[typeddict-item]
    assert caplog.text.count("Airflow does not say how the runs of a, and of those behind it, are: ") == 1
    assert "RuntimeError: no API server" in caplog.text


def test_error_that_cannot_be_read_hides_no_other_connector(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Unreadable:
        def xcom_pull(self, **given: Any) -> Any:
            if given["dag_id"] == "a":
                msg = "a class of another release"
                raise ImportError(msg)
            return ["write: bad"]

    monkeypatch.setattr(module, "_last_run", lambda _, state: Run("r", NOW, NOW) if state == "failed" else None)
    found = failing({"ti": Unreadable()}, ["a", "b"])  # type: ignore[typeddict-item]
    assert found["a"].endswith("see the log of its run r") and found["b"].endswith("write: bad")
    assert "The error of run r of a cannot be read: ImportError: a class of another release" in caplog.text


@pytest.mark.parametrize("looks", [1, 3])
@pytest.mark.parametrize("conf", [{"dry_run": True}, {"diagnose": True, "config": {}}])
def test_run_that_only_looked_is_no_good_run_and_no_failed_one(
    monkeypatch: pytest.MonkeyPatch, conf: dict[str, Any], looks: int
) -> None:
    def run(name: str, minutes: int, state: str, asked: dict[str, Any] | None = None) -> Run:
        at = NOW - timedelta(minutes=minutes)
        return Run(name, at, at, state, asked)

    def found(*runs: Run) -> dict[str, str]:
        monkeypatch.setattr("airflow.sdk.execution_time.task_runner.SUPERVISOR_COMMS", Airflow(*runs), raising=False)
        return failing({"ti": Left(None)}, ["a"])  # type: ignore[typeddict-item]

    good, bad = run("good", 90, "success"), run("bad", 60, "failed", {"dry_run": False})
    looked = [run(f"look-{i}", i, "success", conf) for i in range(1, looks + 1)]
    assert found(good, bad, *looked)["a"].endswith("see the log of its run bad")
    assert (
        found(
            good,
            bad,
            run("later", 50, "success"),
            *(run(one.run_id, i, "failed", conf) for i, one in enumerate(looked)),
        )
        == {}
    )
