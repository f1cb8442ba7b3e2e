"""What the tasks of one run share: connections, the effective connector."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from floe.config import Connector, KeyClass, override
from floe.config.secrets.mask import clip
from floe.config.sections.topics import matching_topics
from floe.config.sections.topics import with_topics as resolve_topics
from floe.operators.exceptions import ConnectionMissing
from floe.operators.failures import keep_secret

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from floe.commit.run_commit import CommitReport
    from floe.kafka.settings import KafkaSettings
    from floe.model.plan import Plan
    from floe.status.connector_status import ConnectorStatus
    from floe.status.summary import LogLine


log = logging.getLogger(__name__)

BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)
"""Start date of all DAGs, any moment that is past: runs do not depend on their logical date."""

RUN_TYPES = ("scheduled", "manual", "operator_triggered", "asset_triggered", "asset_materialization")
"""Of all DAGs: all but Airflow's own backfill. A run looks at what is there now, whatever its date."""

PLAN_TASK = "plan"
WRITE_TASK = "write"
COMMIT_TASK = "commit"


def connection(conn_id: str, key: str, remedy: str = "") -> Connection:
    """Look up an Airflow connection. Raises ConnectionMissing with the command that makes it, and ``remedy``.

    Its secrets are hidden from here on, by floe and by Airflow.
    """
    from airflow.sdk import BaseHook
    from airflow.sdk.exceptions import AirflowNotFoundException, AirflowRuntimeError

    try:
        found = BaseHook.get_connection(conn_id)
    except (AirflowNotFoundException, AirflowRuntimeError) as error:
        msg = (
            f"the Airflow connection {conn_id!r}, which {key} names, does not exist: add it under Admin, Connections, or "
            f"by `airflow connections add {conn_id} …` (see docs/how-to/deploy.md){remedy}"
        )
        raise ConnectionMissing(msg) from error
    keep_secret({"password": found.password, "extra": found.extra})
    return found


def with_params(connector: Connector, params: Mapping[str, Any], allowed: KeyClass) -> Connector:
    """Apply the run's ``config`` parameter over the connector's keys, validated like the file.

    ``allowed``: the class of keys that runs of this DAG may set. Raises OverrideRefused for others.
    """
    changes = params.get("config") or {}
    if not changes:
        return connector
    made = override(connector, changes, allowed)
    names = (key if key.isprintable() else repr(key) for key in sorted(changes))
    log.info("this run overrides: %s", ", ".join(names))
    return made


def with_topics(connector: Connector, settings: KafkaSettings) -> Connector:
    """Return the connector with the topics that its expression matches now, where it has one in the place of names."""
    if connector.topics_regex is None:
        return connector
    from floe.kafka.admin import Cluster

    topics = matching_topics(connector, Cluster.of_source(settings).topic_names())
    log.info("%s matches %s", connector.topics_regex, ", ".join(topics))
    return resolve_topics(connector, topics)


# What the log of a run says besides the steps themselves: the lag, dead letters by reason, and sums.


T = TypeVar("T")


def say(lines: Iterable[LogLine]) -> None:
    """Log lines, each at its level."""
    for line in lines:
        log.log(line.level, "%s", line.text)


def look_up(connector: Connector, settings: KafkaSettings) -> ConnectorStatus | None:
    """Return the lag and the backlog of a connector now; None, with a warning, where that cannot be had."""
    from floe.status.kafka_state import KafkaState

    return tried("The lag", lambda: KafkaState.of(connector, settings).status(connector))


def reasons_of(connector: Connector, plan: Plan, report: CommitReport) -> Mapping[str, int]:
    """Count a run's dead letters by reason; none, with a warning, where they cannot be read."""
    from floe.catalogs.client import CatalogClient
    from floe.status.dead_letters import reasons_of as found

    is_needed = any(one.reasons for one in report.announcements) or any(
        committed.table_files.table == plan.dead_letters for committed in report.committed
    )
    if not is_needed:
        return {}
    return (
        tried("The reasons of dead letters", lambda: found(CatalogClient.of(connector), plan, report.announcements))
        or {}
    )


def tried(what: str, look: Callable[[], T], how: str = "looked up") -> T | None:
    """Return what a look-up finds. What it is for has happened already: no error of it may fail the task."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - whatever it is
        why = clip(" ".join(f"{type(error).__name__}: {error}".split()), 500)
        log.warning("%s could not be %s, which changes nothing else: %s", what, how, why)
        return None
