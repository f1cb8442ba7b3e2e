"""Tables of a connector, each looked up by itself: one that cannot be read never hides the others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from floe.catalogs.client import CatalogClient
from floe.config import Connector
from floe.config.secrets.mask import clip
from floe.exceptions import FloeError
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.ledger_codec import property_name, read_properties
from floe.model.offsets import OffsetRange, PartitionLog
from floe.status.connector_status import CommitStatus, TableStatus
from floe.tables.history import GROUP, SLICE, branch_history
from floe.tables.open_dead_letters import scan_open_dead_letters
from floe.tables.table_state import Routes, branch_ledger, origin_of

MAX_CHARACTERS = 500
"""Of a problem."""

Found = Table | str | None
"""A table, why it cannot be loaded, or None for one that does not exist."""


class TableReader(NamedTuple):
    """Reads the tables of one connector. ``commits``: how many of its own each status has at most."""

    connector: Connector
    tables: CatalogClient
    routes: Routes
    commits: int

    @classmethod
    def of(cls, connector: Connector, commits: int) -> TableReader:
        """Open the connector's catalog. Raises CatalogMisconfigured, CatalogUnreachable."""
        return cls(connector, CatalogClient.of(connector), Routes(connector), commits)

    def load_all(self) -> dict[str, Found]:
        """Load the connector's tables, several at once, the dead-letter table last.

        Where records name the tables, those of the catalog that have its ledger, and those in a namespace of its own that
        cannot be read. Raises what keeps the catalog from listing them.
        """
        routing, dead_letters = self.connector.routing, self.connector.errors.table
        names = sorted(self.tables.names(routing.namespace)) if routing.is_dynamic else self.connector.tables
        asked = [name for name in names if name != dead_letters] + ([] if dead_letters is None else [dead_letters])
        with ThreadPoolExecutor(max(self.connector.committing.threads, 1)) as pool:
            found = dict(zip(asked, pool.map(self._load, asked), strict=True))
        return {name: one for name, one in found.items() if name == dead_letters or self._is_own(one)}

    def _is_own(self, found: Found) -> bool:
        routing = self.connector.routing
        if not routing.is_dynamic:
            return True
        if not isinstance(found, Table):
            return found is not None and routing.namespace is not None
        prefix = property_name(self.connector.group_id, "")
        return any(key.startswith(prefix) for key in found.metadata.properties)

    def _load(self, name: str) -> Found:
        try:
            return self.tables.load(name)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the others are reported
            return problem_of(error)

    def statuses(
        self, found: Mapping[str, Found], cluster_id: str | None, *, has_read: bool | None
    ) -> tuple[TableStatus, ...]:
        """Return the status of each table.

        ``cluster_id``: of the topics, None where the brokers did not answer. ``has_read``: whether the connector has read
        records, None where that is not known.
        """
        look = partial(self._status, cluster_id=cluster_id, has_read=has_read)
        dead_letters = self.connector.errors.table
        with ThreadPoolExecutor(max(self.connector.committing.threads, 1)) as pool:
            looked_up = pool.map(look, found.items())
            return tuple(replace(one, is_dead_letters=one.name == dead_letters) for one in looked_up)

    def _status(self, item: tuple[str, Found], cluster_id: str | None, has_read: bool | None) -> TableStatus:
        name, found = item
        branch = self.routes.branch(name)
        if isinstance(found, str):
            return TableStatus(name, branch, exists=True, problem=found)
        if found is None:
            return TableStatus(name, branch, exists=False, problem=self._why_missing(name, has_read))
        try:
            return self._read(name, branch, found, cluster_id)
        except Exception as error:  # noqa: BLE001 - as above
            return TableStatus(name, branch, exists=True, problem=problem_of(error))

    def _why_missing(self, name: str, has_read: bool | None) -> str | None:
        """Return what is wrong where a table does not exist; None where its first record will create it."""
        if name == self.connector.errors.table:
            return None
        if not self.connector.creation.is_on:
            return f"table {name!r} does not exist: create it, or set iceberg.tables.auto-create-enabled to true"
        gets_all = not self.connector.routing.is_by_value and self.connector.table(name).topics is None
        return f"table {name!r} does not exist any more: it was dropped" if has_read and gets_all else None

    def _read(self, name: str, branch: str, table: Table, cluster_id: str | None) -> TableStatus:
        metadata, group_id = table.metadata, self.connector.group_id
        ref = metadata.refs.get(branch)
        return TableStatus(
            name,
            branch,
            exists=True,
            snapshot_id=None if ref is None else ref.snapshot_id,
            commits=commits_of(metadata, branch, group_id, self.commits),
            problem=self._refusal(table, branch, cluster_id),
            rows=rows_of(metadata, branch),
        )

    def _refusal(self, table: Table, branch: str, cluster_id: str | None) -> str | None:
        """Return why a commit would refuse the table; None when its ledger and its history agree."""
        group_id = self.connector.group_id
        try:
            if cluster_id is None:  # Kafka did not answer: the ledger's own cluster counts
                origin = origin_of(table.metadata, branch, group_id)
                ledger = read_properties(property_name(group_id, origin), table.metadata.properties)
                cluster_id = "" if ledger is None else ledger.cluster_id
            branch_ledger(table, branch, group_id, cluster_id)
        except FloeError as error:
            return problem_of(error)
        return None

    def open_dead_letters(self, found: Mapping[str, Found], logs: Sequence[PartitionLog]) -> DeadLetterOffsets:
        """Return what is open in the dead-letter table, of the present topics; it reads that table's places.

        Raises what reading it raises.
        """
        name = self.connector.errors.table
        table = found.get(name or "")
        ranges = [OffsetRange(log.tp.topic, log.topic_id, log.tp.partition, 0, log.stable_end) for log in logs]
        if name is None or not isinstance(table, Table) or not ranges:
            return DeadLetterOffsets()
        with self.tables.reading(name):
            return scan_open_dead_letters(table, self.routes.branch(name), self.connector.name, ranges)


def problem_of(error: Exception) -> str:
    """Return an error as one bounded line without secrets."""
    said = str(error) if isinstance(error, FloeError) else f"{type(error).__name__}: {error}"
    return clip(" ".join(said.split()), MAX_CHARACTERS)


# The connector's commits, read back from the summaries of a branch's snapshots.


MAX_WALKED = 1_000
"""Snapshots of a branch that are looked at for the connector's own: others may commit more often."""

_DIGITS = 19
"""Of a count at most."""


def commits_of(metadata: TableMetadata, branch: str, group_id: str, limit: int) -> tuple[CommitStatus, ...]:
    """Return the newest commits of a group on a branch, the newest first, ``limit`` at most."""
    return tuple(islice(_commits(metadata, branch, group_id), limit))


def rows_of(metadata: TableMetadata, branch: str) -> int | None:
    """Return how many rows a branch has, by the summary of its head; 0 without a snapshot.

    None where the summary does not say, or where equality deletes remove rows that no summary counts.
    """
    ref = metadata.refs.get(branch)
    if ref is None:
        return 0 if not metadata.snapshots else None
    head = metadata.snapshot_by_id(ref.snapshot_id)
    summary = head.summary.additional_properties if head is not None and head.summary is not None else {}
    total, by_position, by_equality = (
        summary.get(f"total-{what}") for what in ("records", "position-deletes", "equality-deletes")
    )
    if not total or not total.isdecimal() or len(total) > _DIGITS or _count(by_equality):
        return None
    return max(0, _count(total) - _count(by_position))


def _commits(metadata: TableMetadata, branch: str, group_id: str) -> Iterator[CommitStatus]:
    for snapshot in islice(branch_history(metadata, branch), MAX_WALKED):
        summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
        if summary.get(GROUP) == group_id:
            yield _commit(snapshot, summary)


def _commit(snapshot: Snapshot, summary: Mapping[str, str]) -> CommitStatus:
    return CommitStatus(
        snapshot_id=snapshot.snapshot_id,
        at=datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC),
        kind=str(summary.get("floe.kind", "")),
        slice_id=str(summary.get(SLICE, "")),
        rows=_count(summary.get("added-records")),
        files=_count(summary.get("added-data-files")),
        counts=_counts(summary.get("floe.books")),
        valid_through=_moment(summary.get("kafka.connect.valid-through-ts")),
    )


def _count(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) <= _DIGITS else 0


def _counts(text: str | None) -> dict[str, int]:
    """Return the table's record counts; none where a digest replaces them, or another program wrote them."""
    try:
        counts: Any = json.loads(text or "{}").get("table", {})
        return {str(name): int(count) for name, count in counts.items()}
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return {}


def _moment(text: str | None) -> datetime | None:
    try:
        moment = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None
