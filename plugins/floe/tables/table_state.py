"""The state of tables, asked once: does a table exist, is it the expected one, what does its ledger say, does it refuse?"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple, Protocol
from uuid import UUID

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.update.schema import UpdateSchema

from floe.catalogs.client import Tables
from floe.config import Connector
from floe.exceptions import FloeError
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.ledger import Ledger
from floe.model.ranges import OffsetRange
from floe.tables.exceptions import REFUSALS, TableRefused, TableReplaced
from floe.tables.open_dead_letters import scan_open_dead_letters
from floe.tables.routes import Routes
from floe.tables.table_ledger import branch_ledger

log = logging.getLogger(__name__)

PARALLELISM = 8
"""Tables that the catalog is asked about at once."""

Uuids = Mapping[str, UUID | str | None]
"""The UUID that a table must have, by name; None: no table has it."""

_ANY: Uuids = MappingProxyType({})


class SchemaChanges(Protocol):
    """What a table lacks for some records: the columns of a new table, or an update of one that exists."""

    def count(self) -> int: ...

    def new_schema(self) -> Schema: ...

    def apply(self, update: UpdateSchema) -> None: ...


class Since(NamedTuple):
    """How a refusal describes a table with another UUID than expected: since ``when``, and what to do (``remedy``)."""

    when: str
    remedy: str


SINCE_WRITTEN = Since(
    "after its files were written",
    "Its files cannot be committed: the table is behind. If it had rows before, the next plan asks what to do with them "
    "(dropped_tables); if it had none, the next run creates it if it may.",
)
SINCE_PLANNED = Since(
    "after this run was planned", ("Nothing was written for it. The next run names the rows that are missing")
)


@dataclass(frozen=True)
class TableState:
    """One table as a connector finds it on its branch.

    ``table``: None where it does not exist (yet), or refuses. ``routes``: route hash by topic. ``ledger``: what the branch
    contains, checked against its history; empty where there is none. ``problem``: why the table takes nothing.
    """

    name: str
    table: Table | None
    branch: str
    routes: Mapping[str, str]
    ledger: Ledger
    problem: FloeError | None = None

    @property
    def is_new(self) -> bool:
        """Whether the table does not exist, and may be created."""
        return self.table is None and self.problem is None

    def checked(self) -> "TableState":
        """Return the state itself. Raises the problem, if there is one."""
        if self.problem is not None:
            raise self.problem
        return self

    def required(self) -> Table:
        """Return the table. Raises the problem; TableRefused for a table that does not exist."""
        table = self.checked().table
        if table is None:
            msg = f"table {self.name!r} does not exist any more; nothing was done to it"
            raise TableRefused(msg, code="FLOE-409")
        return table

    def refused(self, problem: FloeError) -> "TableState":
        """Return the state of a table that takes nothing, and why."""
        return replace(self, table=None, problem=problem)


class TableStates:
    """The states of a connector's tables; every table is loaded again whenever it is opened.

    ``since``: how a refusal describes tables that are not the expected ones.
    """

    def __init__(self, client: Tables, connector: Connector, cluster_id: str, since: Since = SINCE_PLANNED) -> None:
        self.client = client
        self.routes = Routes(connector)
        self._connector = connector
        self._cluster_id = cluster_id
        self._since = since

    def open(
        self, names: Iterable[str], topics: Collection[str], *, must_exist: bool, uuid: Uuids = _ANY
    ) -> dict[str, TableState]:
        """Load tables, several at once, and read their ledgers; a table that refuses has a ``problem``.

        ``topics``: those whose routes are asked for. ``must_exist``: a missing table refuses, too. ``uuid``: the UUIDs of
        tables that must be there and be the same. Raises CatalogUnreachable when the catalog does not answer.
        """
        asked = list(dict.fromkeys(names))
        if len(asked) <= 1:
            return {name: self._open(name, topics, must_exist, uuid) for name in asked}
        with ThreadPoolExecutor(min(PARALLELISM, len(asked))) as pool:
            found = pool.map(lambda name: self._open(name, topics, must_exist, uuid), asked)
            return dict(zip(asked, found, strict=True))

    def one(
        self,
        name: str,
        topics: Collection[str] = (),
        *,
        must_exist: bool = False,
        uuid: Uuids = _ANY,
        branch: str | None = None,
    ) -> TableState:
        """Open one table, on the connector's branch if none is given. Raises its problem, such as TableRefused."""
        return self._open(name, topics, must_exist, uuid, branch).checked()

    def evolve(self, state: TableState, changes: SchemaChanges) -> TableState:
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
        name = self._connector.errors.table
        if name is None or not ranges:
            return DeadLetterOffsets()
        found = state if state is not None else self.one(name)
        if found.table is None:
            return DeadLetterOffsets()
        with self.client.reading(name):
            return scan_open_dead_letters(found.table, found.branch, self._connector.name, ranges)

    def _open(
        self, name: str, topics: Collection[str], must_exist: bool, uuid: Uuids, branch: str | None = None
    ) -> TableState:
        branch = branch or self.routes.branch(name)
        routes = {topic: self.routes.on_branch(topic, name, branch) for topic in topics}
        state = TableState(name, None, branch, routes, Ledger(self._cluster_id))
        try:
            table = self.client.require(name) if must_exist else self.client.load(name)
            if name in uuid:
                self._check_uuid(name, table, uuid[name])
            if table is None:
                return state
            ledger = branch_ledger(table, branch, self._connector.group_id, self._cluster_id)
        except REFUSALS as error:
            return state.refused(error)
        return replace(state, table=table, ledger=ledger)

    def _check_uuid(self, name: str, table: Table | None, expected: UUID | str | None) -> None:
        now = None if table is None else table.metadata.table_uuid
        if now is not None and str(now) == str(expected):
            return
        what = "dropped" if now is None else "replaced"
        found = "" if now is None else f", its UUID is {now}"
        msg = f"table {name!r} was {what} {self._since.when} (for UUID {expected}{found}). {self._since.remedy}"
        raise TableRefused(msg, code="FLOE-409")

    def _created(self, name: str, changes: SchemaChanges) -> Table:
        log.info("creating table %s with %s columns", name, changes.count())
        settings = self._connector.table(name)
        return self.client.create(name, changes.new_schema(), settings, self._connector.schema.on_unsuitable)

    def _changed(self, name: str, known: Table, changes: SchemaChanges) -> Table:
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
