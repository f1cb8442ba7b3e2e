"""A listener that has the scheduler import what floe's tasks need, so that the processes forked for them have it already.

With the LocalExecutor each task runs in a fork of a process that the scheduler forks at its start; otherwise each of a
run's three tasks imports for most of a second. Elsewhere, and where a library is missing, nothing happens.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module

from airflow.listeners import hookimpl

log = logging.getLogger(__name__)

VARIABLE = "FLOE_PRELOAD"
"""Set to ``false``, tasks import for themselves."""

MODULES = (
    "floe.operators.dags.connector_dags",
    "floe.operators.dags.sink_dag",
    "floe.operators.dags.replay_dag",
    "floe.planning.live_plan",
    "floe.commit.run_commit",
    "floe.operators.status.collector",
    "floe.status.dead_letters",
    "floe.status.reports",
    "floe.status.record_reader",
    "floe.status.reports",
    "floe.status.record_codec",
    "floe.operators.spark.connect_session",
    "pyspark.sql.connect.session",
    "airflow.providers.apache.spark.hooks.spark_connect",
    "airflow.sdk.execution_time.supervisor",
)
"""What they import opens no connection, and the threads that it starts (of numpy and of jemalloc) are ready for forks."""

JOB_MODULES = (
    "floe_job.application.write_files",
    "floe_job.driver.slice_job",
    "floe_job.runtime.spark_jobs",
    "floe_job.runtime.spark_jobs",
    "floe_job.runtime.spark_jobs",
    "floe_job.runtime.time_limit",
    "floe_job.convert.json.decoder",
    "floe_job.convert.keys",
)
"""What the driver of a Connect job needs, which runs in the task's process."""


@hookimpl
def on_starting(component: object) -> None:
    """Import, where the scheduler starts; a task's own start is none."""
    if type(component).__name__ != "Job" or sys.argv[1:2] != ["scheduler"]:
        return
    if os.environ.get(VARIABLE, "true").lower() != "false":
        preload()


def preload() -> None:
    """Import all that can be imported; what fails here is reported by the task that needs it."""
    began = time.monotonic()
    for name in MODULES:
        _try(name, partial(import_module, name))
    _try("the catalogs", _import_catalogs)
    _try("the Spark job", _import_job)
    _try("the handlers of assets", _import_asset_handlers)
    gc.collect()  # else each task does, in the middle of its work, and copies the pages of all of this
    log.info("imported what floe's tasks need in %.1f s, for all of them", time.monotonic() - began)


def _import_catalogs() -> None:
    from floe.catalogs.providers.catalog_providers import provider_named
    from floe.config.catalogs.catalog_types import TYPES

    for kind in TYPES.own:
        for name in provider_named(kind).modules:
            _try(name, partial(import_module, name))


def _import_job() -> None:
    for name in JOB_MODULES:
        import_module(name)


def _import_asset_handlers() -> None:
    """Make an asset: for the first one, Airflow imports what each provider has for its kind, with the provider's models."""
    from airflow.sdk import Asset

    from floe.config.names import table_uri

    Asset(table_uri("catalog", "db.table"))


def _try(name: str, load: Callable[[], object]) -> None:
    try:
        load()
    except Exception as error:  # noqa: BLE001 - no library may keep the scheduler from starting
        log.info("%s is not imported ahead: %s", name, error)
