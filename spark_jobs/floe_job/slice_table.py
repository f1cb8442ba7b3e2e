"""One table of a slice, as the driver sees it: what it takes, what it lacks, and its share of the announcement."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from floe.catalogs.catalog import Tables
from floe.commit.refusals import REFUSALS
from floe.commit.table import ledger_of, refuse_other_routes, refuse_unseeded
from floe.config import Connector
from floe.control.announcement import SpecFiles, TableShare
from floe.control.events import TableReference
from floe.exceptions import FloeError
from floe.offsets.books import TableBooks
from floe.offsets.intervals import Intervals
from floe.offsets.plan import Plan, Slice, SliceKind
from floe.offsets.ranges import OffsetRange
from floe.offsets.routing import MAIN_BRANCH, route_hash
from floe_job.exceptions import SliceFailed
from floe_job.needs import SchemaNeeds
from floe_job.target import Target

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SliceTable:
    """A table with what its ledger says of the slice. ``table`` is None while it does not exist.

    ``nets``: of the ranges whose rows it takes, the offsets that are to be written. ``refusal``: why it takes none.
    """

    name: str
    table: Table | None
    nets: tuple[tuple[OffsetRange, Intervals], ...]
    refusal: FloeError | None = None

    def target(self, piece: Slice, connector: Connector) -> Target:
        """Return what a worker needs to know of the table."""
        # every task carries this: of thousands of ranges only those that a repeated run finds held
        held = {r: held for r, net in self.nets if (held := _whole(r) - net)}
        owed = frozenset(piece.ranges) - {r for r, _ in self.nets}
        if self.table is None:
            return Target(self.name, None, None, {}, held, owed, evolve=True)
        # workers need schema, spec, location and properties; the snapshots would be shipped to each of them
        slim = self.table.metadata.model_copy(
            update={"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}, "current_snapshot_id": None}
        )
        properties = {**self.table.metadata.properties, **connector.write_props}
        return Target(self.name, slim, self.table.io, properties, held, owed, evolve=connector.evolve_schema)

    def grown(self, tables: Tables, needs: SchemaNeeds) -> "SliceTable":
        """Create the table, or add its missing columns in one update."""
        if self.table is None:
            log.info("creating table %s with %s columns", self.name, needs.count())
            return replace(self, table=tables.create(self.name, needs.new_schema()))
        log.info("adding %s columns to table %s", needs.count(), self.name)
        table = tables.require(self.name)
        try:
            with tables.changing(self.name), table.update_schema() as update:
                needs.apply(update)
        except CommitFailedException as error:
            log.warning("table %s changed meanwhile (%s); looking again", self.name, error)
        table = tables.require(self.name)
        if table.metadata.table_uuid != self.table.metadata.table_uuid:
            msg = f"table {self.name!r} was replaced while it was written for; nothing was announced, run again"
            raise SliceFailed(msg)
        return replace(self, table=table)

    def share(
        self, connector: Connector, written: Sequence[SpecFiles], routes: Mapping[str, str], books: TableBooks
    ) -> TableShare | None:
        """Return what is announced of the table; None when it got no file."""
        if self.table is None or not written:
            return None
        by_spec: dict[int, SpecFiles] = {}
        for spec in written:
            known = by_spec.get(spec.spec_id)
            by_spec[spec.spec_id] = (
                spec if known is None else SpecFiles(spec.spec_id, spec.partition_type, known.files + spec.files)
            )
        *namespace, name = self.name.split(".")
        metadata = self.table.metadata
        return TableShare(
            reference=TableReference(connector.catalog_name, tuple(namespace), name, metadata.table_uuid),
            branch=connector.commit_branch or MAIN_BRANCH,
            schema_id=metadata.current_schema_id,
            nets=self.nets,
            routes=routes,
            files=tuple(by_spec.values()),
            books=books,
        )


def load_tables(tables: Tables, plan: Plan, piece: Slice, connector: Connector) -> list[SliceTable]:
    """Load the tables of a slice with their ledgers. One that refuses stays in the list and takes nothing.

    Raises the refusal when there is no other table to read the slice for, and in a replay, of which nothing is owed.
    """
    loaded = [_load(tables, plan, piece, connector, name) for name in piece.tables]
    refusal = next((table.refusal for table in loaded if table.refusal is not None), None)
    if refusal is not None and piece.kind.is_replay:
        raise refusal
    refuse_if_none_is_left(loaded)
    for table in loaded:
        if table.refusal is not None:
            log.error("table %s takes nothing and will owe these rows: %s", table.name, table.refusal)
        elif table.table is None:
            _warn_of_earlier_rows(plan, piece, table.name)
    return loaded


def refuse_if_none_is_left(tables: Sequence[SliceTable]) -> None:
    """Raise the first refusal when no table takes anything of the slice."""
    refusal = next((table.refusal for table in tables if table.refusal is not None), None)
    if refusal is not None and not any(table.nets for table in tables):
        raise refusal


def _load(tables: Tables, plan: Plan, piece: Slice, connector: Connector, name: str) -> SliceTable:
    taken = plan.taken(piece, name)
    try:
        table = tables.load(name) if connector.auto_create else tables.require(name)
        return SliceTable(name, table, _nets(table, plan, piece, connector, taken))
    except REFUSALS as error:
        return SliceTable(name, None, (), error)


def _nets(
    table: Table | None, plan: Plan, piece: Slice, connector: Connector, taken: Sequence[OffsetRange]
) -> tuple[tuple[OffsetRange, Intervals], ...]:
    """Return, per range, the offsets to write: those that the table does not hold; all, where they are appended anew."""
    if table is None:
        return tuple((r, _whole(r)) for r in taken)
    ledger = ledger_of(table, connector.commit_branch or MAIN_BRANCH, plan)
    if piece.kind is SliceKind.APPEND:
        return tuple((r, _whole(r)) for r in taken)
    if piece.kind is SliceKind.SKIP:
        refuse_unseeded(table, connector.commit_branch or MAIN_BRANCH, plan, ledger)
    routes = {r.topic: route_hash(r.topic, connector.commit_branch) for r in taken}
    refuse_other_routes(".".join(table.name()), ledger, piece.kind, [(r, routes[r.topic]) for r in taken])
    return tuple((r, ledger.net(r, routes[r.topic])) for r in taken)


def _whole(r: OffsetRange) -> Intervals:
    return Intervals.of([(r.start, r.end)])


def _warn_of_earlier_rows(plan: Plan, piece: Slice, table: str) -> None:
    """Say that a table about to be created cannot be the one that earlier runs wrote to."""
    if piece.kind is not SliceKind.LIVE:
        return
    for live in plan.live_ranges(piece.ranges):
        if live.since < live.range.start:
            log.warning(
                "table %s does not exist, but %s was read from %s on before: if the table was dropped, its rows are not "
                "read again by this DAG; the replay DAG reads them",
                table,
                live.range.tp,
                live.since,
            )
            return
