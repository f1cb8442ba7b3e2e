"""Alerts of late tables: one by callback and by a failed task, none while the DAG is paused, none that is not noted."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from floe.config import Connector, parse_connector
from floe.config.sections.dag import ON_FAILURE, VARIABLE
from floe.operators.exceptions import TablesLate
from floe.operators.status.late_tables import LateTables
from floe.status.connector_status import Backlog
from floe.status.freshness import Freshness
from floe.status.record import StatusRecord
from tests.support.connectors import MINIMAL
from tests.support.job.python_classes import Modules
from tests.support.status.records import MINUTE, NOW, commit, status, table

TABLE = table("rpc.pizzas", commit(1))
LATE = StatusRecord(status(NOW, 5, TABLE, table("rpc.dead"), name="pizzas"), lag_seconds=900.0)
KEYS = {
    **MINIMAL,
    "floe.freshness.max-ms": 600_000,
    "errors.tolerance": "all",
    "floe.deadletter.table": "rpc.dead",
}


@dataclass
class Dags:
    """What Airflow says of DAGs: whether they are paused."""

    paused: bool = False

    def get_dag(self, name: str) -> Any:
        assert name == "pizzas"
        return self

    @property
    def is_paused(self) -> bool:
        return self.paused


@dataclass
class Minutes:
    """Runs of ``floe.status``, one after the other, each with the record that the one before kept."""

    connector: Connector | None
    dags: Dags = field(default_factory=Dags)
    kept: StatusRecord | None = None

    def run(self, found: StatusRecord, *, is_kept: bool = True) -> str | None:
        """Return the error that fails a run which finds this record."""
        late = LateTables({"ti": self.dags, "run_id": "r1"})  # type: ignore[arg-type, typeddict-unknown-key]
        record = late.follow(found, found, self.kept, self.connector)
        if is_kept:
            self.kept = record
        else:
            late.not_kept("pizzas")
        try:
            late.alert()
        except TablesLate as error:
            return str(error)
        return None


@pytest.fixture
def minutes() -> Minutes:
    return Minutes(parse_connector(KEYS))


def test_late_table_fails_one_run_and_says_what_and_why(minutes: Minutes) -> None:
    text = (
        "pizzas: late by floe.freshness.max-ms (600,000 ms): rpc.pizzas. All records are there up to "
        "2026-01-02T02:49:05+00:00 only. 5 records are unread: look whether the connector's runs fail, take too long or do "
        "not start"
    )
    assert [minutes.run(LATE), minutes.run(LATE), minutes.run(LATE)] == [text, None, None]
    assert minutes.kept is not None and minutes.kept.freshness is not None and minutes.kept.freshness.late_count == 1


def test_recovery_is_in_the_log_once(minutes: Minutes, caplog: pytest.LogCaptureFixture) -> None:
    minutes.run(LATE)
    with caplog.at_level(logging.INFO):
        assert [minutes.run(replace(LATE, lag_seconds=60.0)) for _ in range(3)] == [None] * 3
    assert caplog.messages == ["pizzas: no longer late: rpc.pizzas"]


def test_paused_connector_is_late_and_alerts_when_resumed(minutes: Minutes) -> None:
    minutes.dags.paused = True
    assert [minutes.run(LATE), minutes.run(LATE)] == [None, None]
    assert minutes.kept is not None and minutes.kept.freshness is not None and minutes.kept.freshness.late_count == 1
    minutes.dags.paused = False
    assert "late by" in str(minutes.run(LATE))


def test_airflow_that_says_nothing_of_the_dag_hides_no_alert(minutes: Minutes) -> None:
    minutes.dags = None  # type: ignore[assignment]
    assert "late by" in str(minutes.run(LATE))


def test_alert_that_is_not_noted_is_not_given_yet(minutes: Minutes) -> None:
    assert minutes.run(LATE, is_kept=False) is None
    assert "late by" in str(minutes.run(LATE))


def test_table_behind_and_silent_brokers_are_named_as_causes(minutes: Minutes) -> None:
    minutes.run(StatusRecord(status(NOW - timedelta(hours=1), 0, TABLE, name="pizzas")))
    behind = replace(LATE.status, backlog=(Backlog("rpc.pizzas", "t", 0, 0, 5),), partitions=())
    other = replace(minutes)
    assert "The table is behind the others" in str(minutes.run(StatusRecord(behind)))
    away = replace(LATE.status, partitions=None, problems=("no broker",))
    assert "Where it is now is not known: no broker" in str(other.run(StatusRecord(away)))


def test_broken_file_keeps_the_limit_it_had(minutes: Minutes) -> None:
    minutes.run(replace(LATE, lag_seconds=0.0))
    minutes.connector = None
    assert "late by" in str(
        minutes.run(replace(LATE, status=replace(LATE.status, at=NOW + 11 * MINUTE), lag_seconds=660.0))
    )


def test_connector_without_the_key_has_no_freshness(minutes: Minutes) -> None:
    minutes.run(LATE)
    minutes.connector = parse_connector(MINIMAL)
    assert minutes.run(LATE) is None
    assert minutes.kept is not None and minutes.kept.freshness is None
    assert Minutes(None).run(LATE) is None


def test_callback_is_called_with_the_reason_and_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Modules(tmp_path, monkeypatch).write(
        "late_alerts",
        "calls = []\n\n\ndef page(context):\n    calls.append(context)\n    raise OSError('no network')\n",
    )
    monkeypatch.setenv(VARIABLE, "late_alerts")
    minutes = Minutes(parse_connector({**KEYS, ON_FAILURE: "python:late_alerts.page"}))
    text = minutes.run(LATE)
    import late_alerts  # type: ignore[import-not-found]

    ((context,)) = late_alerts.calls
    assert (context["run_id"], context["reason"], str(context["exception"])) == ("r1", text, text)
    assert (
        f"{ON_FAILURE} 'python:late_alerts.page' failed, this task's own failure is the alert: OSError: no network"
        in (caplog.text)
    )


def test_freshness_of_the_record_is_stored(minutes: Minutes) -> None:
    minutes.run(LATE)
    assert minutes.kept is not None
    assert isinstance(StatusRecord.from_json(minutes.kept.to_json()).freshness, Freshness)
