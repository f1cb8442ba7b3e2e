"""One table of a slice, as the driver sees it: what it takes, what it lacks, and its share of the announcement."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from floe.catalogs.client import Tables
from floe.config import Connector
from floe.control.announcement import SpecFiles, TableShare
from floe.control.data_files import partition_type_of
from floe.control.wire.events import TableReference
from floe.exceptions import FloeError
from floe.model.accounting import TableBooks
from floe.model.dead_letters import MOST_SPANS, LetterOffsets
from floe.model.intervals import Intervals
from floe.model.ledger import Ledger, LogId
from floe.model.plan import Plan, Slice
from floe.model.ranges import OffsetRange
from floe.model.slice_kind import ReadReason, WriteModeName
from floe.tables.exceptions import REFUSALS, TableRefused
from floe.tables.routes import Routes
from floe.tables.source_columns import OriginColumns
from floe.tables.table_ledger import ledger_of, refuse_other_routes, refuse_unseeded
from floe_job.contract.target import Target
from floe_job.driver.write_check import check_writable
from floe_job.exceptions import SliceFailed, SliceRefused
from floe_job.schema.evolution import SchemaNeeds
from floe_job.schema.rules import ColumnRules

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SliceTable:
    """A table with what its ledger says of the slice. ``table`` is None while it does not exist.

    ``nets``: of the ranges whose rows it takes, the offsets that are to be written. ``refusal``: why it takes none.
    ``revived``: letters in these ranges that its ledger knows to be rows. ``replaces``: its rows of the ranges are to go.
    """

    name: str
    table: Table | None
    nets: tuple[tuple[OffsetRange, Intervals], ...]
    refusal: FloeError | None = None
    revived: Mapping[LogId, Intervals] = field(default_factory=dict)
    replaces: bool = False

    def target(self, piece: Slice, connector: Connector, letters: LetterOffsets | None = None) -> Target:
        """Return what a worker needs to know of the table; ``letters``: those that are open."""
        # every task carries this: of thousands of ranges only those that a repeated run finds held
        held = {r: held for r, net in self.nets if (held := _whole(r) - net)}
        owed = frozenset(piece.ranges) - {r for r, _ in self.nets}
        rules = column_rules(connector)
        watched = {r: found for r in piece.ranges if (found := self._watched(r, letters))}
        if self.table is None:
            return Target(
                self.name,
                held=held,
                owed=owed,
                rules=rules,
                transforms=connector.transforms,
                letters=watched,
                value_converter=connector.value_converter,
            )
        # workers need schema, spec, location and properties; the snapshots would be shipped to each of them
        slim = self.table.metadata.model_copy(
            update={"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}, "current_snapshot_id": None}
        )
        properties = {**self.table.metadata.properties, **connector.write_props}
        return Target(
            self.name,
            slim,
            self.table.io,
            properties,
            held,
            owed,
            rules,
            connector.transforms,
            watched,
            connector.value_converter,
        )

    def _watched(self, r: OffsetRange, letters: LetterOffsets | None) -> Intervals:
        """Return the records whose fate counts: with open letters, and those that were such before they are replaced."""
        waiting = letters.reaching(self.name, r) if letters else Intervals()
        return waiting | self.revived.get(LogId.of(r), Intervals()) if self.replaces else waiting

    def grown(self, tables: Tables, connector: Connector, needs: SchemaNeeds) -> "SliceTable":
        """Create the table, or give it what it lacks in one update."""
        if self.table is None:
            log.info("creating table %s with %s columns", self.name, needs.count())
            return replace(self, table=self._created(tables, connector, needs))
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

    def _created(self, tables: Tables, connector: Connector, needs: SchemaNeeds) -> Table:
        settings = connector.table(self.name)
        return tables.create(self.name, needs.new_schema(), settings, connector.schema.on_unsuitable)

    def share(
        self, connector: Connector, written: Sequence[SpecFiles], routes: Mapping[str, str], books: TableBooks
    ) -> TableShare | None:
        """Return what is announced of the table; None when it got no file.

        What is replaced is announced without files, too: the rows that the table has are to go.
        """
        if self.table is None or not (written or self.replaces):
            return None
        by_spec: dict[int, SpecFiles] = {}
        for spec in written:
            known = by_spec.get(spec.spec_id)
            by_spec[spec.spec_id] = (
                spec if known is None else SpecFiles(spec.spec_id, spec.partition_type, known.files + spec.files)
            )
        *namespace, name = self.name.split(".")
        metadata = self.table.metadata
        if not by_spec:
            spec_id = metadata.default_spec_id
            by_spec[spec_id] = SpecFiles(spec_id, partition_type_of(metadata.spec(), metadata.schema()), ())
        seen = self.revived if self.replaces else {}
        if sum(len(offsets.spans) for offsets in seen.values()) > MOST_SPANS:
            msg = (
                f"table {self.name!r} has rows of dead letters in more than {MOST_SPANS} spans of the offsets that are to be "
                "replaced: an announcement names no more. Nothing was announced; replay with a smaller max_records"
            )
            raise SliceRefused(msg)
        return TableShare(
            reference=TableReference(connector.catalog.name, tuple(namespace), name, metadata.table_uuid),
            branch=Routes(connector).branch(self.name),
            schema_id=metadata.current_schema_id,
            nets=self.nets,
            routes=routes,
            files=tuple(by_spec.values()),
            books=books,
            seen=seen,
        )


def refuse_if_none_is_left(tables: Sequence[SliceTable]) -> None:
    """Raise the first refusal when no table takes anything of the slice."""
    refusal = next((table.refusal for table in tables if table.refusal is not None), None)
    if refusal is not None and not any(table.nets for table in tables):
        raise refusal


def missing_table(plan: Plan, piece: Slice, name: str) -> SliceTable:
    """Return a table that does not exist."""
    nets = tuple((r, _wanted(piece, name, r)) for r in plan.taken(piece, name))
    return SliceTable(name, None, nets, replaces=piece.mode is WriteModeName.REPLACE)


def load_table(tables: Tables, plan: Plan, piece: Slice, connector: Connector, name: str) -> SliceTable:
    """Load one table with its ledger; one that refuses, or is missing and may not be created, takes nothing."""
    taken, replaces = plan.taken(piece, name), piece.mode is WriteModeName.REPLACE
    try:
        is_asked_for = bool(piece.tables) and not connector.auto_create
        table = tables.require(name) if is_asked_for else tables.load(name)
        refuse_dropped(plan, name, table)
        if table is None:
            return missing_table(plan, piece, name)
        if replaces:
            OriginColumns.of(table, connector)
        ledger = ledger_of(table, Routes(connector).branch(name), plan)
        revived = {LogId.of(r): found for r in taken if (found := ledger.revived(r))}
        nets = _nets(table, ledger, plan, piece, connector, taken)
        loaded = SliceTable(name, table, nets, revived=revived, replaces=replaces)
        check_writable(loaded.target(piece, connector))
        return loaded
    except REFUSALS as error:
        return SliceTable(name, None, (), error)


def refuse_dropped(plan: Plan, name: str, table: Table | None) -> None:
    """Raise TableRefused when the table that the plan found is gone: a new one would hide that its rows are."""
    known = plan.tables.get(name)
    if known is not None and (table is None or str(table.metadata.table_uuid) != known):
        msg = (
            f"table {name!r} ({known}) was dropped or replaced after this run was planned. Nothing is written for it; the "
            "next plan says what is missing"
        )
        raise TableRefused(msg, code="FLOE-409")


def _nets(
    table: Table, ledger: Ledger, plan: Plan, piece: Slice, connector: Connector, taken: Sequence[OffsetRange]
) -> tuple[tuple[OffsetRange, Intervals], ...]:
    """Return, per range, the offsets to write: those that the table does not hold; all, where they are appended anew.

    A re-drive writes what is held without a row, and leaves out letters that have one by now.
    """
    name, all_routes = ".".join(table.name()), Routes(connector)
    branch = all_routes.branch(name)
    if piece.reason is ReadReason.DEAD_LETTERS:
        return tuple((r, _wanted(piece, name, r) - ledger.revived(r)) for r in taken)
    if piece.mode in (WriteModeName.APPEND_AGAIN, WriteModeName.REPLACE):
        return tuple((r, _whole(r)) for r in taken)
    if piece.is_replay:
        refuse_unseeded(table, branch, plan, ledger)
    routes = all_routes.of(name, {r.topic for r in taken})
    refuse_other_routes(name, ledger, piece, [(r, routes[r.topic]) for r in taken])
    return tuple((r, ledger.net(r, routes[r.topic])) for r in taken)


def _wanted(piece: Slice, name: str, r: OffsetRange) -> Intervals:
    """Return what a table that holds nothing gets of a range."""
    return piece.letters.reaching(name, r) if piece.reason is ReadReason.DEAD_LETTERS else _whole(r)


def _whole(r: OffsetRange) -> Intervals:
    return Intervals.of([(r.start, r.end)])


def warn_of_earlier_rows(plan: Plan, piece: Slice, table: str) -> None:
    """Say that a table about to be created cannot be the one that earlier runs wrote to."""
    if piece.reason is not ReadReason.LIVE:
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


def column_rules(connector: Connector) -> ColumnRules:
    """Return the rules by which records find their columns."""
    schema = connector.schema
    return ColumnRules(
        evolve=schema.evolve,
        case_insensitive=schema.case_insensitive,
        on_conflict=schema.on_conflict,
    )
