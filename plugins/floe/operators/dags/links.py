"""Links from a task in Airflow's UI to floe's page of its connector.

Airflow calls ``get_link`` in the process of the task, when it has ended, and keeps what it returns in XCom. The UI resolves
a relative address by Airflow's own, so it is right under any path.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import attrs
from airflow.sdk import BaseOperatorLink

from floe.config.names import REPLAY_SUFFIX

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

    from floe.model.plan import Plan

PAGE = "floe/page/"

MAX_PARTITIONS = 100
"""Partitions that a link names: one with more would be longer than browsers and proxies take."""


@attrs.define()
class ConnectorLink(BaseOperatorLink):
    """The page of the connector: its tables with their snapshots, its partitions, its part of the control topic."""

    name = "Snapshots and control topic"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of the page."""
        return connector_page(operator.dag_id)


@attrs.define()
class ReplayLink(BaseOperatorLink):
    """The replay form of that page, filled with what the run committed."""

    name = "Replay this range"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of the form; empty, which the UI shows no link for, when the run committed nothing."""
        plan: Plan | None = getattr(operator, "committed", None)
        return "" if plan is None else replay_page(plan)


def connector_page(dag_id: str) -> str:
    """Return the address of the page of the connector that a DAG belongs to."""
    return f"{PAGE}#/connectors/{quote(dag_id.removesuffix(REPLAY_SUFFIX), safe='')}"


def page_link(connector: str) -> str:
    """Return the Markdown of a link to the page of a connector."""
    return f"[Its page]({connector_page(connector)}) shows its lag, tables and control topic"


def dag_link(dag_id: str) -> str:
    """Return the Markdown of a link to a DAG in Airflow's UI."""
    return f"[`{dag_id}`](dags/{quote(dag_id, safe='')})"


def replay_page(plan: Plan) -> str:
    """Return the address of the replay form for the offsets of a plan: of one topic, as the form is; the one with the most.

    Without the offsets where they are of too many partitions.
    """
    lengths: dict[str, int] = {}
    spans: dict[str, dict[int, list[int]]] = {}
    for r in (r for slice_ in plan.slices for r in slice_.ranges):
        lengths[r.topic] = lengths.get(r.topic, 0) + len(r)
        span = spans.setdefault(r.topic, {}).setdefault(r.partition, [r.start, r.end])
        span[:] = min(span[0], r.start), max(span[1], r.end)
    page = f"{connector_page(plan.connector)}/replay"
    if not spans:
        return page
    topic = max(sorted(lengths), key=lambda name: lengths[name])
    ranges = {str(partition): span for partition, span in sorted(spans[topic].items())}
    wanted = {"topic": topic}
    if len(ranges) <= MAX_PARTITIONS:
        wanted["ranges"] = json.dumps(ranges, separators=(",", ":"))
    return f"{page}?{urlencode(wanted)}"
