"""Planning a replacement: whether the tables tell which rows are to go, and how many those are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from floe.catalogs.catalog import Tables
from floe.commit.origin import OriginColumns, refuse_without_transform
from floe.commit.removal import Remover, refuse_shared_offsets
from floe.commit.routes import Routes
from floe.commit.table import ledger_of, origin_of, sent
from floe.config import Connector
from floe.offsets.exceptions import PlanRefused
from floe.offsets.plan import Plan
from floe.offsets.ranges import OffsetRange
from floe.offsets.replay import ReplayRequest


@dataclass(frozen=True, slots=True)
class RemovalForecast:
    """How many rows a replacement takes out of one table, by its metadata: exactly, or at most."""

    table: str
    rows: int
    is_exact: bool

    def to_json(self) -> dict[str, Any]:
        return {"table": self.table, "rows": self.rows, "exact": self.is_exact}

    def __str__(self) -> str:
        return f"{'' if self.is_exact else 'at most '}{self.rows}"


def forecast_removals(
    target: Connector, plan: Plan, request: ReplayRequest, ranges: Sequence[OffsetRange]
) -> tuple[RemovalForecast, ...]:
    """Return what goes of each table. Raises PlanRefused, TableRefused or TableMissing where that cannot be told."""
    if not request.tables:
        msg = (
            "overlap=replace needs `tables`, as the records name them: rows are taken out of those that are named, whether "
            "the records still go there or not. Name those that have rows of the range"
        )
        raise PlanRefused(msg)
    tables = Tables.of(target)
    return tuple(_forecast(tables, name, target, plan, ranges) for name in request.tables)


def _forecast(
    tables: Tables, name: str, target: Connector, plan: Plan, ranges: Sequence[OffsetRange]
) -> RemovalForecast:
    refuse_without_transform(name, target)
    table = tables.load(name) if target.auto_create else tables.require(name)
    if table is None:
        return RemovalForecast(name, 0, is_exact=True)
    branch = Routes(target).branch(name)
    ledger_of(table, branch, plan)
    remover = Remover(OriginColumns.of(table, target), ranges)
    refuse_shared_offsets(table, origin_of(table.metadata, branch, plan.group_id), plan.group_id, ranges)
    with sent(name):
        remover.refuse_unknown(table, branch)
        return RemovalForecast(name, *remover.most(table, branch))
