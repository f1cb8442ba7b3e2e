"""What a connector says of its DAGs, as Airflow gets it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, AssetAll, CronTriggerTimetable
from airflow.sdk.definitions.asset import AssetUriRef
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction

from floe.config import parse_connector
from floe.config.connector_files import read_file
from floe.config.exceptions import ConfigError
from floe.config.sections.dag import PRESETS
from floe.operators.dags.broken_dag import broken_sink_dag
from floe.operators.dags.replay_dag import replay_dag
from floe.operators.dags.schedule import StaggeredInterval, shown_schedule
from floe.operators.dags.sink_dag import COMMIT_RETRIES, sink_dag
from tests.support.connectors import MINIMAL

SECOND = timedelta(seconds=1)


def dags(**keys: Any) -> tuple[DAG, DAG]:
    one = parse_connector({**MINIMAL, **keys})
    return sink_dag(one), replay_dag(one)


def scheduled(text: str, timezone: str | None = None) -> DAG:
    return dags(**{"floe.schedule": text, **({"floe.schedule.timezone": timezone} if timezone else {})})[0]


# -- floe.dag.* --------------------------------------------------------------------------------------------------------


def test_both_dags_run_as_the_connector_says() -> None:
    sink, replay = dags(
        **{
            "floe.dag.owner": "data",
            "floe.dag.tags": "gold",
            "floe.dag.pool": "kafka",
            "floe.dag.queue": "big",
            "floe.dag.priority-weight": 7,
            "floe.dag.retries": 1,
            "floe.dag.retry-delay": 500,
            "floe.dag.task-timeout": 60_000,
            "floe.dag.access-control.Bakers": "can_read,can_trigger",
        }
    )
    for dag in (sink, replay):
        assert {"floe", "gold"} < set(dag.tags)
        assert DagSerialization.from_dict(DagSerialization.to_dict(dag)).access_control == {
            "Bakers": {"DAGs": {"can_read"}, "DAG Runs": {"can_create"}}
        }
        for task in dag.tasks:
            assert (task.owner, task.pool, task.queue, task.priority_weight) == ("data", "kafka", "big", 7)
            assert task.execution_timeout == 60 * SECOND
            assert task.retries == (COMMIT_RETRIES if task.task_id == "commit" else 1)
            assert task.retry_delay == SECOND / 2


def test_limits_of_runs_are_the_connectors() -> None:
    sink, replay = dags(
        **{"floe.dag.run-timeout": 90_000, "floe.dag.max-active-replays": 9, "floe.dag.is-paused": True}
    )
    assert (sink.dagrun_timeout, sink.max_active_runs, sink.is_paused_upon_creation) == (90 * SECOND, 1, True)
    assert (replay.dagrun_timeout, replay.max_active_runs, replay.is_paused_upon_creation) == (None, 9, False)


def test_dags_without_keys_have_floes_defaults() -> None:
    sink, replay = dags()
    assert (sink.dagrun_timeout, sink.is_paused_upon_creation, sink.access_control) == (None, None, None)
    assert replay.max_active_runs == 4
    task = sink.get_task("plan")
    assert (task.owner, task.pool, task.retries, task.retry_delay) == ("floe", "default_pool", 2, 10 * SECOND)
    assert sink.get_task("write").execution_timeout is None


def test_commits_go_before_writes_and_plans_of_other_runs() -> None:
    for dag in dags():
        stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
        weights = {task.task_id: task.weight_rule.get_weight(SimpleNamespace(task=task)) for task in stored.tasks}
        assert weights["plan"] < weights["write"] < weights["commit"]


def test_more_retries_than_the_commits_own_are_the_commits_too() -> None:
    sink, _ = dags(**{"floe.dag.retries": 9})
    assert [task.retries for task in sink.tasks] == [9, 9, 9]


# -- floe.schedule -----------------------------------------------------------------------------------------------------


def test_cron_expression_is_a_timetable_in_its_time_zone() -> None:
    timetable = scheduled("30 6 * * 1-5", "Europe/Berlin").timetable
    assert timetable == CronTriggerTimetable("30 6 * * 1-5", timezone="Europe/Berlin")


def test_manual_schedule_leaves_triggers_only() -> None:
    assert scheduled("manual").schedule is None


def test_assets_trigger_runs_by_the_name_that_floe_gives_them() -> None:
    condition = scheduled("iceberg://demo/rpc/a/, s3://b/x").timetable.asset_condition  # type: ignore[attr-defined]
    assert isinstance(condition, AssetAll)
    assert list(condition.objects) == [Asset("iceberg://demo/rpc/a"), AssetUriRef("s3://b/x")]


@pytest.mark.parametrize(
    "text",
    [
        *PRESETS,
        "30 6 * * 1-5",
        "0 0 L * *",
        "0 0 * * 5#3",
        "0 0 15W * *",
        "0 0 ? * MON-WED",
        "iceberg://a/b/c",
        "s3://x",
    ],
)
def test_dag_of_every_kind_of_schedule_can_be_stored(text: str) -> None:
    stored = DagSerialization.to_dict(scheduled(text))
    assert DagSerialization.from_dict(stored).timetable.summary


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ({}, "every 5 minutes"),
        ({"iceberg.control.commit.interval-ms": 60_000}, "every minute"),
        ({"iceberg.control.commit.interval-ms": 90_000}, "every 90 seconds"),
        ({"iceberg.control.commit.interval-ms": 1000}, "every second"),
        ({"iceberg.control.commit.interval-ms": 1500}, "every 1.5 seconds"),
        ({"floe.schedule": "@daily"}, "by the schedule @daily (UTC)"),
        ({"floe.schedule": "manual"}, "when it is triggered"),
        ({"floe.schedule": "s3://a,s3://b"}, "after s3://a and s3://b were updated"),
    ],
)
def test_schedule_is_said_for_people(keys: dict[str, Any], shown: str) -> None:
    one = parse_connector({**MINIMAL, **keys})
    assert shown_schedule(one.schedule, one.committing.interval_ms) == shown


def test_broken_connector_keeps_its_schedule(tmp_path: Any) -> None:
    path = tmp_path / "pizzas.json"
    path.write_text('{"name": "pizzas", "floe.schedule": "0 6 * * *", "floe.schedule.timezone": "Asia/Tokyo"}')
    dag = broken_sink_dag(read_file(path))
    assert dag.timetable == CronTriggerTimetable("0 6 * * *", timezone="Asia/Tokyo")
    path.write_text('{"name": "pizzas", "floe.schedule": "never"}')
    assert broken_sink_dag(read_file(path)).schedule == StaggeredInterval(timedelta(minutes=5), "pizzas")


def test_schedule_may_come_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CONFIG_PROVIDERS", "env")
    monkeypatch.setitem(os.environ, "PIZZA_TIME", "@hourly")
    from floe.config.providers.allow_list import OperatorSettings

    operator = OperatorSettings.present()
    one = parse_connector({**MINIMAL, "floe.schedule": "${env:PIZZA_TIME}"}, operator=operator)
    assert one.schedule.cron == "@hourly"
    with pytest.raises(ConfigError, match=r"floe\.dag\.owner"):
        parse_connector({**MINIMAL, "floe.dag.owner": "${file:/etc/x:y}"}, operator=operator)


# -- a run that takes longer than the interval -------------------------------------------------------------------------


def test_run_after_a_long_one_begins_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow computes the next run when one begins: its time has passed when a long one ends, so it begins then."""
    timetable = DagSerialization.from_dict(DagSerialization.to_dict(dags()[0])).timetable
    start = datetime(2026, 5, 1, tzinfo=UTC)
    restriction = TimeRestriction(earliest=start - timedelta(days=700), latest=None, catchup=False)

    def following(last: datetime, now: datetime) -> DagRunInfo:
        monkeypatch.setattr("airflow.timetables.trigger.utcnow", lambda: now)
        found = timetable.next_dagrun_info(
            last_automated_data_interval=DataInterval.exact(last),  # type: ignore[arg-type]
            restriction=restriction,
        )
        assert found is not None
        return found

    due = following(last=start, now=start).run_after
    assert timedelta(minutes=4) < due - start <= timedelta(minutes=5), "at the connector's own second of the minute"
    assert following(last=due, now=due).run_after == due + timedelta(minutes=5)
    ended = start + timedelta(hours=2)
    assert due < ended, "the scheduler begins it as soon as no run is active"
    assert following(last=due, now=ended).run_after - ended <= timedelta(minutes=5), "and none of the missed ones"
