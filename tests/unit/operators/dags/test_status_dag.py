"""The DAG ``floe.status``."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from floe.config import ConfigError, ConnectorFile, parse_connector
from floe.config.names import STATUS_DAG, connector_name_problem, legal_name
from floe.operators.dags.broken_dag import broken_replay_dag, broken_sink_dag
from floe.operators.dags.replay_dag import replay_dag
from floe.operators.dags.sink_dag import sink_dag
from floe.operators.status.collector import SECONDS, status_dag
from tests.support.connectors import MINIMAL


def test_status_dag_runs_every_minute_by_itself(tmp_path: Path) -> None:
    dag = status_dag(tmp_path)
    assert (dag.dag_id, dag.schedule, dag.catchup, dag.max_active_runs) == (
        "floe.status",
        timedelta(minutes=1),
        False,
        1,
    )
    assert dag.is_paused_upon_creation is False and dag.tags == {"floe"}
    (task,) = dag.tasks
    assert task.execution_timeout is not None and task.execution_timeout > 2 * timedelta(seconds=SECONDS)
    assert task.retries == 0


def test_no_connector_has_the_name_of_the_status_dag() -> None:
    assert "the one of floe's own DAG" in str(connector_name_problem(STATUS_DAG))
    assert connector_name_problem(legal_name(STATUS_DAG)) is None


def test_no_dag_of_floe_takes_a_backfill(tmp_path: Path) -> None:
    connector = parse_connector(MINIMAL)
    file = ConnectorFile(tmp_path / "broken.json", "broken", None, ConfigError("nothing in it"))
    dags = (
        status_dag(tmp_path),
        sink_dag(connector),
        replay_dag(connector),
        broken_sink_dag(file),
        broken_replay_dag(file, "broken.replay"),
    )
    for dag in dags:
        assert dag.allowed_run_types is not None and "backfill" not in dag.allowed_run_types
        assert {"manual", "scheduled"} <= dag.allowed_run_types
