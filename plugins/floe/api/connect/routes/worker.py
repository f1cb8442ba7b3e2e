"""Routes about the worker as a whole. Airflow is its worker."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

import floe
from floe.api.connect.answers import ConnectError, answer

CONNECT_VERSION = "4.3.1"
"""The version of Kafka Connect whose API this is."""

router = APIRouter()


@router.get("/")
def root() -> Response:
    """Name the version of the API, and of floe in the place of a commit. No request asks the brokers for their id."""
    return answer({"version": CONNECT_VERSION, "commit": f"floe-{floe.__version__}", "kafka_cluster_id": ""})


@router.get("/health")
def health() -> Response:
    """Say that the API answers; the health of Airflow's parts is at ``/api/v2/monitor/health``."""
    message = "Worker has completed startup and is ready to handle requests."
    return answer({"status": "healthy", "message": message})


@router.api_route("/admin/loggers", methods=["GET"])
@router.api_route("/admin/loggers/{logger}", methods=["GET", "PUT"])
def loggers(logger: str = "") -> Any:
    """Refuse: levels of logs are settings of Airflow's processes."""
    msg = (
        "This API does not change levels of loggers: they are settings of Airflow's processes ([logging] in airflow.cfg), "
        "and errors.log.enable of a connector."
    )
    raise ConnectError(404, msg)
