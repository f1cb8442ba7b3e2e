"""Planning a replacement: whether the tables show which rows are to be removed, and how many those are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from floe.config import Connector
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import KafkaMisconfigured
from floe.model.exceptions import PlanRefused
from floe.model.plan import Plan
from floe.model.ranges import OffsetRange
from floe.planning.refusing_tables import of_takers
from floe.planning.replay_request import ReplayRequest
from floe.tables.file_checks import file_access
from floe.tables.lake import Lake
from floe.tables.row_removal import RowRemover, check_no_shared_offsets
from floe.tables.source_columns import OriginColumns, check_has_transform
from floe.tables.table_state import TableState


def check_not_compacted(source: Cluster, topic: str) -> None:
    """Raise PlanRefused for a topic whose records may be gone although later ones are there.

    Their rows would be removed, and nothing could restore them.
    """
    try:
        policy = source.cleanup_policy(topic)
    except KafkaMisconfigured as error:
        msg = (
            f"overlap=replace cannot check whether topic {topic!r} is compacted, and would then remove rows whose records "
            f"are deleted. Nothing was removed. Grant DescribeConfigs on it, or use overlap=skip or append ({error})"
        )
        raise PlanRefused(msg, code="FLOE-305") from error
    if "compact" in policy:
        msg = (
            f"topic {topic!r} is compacted (cleanup.policy={policy}), so older records of a key may already be deleted. "
            "Replacing the range would remove their rows permanently. Use overlap=skip or append, or replace from a topic "
            "that keeps all records"
        )
        raise PlanRefused(msg, code="FLOE-305")


@dataclass(frozen=True, slots=True)
class RemovalForecast:
    """How many rows a replacement removes from one table, by its metadata: exactly, or at most."""

    table: str
    rows: int
    is_exact: bool

    def to_json(self) -> dict[str, Any]:
        return {"table": self.table, "rows": self.rows, "exact": self.is_exact}

    def __str__(self) -> str:
        return f"{'' if self.is_exact else 'at most '}{self.rows}"


def forecast_removals(
    target: Connector, open_lake: Callable[[], Lake], plan: Plan, request: ReplayRequest, ranges: Sequence[OffsetRange]
) -> tuple[RemovalForecast, ...]:
    """Return what is removed from each table that does not refuse. Raises PlanRefused, and the refusal when all refuse."""
    if not request.tables:
        msg = (
            "overlap=replace needs `tables`, as the records name them: rows are removed from the tables that are named, "
            "even if the records are routed elsewhere now. Nothing was removed. Name the tables that have rows of the range"
        )
        raise PlanRefused(msg, code="FLOE-305")
    for name in request.tables:
        check_has_transform(name, target)
    found = open_lake().states(request.tables, must_exist=not target.creation.is_on)
    return tuple(of_takers(found, lambda state: _forecast(state, target, plan, ranges)).values())


def _forecast(state: TableState, target: Connector, plan: Plan, ranges: Sequence[OffsetRange]) -> RemovalForecast:
    if state.table is None:
        return RemovalForecast(state.name, 0, is_exact=True)
    remover = RowRemover(OriginColumns.of(state.table, target), ranges)
    check_no_shared_offsets(state.table, state.branch, plan.group_id, ranges)
    with file_access(state.name):
        remover.refuse_unknown(state.table, state.branch)
        return RemovalForecast(state.name, *remover.most(state.table, state.branch))
