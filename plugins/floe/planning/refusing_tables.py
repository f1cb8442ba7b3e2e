"""Tables that refuse what a plan would read for them: where all do, no Spark job is started."""

import logging

from floe.config import Connector
from floe.exceptions import FloeError
from floe.model.plan import Plan, Slice
from floe.model.slice_kind import ReadReason
from floe.tables.connector_ledgers import Ledgers, LoadedTable
from floe.tables.exceptions import REFUSALS
from floe.tables.table_ledger import branch_ledger

log = logging.getLogger(__name__)


def check_one_takes(plan: Plan, ledgers: Ledgers, connector: Connector) -> None:
    """Raise the first refusal when no table takes any of the new rows: missing, not permitted, rolled back, replaced.

    A table that refuses beside others that do not is left to the job: the others go on, and it is behind. So is a run
    that only catches up: its commit names what the tables are behind on.
    """
    if connector.routing.is_dynamic or not any(slice_.reason is ReadReason.LIVE for slice_ in plan.slices):
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
        elif not connector.auto_create:
            ledgers.tables.require(name)
    except REFUSALS as error:
        return error
    return None
