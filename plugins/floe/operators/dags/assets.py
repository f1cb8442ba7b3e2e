"""The tables of a connector as Airflow's assets: what its DAGs say they write, and the events of a run.

Airflow raises an event for each asset among the outlets of a task that succeeds, one per asset, and fails a task before it
begins when another DAG gave an asset's URI a second name. So the DAG names the assets, for the graph of assets, and the task
ends with an alias alone: an event is raised for each snapshot that the run adds to it, and for nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAlias

from floe.config.names import ALIAS_PREFIX, TABLE_SCHEME, table_uri

if TYPE_CHECKING:
    from airflow.sdk.types import OutletEventAccessorsProtocol

    from floe.commit.run_commit import CommitReport
    from floe.commit.table_commit import TableCommit
    from floe.config import Connector
    from floe.control.announcement import Announcement
    from floe.model.plan import Plan

KEPT = "floe.events."
"""How the names of the Airflow variables begin that keep events of failed commits."""

MAX_KEPT = 200
"""Events of failed commits that are kept, the newest."""

MAX_RANGES = 100
"""Ranges of offsets in one event."""

MAX_URI_CHARACTERS = 1500
"""Of an asset's name and URI, in Airflow. A table with a longer one has no asset."""


def alias_of(connector: Connector) -> AssetAlias:
    """Return the alias of all tables that a connector writes, also of those that only records name."""
    return AssetAlias(ALIAS_PREFIX + connector.name)


def outlets_of(connector: Connector) -> list[Asset | AssetAlias]:
    """Return what a connector's DAG is said to write: an asset per table that its file names, and the alias.

    The replay DAG is said to write the alias alone, as Airflow's *Materialize* refuses an asset that two DAGs produce. Its
    events are of the same assets: DAGs that wait for a table start after a replay too.
    """
    dead_letters = (connector.errors.table,) if connector.errors.table else ()
    uris = (table_uri(connector.catalog.name, table) for table in (*connector.tables, *dead_letters))
    return [*(Asset(uri) for uri in dict.fromkeys(uris) if _fits(uri)), alias_of(connector)]


def raise_events(
    accessors: OutletEventAccessorsProtocol, connector: Connector, plan: Plan, report: CommitReport
) -> None:
    """Raise an event for each snapshot of a run on the connector's branches.

    ``connector``: as its file says. A replay into another branch raises none.
    """
    accessor = accessors[alias_of(connector)]
    for event in events_of(connector, plan, report):
        accessor.add(Asset(event["uri"]), extra=event["extra"])


def events_of(connector: Connector, plan: Plan, report: CommitReport) -> Iterator[dict[str, Any]]:
    """Yield the events of a run as JSON: the URI of the table, and what Airflow calls extra."""
    announced = {id(files): one for one in report.announcements for files in one.files}
    for committed in report.committed:
        files = committed.table_files
        uri = table_uri(connector.catalog.name, files.table)
        is_own = files.branch == (connector.table(files.table).branch or "main")
        if committed.snapshot_id is not None and is_own and _fits(uri):
            yield {"uri": uri, "extra": _extra(connector, plan, committed, announced[id(files)])}


def _extra(connector: Connector, plan: Plan, committed: TableCommit, announcement: Announcement) -> dict[str, Any]:
    from floe.tables.snapshot_summary import valid_through

    files = committed.table_files
    ranges = [[r.topic, r.partition, start, end] for r, new in files.new_ranges for start, end in new]
    through = valid_through(announcement.assignments)
    return {
        "connector": connector.name,
        "branch": files.branch,
        "snapshot_id": str(committed.snapshot_id),  # more than JavaScript's numbers can represent
        "commit_id": str(plan.commit_id),
        "kind": announcement.kind,
        "rows": committed.counts.rows,
        "files": files.file_count,
        "ranges": ranges[:MAX_RANGES],
        "more_ranges": max(len(ranges) - MAX_RANGES, 0),
        "valid_through": None if through is None else through.isoformat(),
    }


# -- events of tasks that failed --------------------------------------------------------------------------------------


def keep_events(connector: Connector, plan: Plan, report: CommitReport) -> None:
    """Keep the events of a commit that failed for the plan of the next run, as Airflow takes none from a failed task.

    So tables behind which another one refuses its rows still start the DAGs that wait for them.
    """
    from airflow.sdk import Variable

    found = list(events_of(connector, plan, report))
    if found:
        name = KEPT + connector.name
        kept = [*_kept(Variable.get(name, default=None)), *found][-MAX_KEPT:]
        Variable.set(name, json.dumps(kept))


def raise_kept(accessors: OutletEventAccessorsProtocol, connector: Connector) -> bool:
    """Raise the events that a failed commit left, and forget them; return whether there were any."""
    from airflow.sdk import Variable

    name = KEPT + connector.name
    text = Variable.get(name, default=None)
    if text is None:
        return False
    accessor = accessors[alias_of(connector)]
    for event in _kept(text):
        accessor.add(Asset(event["uri"]), extra=event["extra"])
    Variable.delete(name)
    return True


def _kept(text: object) -> list[dict[str, Any]]:
    """Return the events of a variable. It is input: others may edit it."""
    try:
        found = json.loads(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        found = []
    return [one for one in found if _is_event(one)] if isinstance(found, list) else []


def _is_event(one: object) -> bool:
    if not isinstance(one, dict) or one.keys() != {"uri", "extra"} or not isinstance(one["extra"], dict):
        return False
    return isinstance(one["uri"], str) and one["uri"].startswith(TABLE_SCHEME) and _fits(one["uri"])


def _fits(uri: str) -> bool:
    return len(uri) <= MAX_URI_CHARACTERS
