"""The state of a table: does it exist, is it the expected one, what does its ledger say, does it refuse?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol
from uuid import UUID

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.update.schema import UpdateSchema

from floe.exceptions import FloeError
from floe.model.ledger import Ledger
from floe.tables.exceptions import TableRefused

Uuids = Mapping[str, UUID | str | None]
"""The UUID that a table must have, by name; None: no table has it."""


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
