"""What the page asks for: all connectors, and one of them. Only those whose DAG the caller may read are there.

Two queries for the DAGs, one for what is kept of connectors, three for failed runs; neither Kafka nor a catalog is asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from airflow.api_fastapi.common.db.common import SessionDep
from fastapi import APIRouter, HTTPException, Response, status

from floe.api import access, summaries
from floe.api.access import Caller
from floe.api.airflow_health import airflow_health
from floe.api.dag_states import DagState, Replays, dag_states, failing_runs, last_runs, replays
from floe.api.records import kept_status
from floe.api.summaries import briefs, failures
from floe.config.names import REPLAY_SUFFIX
from floe.config.secrets.mask import clip

router = APIRouter(prefix="/view")

_SHOWN = 2000
"""Characters of an error."""


@router.get("/connectors")
def connectors(user: Caller, session: SessionDep) -> Response:
    """Answer a line for each connector, by name."""
    dags = _with_runs(session, user, dag_states(session))
    known, health = briefs(session, dags), airflow_health()
    lines = [summaries.line(dags[name], known.get(name), has_scheduler=health.has_scheduler) for name in sorted(dags)]
    return _json({"airflow": health.to_json(), "connectors": lines})


@router.get("/connectors/{name}")
def connector(name: str, user: Caller, session: SessionDep) -> Response:
    """Answer all that is kept of a connector; 404 for one that the caller may not read too."""
    dag = _with_runs(session, user, dag_states(session, name)).get(name)
    if dag is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "There is no such connector, or you may not read its DAG")
    kept, health = kept_status(session, [name]).get(name), airflow_health()
    rights = access.rights(user, name, session)
    found = summaries.whole(dag, kept, rights, has_scheduler=health.has_scheduler)
    known = _replays(session, user, name + REPLAY_SUFFIX)
    return _json({"airflow": health.to_json(), "replays": known and known.to_json(), **found})


def _with_runs(session: SessionDep, user: Caller, dags: dict[str, DagState]) -> dict[str, DagState]:
    """Return the DAGs that the user may read, with their last runs, and the first error of a run that failed.

    An error may quote records, as the tasks' logs do: those who may not read the logs do not get it.
    """
    allowed = access.readable(user, dags, session)
    runs = last_runs(session, allowed)
    failing = failing_runs(session, runs)
    errors = _errors(session, user, {name: one.run_id for name, one in failing.items()})
    return {
        name: replace(dags[name], run=runs.get(name), failing=failing.get(name), failure=errors.get(name))
        for name in allowed
    }


def _replays(session: SessionDep, user: Caller, dag_id: str) -> Replays | None:
    """Return the last replays of a connector; None where the user may not read their DAG."""
    found = replays(session, dag_id) if dag_id in access.readable(user, [dag_id], session) else None
    if found is None:
        return None
    failed = [one.run.run_id for one in found.runs if one.run.state == "failed"]
    errors = {run_id: _errors(session, user, {dag_id: run_id}).get(dag_id) for run_id in failed}
    return replace(found, runs=tuple(replace(one, failure=errors.get(one.run.run_id)) for one in found.runs))


def _errors(session: SessionDep, user: Caller, failed: Mapping[str, str]) -> dict[str, str | None]:
    """Return the first error of failed runs by DAG, of those whose logs the user may read."""
    shown = access.with_records(user, failed, session)
    return {
        name: next((clip(error, _SHOWN) for _, error in tasks if error), None)
        for name, tasks in failures(session, {name: failed[name] for name in shown}).items()
    }


def _json(content: dict[str, Any]) -> Response:
    """Write an answer in ASCII: a text that is half of a character cannot be encoded otherwise."""
    text = json.dumps({"at": datetime.now(UTC).isoformat(), **content}, separators=(",", ":"))
    return Response(text, media_type="application/json")
