"""The tables of a slice, as the driver gets to know them: by the connector, by earlier runs, by the records."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from floe.catalogs.client import Tables
from floe.config import Connector
from floe.model.dead_letters import LetterOffsets
from floe.model.plan import Plan, Slice
from floe.model.slice_kind import ReadReason
from floe.tables.exceptions import REFUSALS
from floe_job.contract.target import Target
from floe_job.contract.task import RouteRules
from floe_job.driver.slice_table import (
    SliceTable,
    column_rules,
    load_table,
    missing_table,
    refuse_if_none_is_left,
    warn_of_earlier_rows,
)
from floe_job.exceptions import BadRecords
from floe_job.schema.evolution import SchemaNeeds

log = logging.getLogger(__name__)

AT_ONCE = 8
"""Tables that the catalog is asked about at once."""

MOST_LOOKED_UP = 100
"""Tables that are looked up one by one, whether they exist or not; of more, the catalog's lists tell first."""


class SliceTables:
    """Loads, creates and changes the tables of one slice."""

    def __init__(
        self,
        tables: Tables,
        plan: Plan,
        piece: Slice,
        connector: Connector,
        letters: LetterOffsets | None = None,
    ) -> None:
        self._letters = letters
        self._tables = tables
        self._plan = plan
        self._slice = piece
        self._connector = connector
        self._is_closed = not connector.routing.is_dynamic or bool(piece.tables)
        self._created = 0
        self._recent: frozenset[str] = frozenset()
        self._warned: set[str] = set()
        self.by_name: dict[str, SliceTable] = {}

    def load(self, recent: Iterable[str]) -> None:
        """Load the slice's tables; where records name them, those that ``recent`` runs wrote, and those of its letters.

        One that refuses stays and takes nothing. Raises the refusal when there is no other table to read the slice for,
        and in a replay, of which nothing is owed.
        """
        of_letters = self._slice.letters.tables
        self._recent = frozenset(recent)
        loaded = self._load(self._slice.tables or self._guessed(of_letters))
        if not self._slice.tables:
            loaded = [table for table in loaded if table.name in of_letters or self._is_worth_keeping(table)]
        self._keep(loaded)
        if self._slice.tables:
            refuse_if_none_is_left(loaded)
        self._warn_of_refusals()

    def _guessed(self, of_letters: Collection[str]) -> list[str]:
        """Return the tables to look up before any record was read; anybody may have named the recent ones."""
        recent, _ = self._sorted_out(sorted(self._recent))
        return sorted({*recent, *of_letters})

    def _is_worth_keeping(self, table: SliceTable) -> bool:
        """Say whether a table that was guessed is there. In a replay, one that refuses counts once a record names it."""
        return table.table is not None or (table.refusal is not None and not self._slice.is_replay)

    def discover(self, names: Collection[str]) -> None:
        """Look up tables that records named; from here on, no others are known. Raises the refusal in a replay."""
        asked = sorted(set(names) - self.by_name.keys())
        looked_up, missing = self._sorted_out(asked)
        loaded = self._load(looked_up)
        room = self._connector.routing.most_new_tables - self._created if self._connector.auto_create else 0
        new = [table for table in loaded if table.table is None and table.refusal is None]
        self._keep(table for table in loaded if table.table is not None or table.refusal is not None)
        count = len(new) + len(missing)
        new += [missing_table(self._plan, self._slice, name) for name in missing[: max(room - len(new), 0)]]
        self._keep(new[: max(room, 0)])
        self._created += min(len(new), max(room, 0))
        if count > room:
            log.error("%s tables that records name are not created: %s", count - room, self._strange())
        self._is_closed = True
        self._warn_of_refusals()

    def grow(self, needs: Mapping[str, SchemaNeeds]) -> None:
        """Give the tables what they lack, several at once; one that does not take it refuses, and will owe its rows."""
        names = [name for name in needs if name in self.by_name]
        # new tables may share a namespace that is new too: some catalogs fail when two create it at once
        new = [name for name in names if self.by_name[name].table is None]
        grown = [self._grown(self.by_name[name], needs[name]) for name in new]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            others = [name for name in names if name not in new]
            grown += pool.map(lambda name: self._grown(self.by_name[name], needs[name]), others)
        self.by_name |= {table.name: table for table in grown}
        if self._slice.tables:
            refuse_if_none_is_left(list(self.by_name.values()))
        self._warn_of_refusals()

    def drop_barren(self, assigned: Mapping[str, int]) -> list[str]:
        """Give up tables that cannot be created, as none of their records has a field; ``assigned``: rows by table.

        Raises BadRecords where the connector names the table.
        """
        barren = [
            name
            for name, rows in assigned.items()
            if rows and name in self.by_name and self.by_name[name].table is None and not self.by_name[name].refusal
        ]
        for name in barren:
            if not self._connector.routing.is_dynamic or name in self._slice.tables:
                msg = (
                    f"table {name!r} cannot be created: none of the {assigned[name]} records has a field with a "
                    "value. Nothing was announced; create the table yourself, or wait for records with fields."
                )
                raise BadRecords(msg)
            del self.by_name[name]
        return barren

    # -- what tasks are given -----------------------------------------------------------------------------------------

    def targets(self) -> tuple[Target, ...]:
        return tuple(table.target(self._slice, self._connector, self._letters) for table in self.by_name.values())

    def guess(self) -> Target | None:
        """What a table is taken for that no task was given; None where floe may not create it."""
        if self._is_closed or not self._connector.auto_create:
            return None
        return Target(
            "",
            rules=column_rules(self._connector),
            transforms=self._connector.transforms,
            value_converter=self._connector.value_converter,
        )

    def routes(self) -> RouteRules:
        connector, piece = self._connector, self._slice
        is_whole = set(piece.tables) == set(connector.tables)
        return RouteRules(
            routing=connector.routing,
            tables=tuple((name, connector.table(name)) for name in connector.tables),
            only=None if is_whole else frozenset(piece.tables),
            judges=is_whole and piece.reason is not ReadReason.CATCH_UP,
            reserved=connector.properties.get("floe.deadletter.table", "").strip().lower() or None,
            closed=self._strange() if self._is_closed else None,
            redriven=piece.letters if piece.reason is ReadReason.DEAD_LETTERS else None,
            value_converter=connector.value_converter,
            transforms=connector.transforms,
        )

    def _strange(self) -> str:
        if not self._connector.auto_create:
            return "does not exist, and iceberg.tables.auto-create-enabled is false"
        return (
            "does not exist, and this run creates none beyond floe.route.max-new-tables "
            f"({self._connector.routing.most_new_tables}), nor one whose records have no field"
        )

    # -- the catalog --------------------------------------------------------------------------------------------------

    def _sorted_out(self, names: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Part names into those to look up and those that the catalog does not list: anybody may name 20,000.

        Some that it does not list are looked up all the same, as a catalog may keep tables from its lists.
        """
        listed = self._tables.listed(names) if len(names) > MOST_LOOKED_UP else None
        if listed is None:
            return names, ()
        others = [name for name in names if name not in listed]
        return [*sorted(listed), *others[:MOST_LOOKED_UP]], others[MOST_LOOKED_UP:]

    def _load(self, names: Sequence[str]) -> list[SliceTable]:
        if not names:
            return []
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(
                pool.map(lambda n: load_table(self._tables, self._plan, self._slice, self._connector, n), names)
            )

    def _keep(self, loaded: Iterable[SliceTable]) -> None:
        for table in loaded:
            if table.refusal is not None:
                if self._slice.is_replay:
                    raise table.refusal
            elif table.table is None and (self._slice.tables or table.name in self._recent):
                warn_of_earlier_rows(self._plan, self._slice, table.name)
            self.by_name[table.name] = table

    def _warn_of_refusals(self) -> None:
        """Name the tables that take nothing, once, where the slice goes on without them."""
        for table in self.by_name.values():
            if table.refusal is not None and table.name not in self._warned:
                self._warned.add(table.name)
                log.warning("table %s cannot take these rows: %s", table.name, table.refusal)

    def _grown(self, table: SliceTable, needs: SchemaNeeds) -> SliceTable:
        try:
            return table.grown(self._tables, self._connector, needs)
        except REFUSALS as error:
            if self._slice.is_replay:
                raise
            return SliceTable(table.name, None, (), error)
