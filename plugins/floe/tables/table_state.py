"""The state of a table: does it exist, is it the expected one, what does its ledger say, does it refuse?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol
from uuid import UUID

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import FixedType

from floe.catalogs.providers.catalog_providers import provider_of
from floe.config import Connector
from floe.exceptions import FloeError
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.offsets import OffsetRange
from floe.model.plan import Plan
from floe.model.route_hash import MAIN_BRANCH, branch_route, route_hash, routing_hash
from floe.tables.exceptions import TableRefused
from floe.tables.history import branch_history, check_ledger_present, check_unchanged_history
from floe.tables.snapshot_summary import committed_offsets, offsets_property

Uuids = Mapping[str, UUID | str | None]
"""The UUID that a table must have, by name; None: no table has it."""


class SchemaUpdate(Protocol):
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

    def checked(self) -> TableState:
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

    def refused(self, problem: FloeError) -> TableState:
        """Return the state of a table that takes nothing, and why."""
        return replace(self, table=None, problem=problem)


# A table's ledger for one branch: looked up, checked against history, refused where it is not conclusive.


NEWEST_FORMAT = 2
"""The newest table format that PyIceberg writes."""


def ledger_of(table: Table, branch: str, plan: Plan) -> Ledger:
    """Return the ledger that a plan's connector has of a branch. Raises TableRefused."""
    return branch_ledger(table, branch, plan.group_id, plan.cluster_id)


def branch_ledger(table: Table, branch: str, group_id: str, cluster_id: str) -> Ledger:
    """Return a group's ledger of a branch, an empty one if there is none, after the table's history was checked.

    A branch that does not exist yet, or that was made of a main that contains all its ledger says, begins with what main
    contains. Raises TableRefused.
    """
    name = ".".join(table.name())
    metadata = table.metadata
    ref = metadata.refs.get(branch)
    if ref is not None and ref.snapshot_ref_type != SnapshotRefType.BRANCH:
        msg = f"{branch!r} of table {name!r} is a tag, not a branch: correct iceberg.tables.default-commit-branch"
        raise TableRefused(msg, code="FLOE-413")
    provider_of(table).check_branch(table, branch)
    if metadata.format_version > NEWEST_FORMAT:
        msg = (
            f"table {name!r} has format version {metadata.format_version}, floe writes up to {NEWEST_FORMAT}: write to a "
            "table of version 2"
        )
        raise TableRefused(msg, code="FLOE-413")
    _check_partition_values(name, metadata)
    origin = origin_of(metadata, branch, group_id)
    ledger = read_properties(property_name(group_id, origin), metadata.properties)
    if ledger is None:
        check_ledger_present(name, metadata, origin, group_id)
        return Ledger(cluster_id)
    if ledger.cluster_id != cluster_id:
        msg = (
            f"table {name!r} contains offsets of cluster {ledger.cluster_id!r} for {group_id!r}, this is cluster "
            f"{cluster_id!r}: check the Kafka connection; to read the new cluster as a new generation, trigger the DAG "
            'with reset_topics=["*"]'
        )
        raise TableRefused(msg, code="FLOE-219")
    check_unchanged_history(table, origin, group_id, ledger)
    if origin == branch:
        return ledger
    return ledger.rerouted({route: branch_route(route, branch) for route in ledger.routes()})


def _check_partition_values(name: str, metadata: TableMetadata) -> None:
    """Refuse partitions by the values of a fixed column: no two libraries read those alike.

    In manifests, Iceberg's Java library (1.12.0) puts a length before such a value, where its own schema for it has none.
    So neither can it read what others write, nor others what it writes.
    """
    schema = metadata.schema()
    for field in metadata.spec().fields:
        column = schema.find_column_name(field.source_id)
        if column is None or not isinstance(field.transform, IdentityTransform):
            continue
        if isinstance(schema.find_type(field.source_id), FixedType):
            msg = (
                f"table {name!r} is partitioned by the values of {column!r}, which is of type "
                f"{schema.find_type(field.source_id)}: Spark, Trino and Flink could not read the table once floe has written "
                f"to it. Nothing was written. Replace the partition field {field.name!r} by buckets of its column: in "
                "Spark's SQL bucket(16, column)"
            )
            raise TableRefused(msg, code="FLOE-413")


def check_seeded(table: Table, branch: str, plan: Plan, ledger: Ledger) -> None:
    """Raise TableRefused for a table that a Kafka Connect sink filled and whose ledger does not contain those offsets.

    A replay that skips what is contained would duplicate its rows.
    """
    name = offsets_property(plan.control_topic, plan.group_id)
    if ledger.holdings or committed_offsets(table.metadata, branch, name).offsets == {}:
        return
    msg = (
        f"table {'.'.join(table.name())!r} was filled by a Kafka Connect sink of {plan.group_id!r} and is not taken over: "
        "floe cannot determine which offsets it contains. Nothing was read. Run a takeover with the table in "
        "iceberg.tables, or add all rows of the range again (overlap=append)."
    )
    raise TableRefused(msg, code="FLOE-225")


def origin_of(metadata: TableMetadata, branch: str, group_id: str) -> str:
    """Return the branch whose ledger refers to what ``branch`` contains: its own, or main's where it was made of it.

    A branch that is gone but has a ledger was dropped, with the rows that the ledger refers to.
    """
    if property_name(group_id, branch) in metadata.properties:
        return branch
    if branch not in metadata.refs:
        return MAIN_BRANCH
    main = read_properties(property_name(group_id, MAIN_BRANCH), metadata.properties)
    anchor = main.anchor.snapshot_id if main is not None and main.anchor is not None else None
    is_made_of_main = any(s.snapshot_id == anchor for s in branch_history(metadata, branch))
    return MAIN_BRANCH if is_made_of_main else branch


def check_ledger_routes(
    table: str, ledger: Ledger, ranges: Iterable[tuple[OffsetRange, str]], *, is_replay: bool
) -> None:
    """Raise TableRefused when the table contains offsets that were routed otherwise.

    Offsets at or above a range would be skipped or duplicated by reading on. A replay that skips what is contained checks
    only those inside the range.
    """
    for r, route in ranges:
        if is_replay:
            others = ledger.elsewhere(r, route)
            remedy = (
                "Replay the rest of the range, replace it (overlap=replace), or add all rows again (overlap=append)."
            )
        else:
            others = ledger.other_routes(r, route)
            remedy = (
                "The connector was changed between a failed run and this one. Put the old configuration back until a run "
                "succeeds, then change it."
            )
        if others:
            msg = (
                f"table {table!r} contains offsets {list(others)[:20]} of {r.tp} that were written under other routes. "
                f"Nothing was written. {remedy}"
            )
            raise TableRefused(msg, code="FLOE-414")


# A connector's routes: which rows of a topic reach which table, on which branch, as hashes.


EVERY_TABLE = "*"
"""Placeholder for the tables that records name, in the hash of a topic's routing."""


DEAD_LETTERS = "dead letters"
"""The rule of the dead-letter table, whatever the routing is."""


class Routes:
    """The routes of one connector, as it is configured now."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    def branch(self, table: str) -> str:
        """Return the branch that a table is written on."""
        return self._connector.table(table).branch or MAIN_BRANCH

    def route(self, topic: str, table: str) -> str:
        """Return the hash of one topic's way into one table."""
        return self.on_branch(topic, table, self.branch(table))

    def on_branch(self, topic: str, table: str, branch: str) -> str:
        """Return what that hash would be on another branch."""
        if table == self._connector.errors.table:
            return route_hash(topic, branch, DEAD_LETTERS)
        return route_hash(topic, branch, self._connector.route_rule(table, topic))

    def of(self, table: str, topics: Iterable[str]) -> dict[str, str]:
        """Return one table's route hash per topic."""
        return {topic: self.route(topic, table) for topic in topics}

    def routing(self, topic: str) -> str:
        """Return the hash of a topic's routing over all tables."""
        routes = {table: self.route(topic, table) for table in self._connector.tables}
        if self._connector.routing.is_dynamic:
            every = self.route(topic, EVERY_TABLE)
            known = [table for table, _ in self._connector.settings.known]
            others = {table: route for table in known if (route := self.route(topic, table)) != every}
            routes = {EVERY_TABLE: every, **others}
        return routing_hash(routes)
