"""Looks up the tables of a slice in the catalog: of the connector, of earlier runs, of records. Creates and changes them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import TimeType

from floe.catalogs.exceptions import CatalogLoginRefused
from floe.control.searches import announced_ranges
from floe.control.topic_reader import control_ends
from floe.kafka.admin import Cluster
from floe.model.ledger import Ledger
from floe.model.offsets import OffsetRange
from floe.model.plan import SliceKind
from floe.tables.lake import PARALLELISM, Lake
from floe.tables.table_state import TableState
from floe_job.driver.job import SliceJob
from floe_job.driver.slice_tables import SliceTable, SliceTables, raise_if_none_is_left, unknown_table_reason
from floe_job.schema.evolution import SchemaChanges

log = logging.getLogger(__name__)

MAX_LOOKED_UP = 100
"""Tables that are looked up one by one, whether they exist or not; with more, the catalog's lists are read first."""


@dataclass(frozen=True)
class TableLookup:
    """Opens, creates and changes the tables of one slice."""

    job: SliceJob
    lake: Lake

    def open(self, recent: Iterable[str]) -> SliceTables:
        """Open the slice's tables; where records name them, those that ``recent`` runs wrote, and those of its dead letters.

        A table that refuses is kept and takes nothing. Raises its problem when there is no other table to read the slice for.
        """
        slice_, connector = self.job.slice, self.job.connector
        tables = SliceTables(are_all=not connector.routing.is_dynamic or bool(slice_.tables), recent=frozenset(recent))
        if slice_.tables:
            opened = self._opened(slice_.tables)
        else:
            of_dead_letters = slice_.dead_letters.tables
            likely, _ = self._listed(sorted(tables.recent))  # any producer may have named the recent ones
            opened = self._opened(sorted({*likely, *of_dead_letters}))
            opened = [table for table in opened if table.name in of_dead_letters or not table.state.is_new]
        tables = self._with(tables, opened)
        if slice_.tables:
            raise_if_none_is_left(opened)
        return tables

    def discover(self, tables: SliceTables, names: Collection[str]) -> SliceTables:
        """Look up tables that records named; after that, all tables are known."""
        connector = self.job.connector
        asked, missing = self._listed(sorted(set(names) - tables.by_name.keys()))
        opened = self._opened(asked)
        room = connector.routing.max_new_tables if connector.creation.is_on else 0
        new = [table for table in opened if table.state.is_new]
        count = len(new) + len(missing)
        new += [SliceTable.of(self.job, self._absent(name)) for name in missing[: max(room - len(new), 0)]]
        known = [table for table in opened if not table.state.is_new]
        found = self._with(tables, [*known, *new[: max(room, 0)]])
        if count > room:
            reason = unknown_table_reason(connector)
            log.error("%s tables that records name are not created: %s", count - room, reason)
        return SliceTables(found.by_name, are_all=True, recent=found.recent)

    def evolve(self, tables: SliceTables, changes: Mapping[str, SchemaChanges]) -> SliceTables:
        """Create tables, or add what they lack, several at once. A table that cannot be changed refuses.

        Raises its problem when no table is left.
        """
        named = [tables.by_name[name] for name in changes if name in tables.by_name]
        # new tables may share a namespace that is new too: some catalogs fail when two create it at once
        evolved = [self._evolved(table, changes[table.name]) for table in named if table.table is None]
        others = [table for table in named if table.table is not None]
        with ThreadPoolExecutor(PARALLELISM) as pool:
            evolved += pool.map(lambda table: self._evolved(table, changes[table.name]), others)
        found = tables.including(refused_by_records(self.job, evolved))
        if self.job.slice.tables:
            raise_if_none_is_left(list(found.by_name.values()))
        _warn_of_problems(tables, found)
        return found

    def _evolved(self, table: SliceTable, changes: SchemaChanges) -> SliceTable:
        evolved = table.in_state(self.job, self.lake.evolve(table.state, changes))
        _warn_of_times(table, evolved)
        return evolved

    def _opened(self, names: Sequence[str]) -> list[SliceTable]:
        must_exist = bool(self.job.slice.tables) and not self.job.connector.creation.is_on
        states = self.lake.states(names, self.job.topics, must_exist=must_exist, uuid=self.job.plan.tables)
        with ThreadPoolExecutor(PARALLELISM) as pool:
            return list(pool.map(lambda state: SliceTable.of(self.job, state), states.values()))

    def _absent(self, name: str) -> TableState:
        """Return the state of a table that the catalog does not list."""
        routes = self.lake.routes
        ledger = Ledger(self.job.plan.cluster_id)
        return TableState(name, None, routes.branch(name), routes.of(name, self.job.topics), ledger)

    def _listed(self, names: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Divide names into those to look up and those that the catalog does not list: a producer may name 20,000.

        Some that it does not list are looked up anyway, as a catalog may omit tables from its lists.
        """
        listed = self.lake.client.listed(names) if len(names) > MAX_LOOKED_UP else None
        if listed is None:
            return names, ()
        others = [name for name in names if name not in listed]
        return [*sorted(listed), *others[:MAX_LOOKED_UP]], others[MAX_LOOKED_UP:]

    def _with(self, tables: SliceTables, opened: Iterable[SliceTable]) -> SliceTables:
        """Return the tables and those that were opened."""
        opened = list(opened)
        for table in opened:
            if table.state.is_new and (self.job.slice.tables or table.name in tables.recent):
                _warn_of_earlier_rows(self.job, table.name)
        found = tables.including(refused_by_records(self.job, opened))
        _warn_of_problems(tables, found)
        return found


def _warn_of_problems(before: SliceTables, now: SliceTables) -> None:
    """Log the tables that have begun to refuse, where the slice continues without them."""
    known = {table.name for table in before.refusing}
    for table in now.refusing:
        if table.name not in known:
            what = "its records become dead letters" if table.is_for_dead_letters else "it is left out"
            log.warning("table %s cannot take these rows, %s: %s", table.name, what, table.problem)


def _warn_of_times(before: SliceTable, now: SliceTable) -> None:
    """Log the first columns of times of the day that a table gets: not every engine has such a type."""
    if now.table is None or (before.table is not None and _times(before.table.schema())):
        return
    names = _times(now.table.schema())
    if names:
        log.warning(
            "table %s has the column %s of the type time: Spark reads no table with one. For Spark, drop the column, and "
            "leave the field out or make it another type by a transform",
            now.name,
            ", ".join(names),
        )


def _times(schema: Schema) -> list[str]:
    return [name for name in schema.column_names if isinstance(schema.find_type(name), TimeType)]


def _warn_of_earlier_rows(job: SliceJob, table: str) -> None:
    """Log that a table about to be created cannot be the one that earlier runs wrote to."""
    if job.slice.kind is not SliceKind.LIVE:
        return
    for live in job.plan.live_ranges(job.slice.ranges):
        if live.since < live.range.start:
            log.warning(
                "table %s does not exist, but %s was read from %s on before. If the table was dropped, this DAG does not "
                "read its rows again; the replay DAG does",
                table,
                live.range.tp,
                live.since,
            )
            return


# Tables that records named and that refuse: whether their records may become dead letters.
#
# A record must not be a row and a dead letter. A run that died may have committed rows of the same offsets. A ledger
# that can be read shows them. Where it cannot, the control topic does: nothing is committed that was not announced.


def refused_by_records(job: SliceJob, tables: Iterable[SliceTable]) -> list[SliceTable]:
    """Return the tables; of those that refuse, and that only records named, the records become dead letters.

    One that may contain rows of the slice, which cannot be known, is behind. Raises LoginRefused: that is no table's error.
    """
    tables = list(tables)
    unknown = [table.name for table in tables if _is_unknown(job, table)]
    if not unknown:
        return tables
    plan = job.plan
    ends = control_ends(Cluster.of_control(job.settings), plan.control_topic)
    announced = announced_ranges(job.settings, plan.control_topic, ends, plan.group_id, unknown)
    written = {name for name, ranges in announced.items() if _meet(ranges, job.slice.ranges)}
    return [
        table.without_rows(job) if table.name in unknown and table.name not in written else table for table in tables
    ]


def _is_unknown(job: SliceJob, table: SliceTable) -> bool:
    """Return whether the records of a table could be dead letters, if it were known what the table contains."""
    if table.problem is None or table.is_for_dead_letters or not job.gives_dead_letters_for(table.name):
        return False
    if isinstance(table.problem, CatalogLoginRefused):
        raise table.problem
    return True


def _meet(announced: Iterable[OffsetRange], ranges: Iterable[OffsetRange]) -> bool:
    """Return whether two sets of ranges have an offset in common."""
    by_log = {(r.topic, r.topic_id, r.partition): r for r in ranges}
    return any(
        (r := by_log.get((other.topic, other.topic_id, other.partition))) is not None
        and other.start < r.end
        and r.start < other.end
        for other in announced
    )
