"""Airflow's real API server on a database with what a test says; run as a process, see :mod:`tests.support.api.server`.

    python -m tests.support.api.serve <seed.json> <port>

``orders`` and ``orders.replay`` are real DAGs, so that runs can be triggered; others are in the database only.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from floe.config.names import REPLAY_SUFFIX
from stack.services.airflow import PASSWORDS
from tests.support.api import fab
from tests.support.api.site import PARTS, add_task

BUNDLE = "dags-folder"


def main(seed: Path, port: int) -> None:
    """Make the database if there is none, and serve."""
    os.environ["_AIRFLOW_PROCESS_CONTEXT"] = "server"
    from airflow.utils.session import create_session

    with create_session() as session:
        _create(session, json.loads(seed.read_text()))
    import uvicorn
    from airflow.api_fastapi.app import cached_app

    uvicorn.run(cached_app(apps="core"), host="127.0.0.1", port=port, log_level="warning", access_log=False)


def _create(session: Any, connectors: list[dict[str, Any]]) -> None:
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
    from airflow.jobs.job import Job
    from airflow.utils.db import initdb

    initdb(session=session)
    session.commit()
    manager = DagBundlesManager()
    manager.sync_bundles_to_db(session=session)
    session.commit()
    if fab.is_in_use():
        fab.add_users(session, json.loads((Path(os.environ["AIRFLOW_HOME"]) / PASSWORDS).read_text()))
    if os.environ.get("FLOE_CONNECTORS_DIR"):
        (bundle,) = manager.get_all_dag_bundles()
        bundle.initialize()
        bag = BundleDagBag(bundle.path, bundle_path=bundle.path, bundle_name=bundle.name)
        sync_bag_to_db(bag, bundle.name, bundle_version=None, session=session)
        session.commit()
    for fields in connectors:
        _connector(session, fields)
    for part in PARTS:  # there is no scheduler here
        job = Job(job_type=part, state="running")
        session.add(job)
        job.latest_heartbeat = datetime.now(UTC) + timedelta(days=1)


def _connector(session: Any, fields: dict[str, Any]) -> None:
    from airflow.models.dag import DagModel, DagTag
    from airflow.models.dagrun import DagRun
    from airflow.models.variable import Variable
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    name = fields["name"]
    dag = session.get(DagModel, name)
    if dag is None:
        tags = [DagTag(name=tag, dag_id=name) for tag in ("floe", "broken" if fields.get("broken") else "sink")]
        dag = DagModel(dag_id=name, bundle_name=BUNDLE, fileloc="/dags/sink.py", relative_fileloc="sink.py", tags=tags)
        dag.max_active_tasks, dag.max_consecutive_failed_dag_runs, dag.has_task_concurrency_limits = 16, 0, False
        session.add(dag)
    dag.description = fields.get("description", dag.description)
    dag.is_paused, dag.is_stale = fields.get("paused", False), False
    now = datetime.fromisoformat(fields["now"])
    dag.next_dagrun_create_after = now + timedelta(seconds=375)
    session.flush()
    runs: list[dict[str, Any]] = fields.get("runs", [])
    for index, state in enumerate(runs):
        at = now - timedelta(minutes=3 * (len(runs) - index))
        run = DagRun(
            dag_id=name,
            run_id=f"scheduled__{at.isoformat()}",
            logical_date=at,
            run_after=at,
            start_date=at,
            run_type=DagRunType.SCHEDULED,
            triggered_by=DagRunTriggeredByType.TIMETABLE,
            state=state,
        )
        run.end_date = at + timedelta(seconds=41) if state in ("success", "failed") else None
        session.add(run)
    for index, (state, conf, error) in enumerate(fields.get("replays", [])):
        at = now - timedelta(minutes=7 * (index + 1))
        _replay(session, name + REPLAY_SUFFIX, at, state, conf, error)
    if fields.get("key"):
        session.add(Variable(key=fields["key"], val=fields["value"]))
    session.flush()


def _replay(session: Any, dag_id: str, at: datetime, state: str, conf: dict[str, Any], error: str | None) -> None:
    """Add a run of a replay DAG; ``error``: what its plan task left."""
    from airflow.models.dagrun import DagRun
    from airflow.models.xcom import XComModel
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    run = DagRun(
        dag_id=dag_id,
        run_id=f"manual__{at.isoformat()}",
        logical_date=None,
        run_after=at,
        start_date=None if state == "queued" else at,
        run_type=DagRunType.MANUAL,
        triggered_by=DagRunTriggeredByType.UI,
        state=state,
        conf=conf,
    )
    run.end_date = at + timedelta(seconds=52) if state in ("success", "failed") else None
    session.add(run)
    session.flush()
    if error is not None:
        add_task(session, run, "plan", "failed")
        XComModel.set("failure", error, dag_id=dag_id, task_id="plan", run_id=run.run_id, session=session)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
