"""The ledgers of a connector's tables, read when a plan cannot go on from the positions alone."""

import logging
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from pyiceberg.table import Table

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogLoginRefused
from floe.config import Connector
from floe.exceptions import FloeError
from floe.model.exceptions import PlanRefused
from floe.model.holding import LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.offsets import PartitionLog
from floe.model.positions import LeaderEpoch, PartitionBacklog, Position, PositionMetadata
from floe.tables.exceptions import REFUSALS
from floe.tables.snapshot_summary import last_of_sink, topic_in_use
from floe.tables.table_state import Routes, origin_of

log = logging.getLogger(__name__)

PARALLELISM = 8
"""Tables that the catalog is asked about at once."""


class LoadedTable(NamedTuple):
    """A table that exists, and the ledger that refers to it, of the branch ``origin``, unchecked; None without one.

    ``names_group``: some ledger of the connector's group is in it, of this branch or of another.
    """

    table: Table
    origin: str
    ledger: Ledger | None
    names_group: bool


class Ledgers:
    """All ledgers of one connector on its branches; the catalog is opened when one is first asked for."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self.routes = Routes(connector)

    @cached_property
    def tables(self) -> CatalogClient:
        return CatalogClient.of(self._connector)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tables that may have rows: those that the connector names; where records do, all of the catalog that have
        its ledger, or snapshots of the Kafka Connect sink that it follows.
        """
        if not self._connector.routing.is_dynamic:
            return self._connector.tables
        log.info("looking for the tables of %s in the catalog", self._connector.group_id)
        with ThreadPoolExecutor(PARALLELISM) as pool:
            listed = sorted(self.tables.names(self._connector.routing.namespace))
            found = dict(zip(listed, pool.map(self._load, listed), strict=True))
        dead_letters = self._connector.errors.table
        return tuple(name for name, one in found.items() if name != dead_letters and self._is_own(name, one))

    def _is_own(self, name: str, known: LoadedTable | FloeError | None) -> bool:
        if not isinstance(known, LoadedTable):
            # a table in the connector's own namespace that cannot be read may contain what no other ledger names
            return known is not None and self._connector.routing.namespace is not None
        branch, sink = self.routes.branch(name), self._connector.sink_group_id
        return known.names_group or topic_in_use(known.table.metadata, branch, sink) is not None

    def look_up(self, names: Collection[str]) -> dict[str, "LoadedTable | FloeError | None"]:
        """Load tables, several at once: what was found, None for one that does not exist, or why it cannot be read.

        Raises CatalogUnreachable when the catalog does not answer.
        """
        if not names:
            return {}
        _ = self.tables, self._loaded  # made before there are threads
        with ThreadPoolExecutor(max(self._connector.committing.threads, 1)) as pool:
            return dict(zip(names, pool.map(self._load, names), strict=True))

    @property
    def uuids(self) -> dict[str, str]:
        """The UUIDs of the tables that were looked up so far and exist."""
        found = {name: table for name, table in self._loaded.items() if isinstance(table, LoadedTable)}
        return {name: str(known.table.metadata.table_uuid) for name, known in sorted(found.items())}

    @property
    def with_dead_letters(self) -> tuple[str, ...]:
        """The same, and the dead-letter table, which has a ledger too."""
        return self.names if self._connector.errors.table is None else (*self.names, self._connector.errors.table)

    @cached_property
    def known(self) -> dict[str, LoadedTable]:
        """The tables that exist and can be read, by name; the others are in ``refused``."""
        found = {table: self._load(table) for table in self.names}
        return {table: known for table, known in found.items() if isinstance(known, LoadedTable)}

    @cached_property
    def refused(self) -> frozenset[str]:
        """Tables that cannot be read: what they contain is not known. The other tables are not affected."""
        return frozenset(table for table in self.names if isinstance(self._load(table), FloeError))

    def _load(self, name: str) -> LoadedTable | FloeError | None:
        if name not in self._loaded:
            tables = self.tables  # a catalog that cannot be opened is no table's fault
            try:
                table = tables.load(name)
                self._loaded[name] = None if table is None else self._known(name, table)
            except CatalogLoginRefused:
                raise  # neither is a login that the catalog does not take
            except REFUSALS as error:
                log.warning("table %s: %s", name, error)
                self._loaded[name] = error
        return self._loaded[name]

    @cached_property
    def _loaded(self) -> dict[str, LoadedTable | FloeError | None]:
        return {}

    def _known(self, name: str, table: Table) -> LoadedTable:
        group_id, properties = self._connector.group_id, table.metadata.properties
        origin = origin_of(table.metadata, self.routes.branch(name), group_id)
        ledger = read_properties(property_name(group_id, origin), properties)
        names_group = any(key.startswith(property_name(group_id, "")) for key in properties)
        return LoadedTable(table, origin, ledger, names_group)

    def contained_ids(self, topic: str, *, group_is_known: bool) -> frozenset[str] | None:
        """Return the ids of a topic's incarnations in the ledgers, None for a new topic.

        A topic that the ledgers do not name was added to the connector, if the group has positions of other topics. If
        it has none at all they were lost, and what was read of that topic cannot be determined.
        """
        ledgers = [known.ledger for known in self.known.values()]
        ids = frozenset(topic_id for ledger in ledgers if ledger for topic_id in ledger.topic_ids(topic))
        was_read = bool(self.refused) or any(known.names_group for known in self.known.values())
        return ids if ids or (was_read and not group_is_known) else None

    def newest_position(self, log: PartitionLog) -> Position | None:
        """Return the newest position of a partition's present log in the ledgers; None when they do not know the log.

        It is the highest copy of a position that a plan started from, with the backlogs of all such copies and the last
        leader epoch of all, moved up over what every table contains from there on. Reading from too low costs a re-read,
        never a row.
        """
        log_id = LogId(log.tp.topic, log.topic_id, log.tp.partition)
        copies = [
            Position(log.tp, *holding.position)
            for known in self.known.values()
            if known.ledger is not None
            and (holding := known.ledger.holdings.get(log_id)) is not None
            and holding.position is not None
            and PositionMetadata.decode(holding.position[1]) is not None
        ]
        if not copies:
            return None
        highest = max(copy.offset for copy in copies)
        newest = [copy for copy in copies if copy.offset == highest]
        backlogs: dict[str, PartitionBacklog] = {}
        for copy in newest:
            for table, backlog in copy.backlogs.items():
                backlogs[table] = min(backlog, backlogs.get(table, backlog))
        offset = self._contained_up_to(log_id, highest, backlogs.keys())
        metadata = replace(newest[0].metadata_fields.behind(backlogs), epoch=_last_epoch(copies))
        return Position(log.tp, offset, metadata.encode())

    def _contained_up_to(self, log_id: LogId, offset: int, behind: Collection[str]) -> int:
        """Return the offset up to which every table that is not behind contains all from ``offset`` on."""
        if self._connector.routing.is_dynamic:
            return offset  # a table without a ledger yet may lack rows, and its name is not known
        ends = []
        for table in self.names:
            if table in behind:
                continue
            known = self.known.get(table)
            holding = known.ledger.holdings.get(log_id) if known is not None and known.ledger is not None else None
            branch = known.origin if known is not None else self.routes.branch(table)
            route = self.routes.on_branch(log_id.topic, table, branch)
            held = holding.held.get(route) if holding is not None else None
            ends.append(next((end for start, end in held or () if start <= offset <= end), offset))
        return min(ends, default=offset)

    def of(self, table: str) -> LoadedTable | None:
        """Return one table with its ledger; None when it does not exist. Raises what keeps it from being read."""
        found = self._load(table)
        if isinstance(found, FloeError):
            raise found
        return found


def _last_epoch(copies: Iterable[Position]) -> LeaderEpoch | None:
    """Return the last leader epoch of copies, up to the end of all: tables may have copies of different plans."""
    epochs = [epoch for copy in copies if (epoch := copy.metadata_fields.epoch) is not None]
    return LeaderEpoch(max(one.number for one in epochs), max(one.end for one in epochs)) if epochs else None


def check_no_rows_of_sink(ledgers: Ledgers, connector: Connector) -> None:
    """Raise PlanRefused when a table has rows of the connector's sink that its ledger does not know of.

    Call it before positions are created or recovered. Reading again is harmless for what a ledger contains, but
    would duplicate these rows.
    """
    for name, known in ledgers.known.items():
        anchor = known.ledger.anchor if known.ledger is not None else None
        snapshot = last_of_sink(known.table.metadata, ledgers.routes.branch(name), connector.sink_group_id, anchor)
        if snapshot is not None:
            msg = (
                f"table {name!r} has rows that the Kafka Connect sink of group {connector.sink_group_id!r} wrote (last in "
                f"snapshot {snapshot.snapshot_id}), and no ledger contains their offsets. Reading them again would "
                "duplicate them. Nothing was read. Trigger the DAG with `takeover`; if the sink's committed offsets are "
                "gone, set them first (see docs/how-to/kafka-connect.md). To start again on purpose, give the connector "
                "another name."
            )
            raise PlanRefused(msg, code="FLOE-225")
