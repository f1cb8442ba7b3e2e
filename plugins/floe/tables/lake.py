"""The tables of a connector and their states; whatever floe does to a table goes through here."""

import logging
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from uuid import UUID

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from floe.catalogs.client import CatalogClient
from floe.config import Connector
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name
from floe.model.offsets import OffsetRange
from floe.tables.change import Change, append_files
from floe.tables.exceptions import REFUSALS, TableRefused, TableReplaced
from floe.tables.open_dead_letters import scan_open_dead_letters
from floe.tables.snapshot_commit import Committed, LedgerUpdate, commit_change
from floe.tables.table_state import SINCE_PLANNED, Routes, SchemaUpdate, Since, TableState, Uuids, branch_ledger

log = logging.getLogger(__name__)

PARALLELISM = 8
"""Tables that the catalog is asked about at once."""

_ANY: Uuids = MappingProxyType({})


@dataclass(frozen=True)
class Lake:
    """The tables of one connector, for topics of one cluster.

    Each call loads the table again; a caller that needs a state twice keeps it. ``client``: their catalog.
    """

    client: CatalogClient
    connector: Connector
    cluster_id: str

    @classmethod
    def of(cls, connector: Connector, cluster_id: str) -> "Lake":
        """Open the catalog of a connector. Raises CatalogMisconfigured or CatalogUnreachable."""
        return cls(CatalogClient.of(connector), connector, cluster_id)

    @cached_property
    def routes(self) -> Routes:
        return Routes(self.connector)

    def states(
        self,
        names: Iterable[str],
        topics: Collection[str] = (),
        *,
        must_exist: bool = False,
        uuid: Uuids = _ANY,
    ) -> dict[str, TableState]:
        """Load tables, several at once, and read their ledgers; a table that refuses has a ``problem``.

        ``topics``: those whose routes are asked for. ``must_exist``: a missing table refuses, too. ``uuid``: the UUIDs of
        tables that must be there and be the same. Raises CatalogUnreachable when the catalog does not answer.
        """
        asked = list(dict.fromkeys(names))
        if len(asked) <= 1:
            return {name: self._state(name, topics, must_exist, uuid) for name in asked}
        with ThreadPoolExecutor(min(PARALLELISM, len(asked))) as pool:
            found = pool.map(lambda name: self._state(name, topics, must_exist, uuid), asked)
            return dict(zip(asked, found, strict=True))

    def state(
        self,
        name: str,
        topics: Collection[str] = (),
        *,
        must_exist: bool = False,
        uuid: Uuids = _ANY,
        since: Since = SINCE_PLANNED,
        branch: str | None = None,
    ) -> TableState:
        """Load one table, on the connector's branch if none is given. Raises its problem, such as TableRefused.

        ``since``: how a refusal describes a table with another UUID.
        """
        return self._state(name, topics, must_exist, uuid, since, branch).checked()

    def commit(
        self, table: Table, change: Change, ledger: Ledger | None = None, *, keeps_anchor: bool = False
    ) -> Committed:
        """Send a change, and the ledger of the branch that goes with it, in one catalog commit, once.

        ``keeps_anchor``: the ledger's history is still to be decided about. Raises CommitFailedException after a conflict.
        Any other error leaves the outcome unknown: load the table and compare.
        """
        update = None
        if ledger is not None:
            update = LedgerUpdate(property_name(self.connector.group_id, change.branch), ledger, keeps_anchor)
        with self.client.committing(".".join(table.name())):
            return commit_change(table, change, update)

    def make_branch(self, table: Table, branch: str) -> None:
        """Make a branch of main by an empty snapshot, for rows to be replaced on it."""
        with self.client.changing(".".join(table.name())):
            commit_change(table, append_files(table, branch, {}, ()))

    def evolve(self, state: TableState, changes: SchemaUpdate) -> TableState:
        """Create the table, or give it what it lacks in one update; one that does not take it has a ``problem``.

        Raises TableReplaced when another table has its name by now, CatalogUnreachable when the catalog does not answer.
        """
        try:
            if state.table is None:
                return replace(state, table=self._created(state.name, changes))
            return replace(state, table=self._changed(state.name, state.table, changes))
        except REFUSALS as error:
            return state.refused(error)

    def open_dead_letters(self, ranges: Sequence[OffsetRange], state: TableState | None = None) -> DeadLetterOffsets:
        """Return the dead letters of some ranges that are open in the connector's dead-letter table.

        ``state``: that table, where it is open already. Raises what keeps the table from being read.
        """
        name = self.connector.errors.table
        if name is None or not ranges:
            return DeadLetterOffsets()
        found = state if state is not None else self.state(name)
        if found.table is None:
            return DeadLetterOffsets()
        with self.client.reading(name):
            return scan_open_dead_letters(found.table, found.branch, self.connector.name, ranges)

    def _state(
        self,
        name: str,
        topics: Collection[str],
        must_exist: bool,
        uuid: Uuids,
        since: Since = SINCE_PLANNED,
        branch: str | None = None,
    ) -> TableState:
        branch = branch or self.routes.branch(name)
        routes = {topic: self.routes.on_branch(topic, name, branch) for topic in topics}
        state = TableState(name, None, branch, routes, Ledger(self.cluster_id))
        try:
            table = self.client.require(name) if must_exist else self.client.load(name)
            if name in uuid:
                _check_uuid(name, table, uuid[name], since)
            if table is None:
                return state
            ledger = branch_ledger(table, branch, self.connector.group_id, self.cluster_id)
        except REFUSALS as error:
            return state.refused(error)
        return replace(state, table=table, ledger=ledger)

    def _created(self, name: str, changes: SchemaUpdate) -> Table:
        log.info("creating table %s with %s columns", name, changes.count())
        settings = self.connector.table(name)
        return self.client.create(name, changes.new_schema(), settings, self.connector.schema.on_unsuitable)

    def _changed(self, name: str, known: Table, changes: SchemaUpdate) -> Table:
        log.info("adding %s columns to table %s", changes.count(), name)
        table = self.client.require(name)
        try:
            with self.client.changing(name), table.update_schema() as update:
                changes.apply(update)
        except CommitFailedException as error:
            log.warning("table %s was changed meanwhile (%s). Its schema is read again", name, error)
        table = self.client.require(name)
        if table.metadata.table_uuid != known.metadata.table_uuid:
            msg = f"table {name!r} was replaced while the job was running. Nothing was announced. Run again"
            raise TableReplaced(msg)
        return table


def _check_uuid(name: str, table: Table | None, expected: UUID | str | None, since: Since) -> None:
    now = None if table is None else table.metadata.table_uuid
    if now is not None and str(now) == str(expected):
        return
    what = "dropped" if now is None else "replaced"
    found = "" if now is None else f", its UUID is {now}"
    msg = f"table {name!r} was {what} {since.when} (for UUID {expected}{found}). {since.remedy}"
    raise TableRefused(msg, code="FLOE-409")
