"""The tables of a connector as Airflow's assets: what its DAGs say they write, and the events of a run.

Airflow raises an event for each asset among the outlets of a task that succeeds, one per asset, and fails a task before it
begins when another DAG gave an asset's URI a second name. So the DAG names the assets, for the graph of assets, and the task
ends with an alias alone: an event is raised for each snapshot that the run adds to it, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAlias

from floe.config.names import table_uri

if TYPE_CHECKING:
    from airflow.sdk.types import OutletEventAccessorsProtocol

    from floe.commit.run_commit import CommitReport
    from floe.commit.table_commit import TableCommit
    from floe.config import Connector
    from floe.control.announcement import Announcement
    from floe.model.plan import Plan

ALIAS_PREFIX = "floe."

MAX_RANGES = 100
"""Ranges of offsets in one event."""

MAX_URI_CHARACTERS = 1500
"""Of an asset's name and URI, in Airflow. A table with a longer one has no asset."""


def alias_of(connector: Connector) -> AssetAlias:
    """Return the alias of all tables that a connector writes, also of those that only records name."""
    return AssetAlias(ALIAS_PREFIX + connector.name)


def outlets_of(connector: Connector) -> list[Asset | AssetAlias]:
    """Return what a connector's DAGs write: an asset per table that its file names, and the alias."""
    dead_letters = (connector.errors.table,) if connector.errors.table else ()
    uris = (table_uri(connector.catalog.name, table) for table in (*connector.tables, *dead_letters))
    return [*(Asset(uri) for uri in dict.fromkeys(uris) if _fits(uri)), alias_of(connector)]


def raise_events(events: OutletEventAccessorsProtocol, connector: Connector, plan: Plan, report: CommitReport) -> None:
    """Raise an event for each snapshot of a run on the connector's branches.

    ``connector``: as its file says. A replay into another branch raises none.
    """
    accessor = events[alias_of(connector)]
    for committed, announcement in _snapshots(connector, report):
        uri = table_uri(connector.catalog.name, committed.table_files.table)
        if _fits(uri):
            accessor.add(Asset(uri), extra=_extra(connector, plan, committed, announcement))


def _snapshots(connector: Connector, report: CommitReport) -> Iterator[tuple[TableCommit, Announcement]]:
    announced = {id(files): one for one in report.announcements for files in one.all_table_files}
    for committed in report.committed:
        files = committed.table_files
        is_own = files.branch == (connector.table(files.table).branch or "main")
        if committed.snapshot_id is not None and is_own:
            yield committed, announced[id(files)]


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
        "rows": files.counts.rows,
        "files": files.file_count,
        "ranges": ranges[:MAX_RANGES],
        "more_ranges": max(len(ranges) - MAX_RANGES, 0),
        "valid_through": None if through is None else through.isoformat(),
    }


def _fits(uri: str) -> bool:
    return len(uri) <= MAX_URI_CHARACTERS
