"""A replay from Python: plan, write and commit in this process, on a Spark session of the caller."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from floe.config import Connector, restore_config
from floe.config.secrets.deployment_key import VARIABLE
from floe.model.plan_seal import DeploymentKey
from floe.operators import task_context
from floe.operators.connections import kafka_settings, resolved
from floe.operators.failures import keep_secret
from floe.operators.spark import code_archive

if TYPE_CHECKING:
    from floe.commit.run_commit import CommitReport
    from floe.planning.replay_plan import Replay


@dataclass(frozen=True)
class ReplayResult:
    """``plan``: what was to be read and written. ``report``: what was committed, None where nothing was to be written."""

    plan: Replay
    report: CommitReport | None


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for archives where there is no cache: it stays as long as this process, as a session may need it."""
    return tempfile.TemporaryDirectory(prefix="floe-")


def replay(connector: Connector, spark: Any, *, kafka: Mapping[str, str] | None = None, **params: Any) -> ReplayResult:
    """Read again what a connector has read, as its replay DAG does, and return what was committed.

    ``spark``: a ``SparkSession``, classic or of Spark Connect; it stays open. ``kafka``: settings of the clients, such as
    ``bootstrap.servers``; without them, those of the worker file and of the Airflow connection that the connector names.
    ``params``: those of the replay's trigger form: ``ranges={"0": [100, 200]}``, ``topic``, ``overlap="replace"``,
    ``dry_run=True``, and so on; without ranges, times, ``dead_letters`` or ``all`` nothing is written, as on a dry run.

    Each call is a replay of its own, which no plan outlives: after an error or a kill, call it again. What tables contain by
    then is skipped or replaced; ``overlap="append"`` would append it once more. Raises PlanRefused, TableRefused,
    ConfigError, and the errors of Kafka, catalog and Spark.
    """
    from floe.commit.run_commit import Committer
    from floe.kafka.settings import KafkaSettings
    from floe.planning.code_check import check_code
    from floe.planning.replay_plan import draft_replay, open_replay

    connector = resolved(connector)
    if kafka is None:
        settings = kafka_settings(connector)
    else:
        settings = KafkaSettings.of(connector, kafka)
        keep_secret({**connector.properties, **settings.secrets})
    connector = task_context.with_topics(connector, settings)
    drafted = draft_replay(connector, settings, params)
    plan = drafted.plan
    if drafted.is_dry or not plan.slices:
        return ReplayResult(drafted, None)
    connector = restore_config(plan.config, connector)
    text = os.environ.get(VARIABLE)
    key = None if not text else DeploymentKey.of(text, f"the environment variable {VARIABLE}").plan_key(plan.plan_id)
    open_replay(plan, connector, settings, key)
    job = code_archive.write_job()
    code_archive.send(spark, code_archive.archive(Path(_folder().name), check_code(plan, connector)))
    written = job.write_files(spark, job.JobRequest(plan, connector, settings, key))
    return ReplayResult(drafted, Committer.open(plan, connector, settings, key).commit(written))
