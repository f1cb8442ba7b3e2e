"""Metrics of connectors as Prometheus reads them, of those whose DAG the caller may read."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.api_fastapi.common.db.common import SessionDep
from fastapi import APIRouter, Response

from floe.api import access
from floe.api.access import Caller
from floe.api.dag_states import dag_states
from floe.api.summaries import briefs
from floe.status.metrics import CONTENT_TYPE, metrics

router = APIRouter()


@router.get("/metrics")
def metrics_text(user: Caller, session: SessionDep) -> Response:
    """Answer the metrics; connectors without a readable record have none."""
    names = access.readable(user, dag_states(session), session)
    records = [one.measured for one in briefs(session, names).values() if one.measured is not None]
    return Response(metrics(records, datetime.now(UTC)), media_type=CONTENT_TYPE)
