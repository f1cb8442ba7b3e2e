"""Tables that refuse what a plan or a replay would read for them: where all do, no Spark job is started."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from floe.config import Connector
from floe.exceptions import FloeError
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import Plan, Slice, SliceKind
from floe.planning.replay_request import Overlap, ReplayRequest
from floe.planning.slicing import NewOffsets, new_offsets_of
from floe.tables.connector_ledgers import Ledgers, LoadedTable
from floe.tables.exceptions import REFUSALS
from floe.tables.lake import Lake
from floe.tables.table_state import EVERY_TABLE, TableState, branch_ledger, check_seeded

log = logging.getLogger(__name__)

T = TypeVar("T")


def check_one_takes(plan: Plan, ledgers: Ledgers, connector: Connector) -> None:
    """Raise the first refusal when no table takes any of the new rows: missing, not permitted, rolled back, replaced.

    A table that refuses beside others that do not is left to the job: the others go on, and it is behind. So is a run
    that only catches up: its commit names what the tables are behind on.
    """
    if connector.routing.is_dynamic or not any(slice_.kind is SliceKind.LIVE for slice_ in plan.slices):
        return
    ledgers.look_up(connector.tables)
    refusals = {name: _refusal(name, plan, ledgers, connector) for name in connector.tables}
    first = next((error for error in refusals.values() if error is not None), None)
    if first is not None and not any(_takers(plan, slice_, refusals) for slice_ in plan.slices):
        raise first
    for name, error in refusals.items():
        if error is not None:
            log.warning("table %s gets no rows in this run: %s", name, error)


def _takers(plan: Plan, slice_: Slice, refusals: dict[str, FloeError | None]) -> list[str]:
    return [name for name in slice_.tables if plan.taken(slice_, name) and refusals.get(name) is None]


def _refusal(name: str, plan: Plan, ledgers: Ledgers, connector: Connector) -> FloeError | None:
    """Return why a table takes no rows, None where it does or where this run decides about it."""
    if name in plan.decisions.get("rolled_back", {}) or "adopt" in plan.decisions:
        return None
    try:
        known = ledgers.of(name)
        if isinstance(known, LoadedTable):
            branch_ledger(known.table, ledgers.routes.branch(name), plan.group_id, plan.cluster_id)
        elif not connector.creation.is_on:
            ledgers.tables.require(name)
    except REFUSALS as error:
        return error
    return None


# -- replays -----------------------------------------------------------------------------------------------------


def of_takers(states: Mapping[str, TableState], ask: Callable[[TableState], T]) -> dict[str, T]:
    """Return what ``ask`` finds out about each table that does not refuse, logging the others.

    Raises the first refusal when all tables refuse: the replay would do nothing.
    """
    found: dict[str, T] = {}
    refused: dict[str, FloeError] = {}
    for name, state in states.items():
        try:
            found[name] = ask(state.checked())
        except REFUSALS as error:
            refused[name] = error
    if refused and not found:
        raise next(iter(refused.values()))
    for name, problem in refused.items():
        log.warning("table %s takes nothing of this replay, which fails at its end: %s", name, problem)
    return found


class TableOffsets(NamedTuple):
    """The offsets of a replay's ranges that each table is to get, and how many it contains, where its ledger is known."""

    new: dict[str, NewOffsets]
    held: dict[str, dict[OffsetRange, int]]


def table_offsets(lake: Lake, plan: Plan, request: ReplayRequest, ranges: Iterable[OffsetRange]) -> TableOffsets:
    """Return what each table is to get; a table that refuses, as its ledger is not known, all.

    Raises PlanRefused for offsets that cannot be skipped, and the refusal of a table when no other lacks anything.
    """
    ranges = tuple(ranges)
    whole = {r: Intervals(((r.start, r.end),)) for r in ranges}
    if not request.tables:
        # which tables the records name is not known before they are read: each then leaves out what it contains
        return TableOffsets({EVERY_TABLE: whole}, {})

    def lacks(state: TableState) -> NewOffsets:
        if state.table is not None and request.overlap is Overlap.SKIP:
            check_seeded(state.table, state.branch, plan, state.ledger)
        return new_offsets_of(state.name, state.ledger, ranges, state.routes[request.topic], request.overlap)

    opened = lake.states(request.tables, [request.topic], must_exist=not lake.connector.creation.is_on)
    found = of_takers(opened, lacks)
    ledgers = {name: state.ledger for name, state in opened.items() if name in found}
    held = {name: {r: ledger.contained_by_any_route(r).offsets for r in ranges} for name, ledger in ledgers.items()}
    if len(found) < len(opened) and not any(any(offsets.values()) for offsets in found.values()):
        of_takers({name: state for name, state in opened.items() if name not in found}, lacks)
    return TableOffsets({name: found.get(name, whole) for name in opened}, held)
