"""Replays driven by plain Python: the same plan, write and commit that the replay DAG's tasks call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyiceberg.types import StringType

from floe.catalogs.client import CatalogClient
from floe.config import restore_config
from floe.control.topic_reader import control_ends
from floe.kafka.admin import Cluster
from floe.model.plan import Plan
from floe.planning.replay_plan import Replay, draft_replay, open_replay
from tests.support.runs.pipeline import Pipeline


def bounded(params: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for everything where a request does not say what to read; an append takes that by time only."""
    if any(params.get(name) for name in ("ranges", "from_time", "to_time", "dead_letters", "all")):
        return dict(params)
    more = {"from_time": "1970-01-01T00:00:00Z"} if params.get("overlap") == "append" else {"all": True}
    return {**params, **more}


def drafted(one: Pipeline, **params: Any) -> Replay:
    return draft_replay(one.connector, one.settings, bounded(params))


def opened(one: Pipeline, **params: Any) -> tuple[Plan, Pipeline]:
    """Plan and open a replay, through JSON as the task state store keeps it; the connector is the plan's."""
    plan = Plan.from_json(json.loads(json.dumps(drafted(one, **params).plan.to_json())))
    effective = Pipeline(one.bootstrap, one.topic, restore_config(plan.config, one.connector))
    if plan.slices:
        open_replay(plan, effective.connector, effective.settings, effective.key(plan))
    return plan, effective


def replay(one: Pipeline, **params: Any) -> Plan:
    """Plan, write, commit."""
    plan, effective = opened(one, **params)
    if plan.slices:
        effective.write(plan)
        effective.commit(plan)
    return plan


def drop(one: Pipeline, table: str = "db.t") -> None:
    CatalogClient.of(one.connector).catalog.drop_table(table)


def fix_table(one: Pipeline, table: str = "db.t") -> None:
    """Give the table an ``amount`` of text, which takes what was refused."""
    with one.table(table).update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("amount")
    with one.table(table).update_schema() as update:
        update.add_column("amount", StringType())


def trace(one: Pipeline) -> tuple[Any, ...]:
    """Everything that a refused or dry replay must leave as it was."""
    cluster = Cluster.of_control(one.settings)
    topic = one.connector.control_topic
    ends = control_ends(cluster, topic) if cluster.topics([topic]) else {}
    tables = [CatalogClient.of(one.connector).load(t) for t in one.connector.tables]
    return ends, one.position(), [t.metadata if t else None for t in tables]
