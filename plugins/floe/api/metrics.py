"""Metrics of connectors as Prometheus reads them, for those whose DAG the caller may read."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
