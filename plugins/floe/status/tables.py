"""Tables of a connector, each looked up by itself: one that cannot be read never hides the others."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pyiceberg.table import Table

from floe.catalogs.client import Tables
from floe.config import Connector
from floe.config.secrets.mask import clip
from floe.exceptions import FloeError
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.ledger_codec import property_name, read_properties
from floe.model.ranges import OffsetRange, PartitionLog
from floe.status.commits import commits_of, rows_of
from floe.status.model import TableStatus
from floe.tables.open_dead_letters import scan_open_dead_letters
from floe.tables.routes import Routes
from floe.tables.table_ledger import branch_ledger, origin_of

MAX_CHARACTERS = 500
"""Of a problem."""

Found = Table | str | None
"""A table, why it cannot be loaded, or None for one that does not exist."""


class TableReader(NamedTuple):
    """Reads the tables of one connector. ``commits``: how many of its own each status has at most."""

    connector: Connector
    tables: Tables
    routes: Routes
    commits: int

    @classmethod
    def of(cls, connector: Connector, commits: int) -> "TableReader":
        """Open the connector's catalog. Raises CatalogMisconfigured, CatalogUnreachable."""
        return cls(connector, Tables.of(connector), Routes(connector), commits)

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
