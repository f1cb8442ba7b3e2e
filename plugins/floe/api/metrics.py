"""Metrics of connectors as Prometheus reads them, for those whose DAG the caller may read."""

from __future__ import annotations

from airflow.api_fastapi.common.db.common import SessionDep
from fastapi import APIRouter, Response

from floe.api import permissions
from floe.api.dag_states import dag_states
from floe.api.identity import Caller
from floe.api.records import kept_status

router = APIRouter()

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
