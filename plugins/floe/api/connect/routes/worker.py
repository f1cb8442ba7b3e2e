"""Routes about the worker as a whole. Airflow is its worker."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

import floe
from floe.api.airflow_health import airflow_health
from floe.api.connect.http import ConnectError, answer

CONNECT_VERSION = "4.3.1"
"""The version of Kafka Connect whose API this is."""

router = APIRouter()


@router.get("/")
def root() -> Response:
    """Name the version of the API, and of floe in the place of a commit. No request asks the brokers for their id."""
    return answer({"version": CONNECT_VERSION, "commit": f"floe-{floe.__version__}", "kafka_cluster_id": ""})


@router.get("/health")
def health() -> Response:
    """Say how Airflow is, which is the worker: the parts that are not alive are named.

    As of a worker: 503 while it never had a scheduler, 500 where no connector can run, or none be made, any more.
    """
    known = airflow_health()
    texts = "; ".join(known.texts)
    scheduler, processor = known.dead_part("scheduler"), known.dead_part("dag_processor")
    if scheduler is not None and scheduler.heartbeat is None:
        return answer({"status": "starting", "message": f"Worker is still starting up: {texts}."}, 503)
    if scheduler is not None or processor is not None or not known.has_database:
        return answer({"status": "unhealthy", "message": f"Worker may be unable to handle requests: {texts}."}, 500)
    also = f" {texts}." if texts else ""
    message = f"Worker has completed startup and is ready to handle requests.{also}"
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
