"""Applying the decisions about tables: their ledgers are changed, before or after the positions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from pyiceberg.table import Table

from floe.config import Connector
from floe.crash_points import CrashPoint, reach
from floe.model.decisions import Decisions, Rollback
from floe.model.exceptions import Superseded
from floe.model.holding import Holding, LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan
from floe.model.positions import Position
from floe.recovery.rollback import left_replacement, rolled_back, with_gained
from floe.tables.change import append_files
from floe.tables.connector_ledgers import Ledgers
from floe.tables.exceptions import TableRefused
from floe.tables.history import GROUP, SLICE, check_table_history, find_slice
from floe.tables.lake import Lake
from floe.tables.retry import retry
from floe.tables.table_state import Routes, origin_of

# Updating a ledger without rows: an empty snapshot that carries a decision.


@dataclass(frozen=True)
class KeepAnchor:
    """A ledger to be written without a new anchor: its history is still to be decided about."""

    ledger: Ledger


Amendment = Callable[[Table], Ledger | KeepAnchor | None]


def update_ledger(
    lake: Lake,
    name: str,
    amend: Amendment,
    summary: Mapping[str, str],
    branch_of: Callable[[Table], str] | None = None,
) -> int | None:
    """Commit the ledger that ``amend`` makes of a table, in an empty snapshot, and return the snapshot's id.

    ``branch_of``: the branch whose ledger it is, the connector's if not given.

    ``amend`` gets the table as it is at each attempt, and returns None when nothing is left to do. So repeats are
    harmless, and a commit whose answer was lost is recognized. Returns None when nothing was done. Raises what
    ``amend`` raises, TableRefused for a table that is gone, TableNotCommitted when the time for retries is over.
    """

    def attempt() -> int | None:
        table = lake.client.load(name)
        if table is None:
            msg = f"table {name!r} does not exist any more. No decision about it was applied"
            raise TableRefused(msg, code="FLOE-409")
        ledger = amend(table)
        if ledger is None:
            return None
        reach(CrashPoint.AMEND_TABLE)
        branch = branch_of(table) if branch_of is not None else lake.routes.branch(name)
        keeps = isinstance(ledger, KeepAnchor)
        written = ledger.ledger if isinstance(ledger, KeepAnchor) else ledger
        change = append_files(table, branch, summary, ())
        snapshot_id = lake.commit(table, change, written, keeps_anchor=keeps).snapshot_id
        reach(CrashPoint.AMEND_TABLE_LANDED)
        log.info("table %s: %s, snapshot %s", name, summary.get("floe.kind"), snapshot_id)
        return snapshot_id

    return retry(f"table {name!r}", lake.connector.committing.timeout_ms / 1000, attempt)


log = logging.getLogger(__name__)

ChangeOfLedger = Callable[[Table, str, Ledger], Ledger | KeepAnchor | None]
"""From a table, the branch whose ledger refers to it, and that ledger."""


class DecisionApplier:
    """The decisions of one plan that concern tables. Each step may be repeated.

    A decision holds for the state that it was made about: a ledger that has moved on since, by this plan or by others,
    is not changed.
    """

    def __init__(self, plan: Plan, connector: Connector) -> None:
        self._plan = plan
        self._connector = connector
        self._routes = Routes(connector)
        self._decisions = Decisions.of(plan.decisions)
        self._positions: Mapping[tuple[TopicPartition, str], Position] = {}

    def before_positions(self) -> None:
        """Record a new cluster in the ledgers, and remove offsets that the log of a reset topic assigns again.

        The ledgers are changed first. If the positions were changed first and the run died in between, new records at offsets
        that a ledger still names would be skipped.
        """
        if self._decisions.reset_topics:
            ledgers = Ledgers(self._connector)
            lake = Lake(ledgers.tables, self._connector, self._plan.cluster_id)
            for name in ledgers.with_dead_letters:
                if lake.client.load(name) is not None:
                    self._update_ledger(lake, name, "adopt", self._with_reset_topics)

    def after_positions(self, positions: Iterable[Position]) -> None:
        """Take rolled back offsets out of the ledgers, or let the ledgers go on from the present heads.

        ``positions``: the positions as they are now. They are written first, as they name the backlog. If the ledgers were
        changed first and the run died in between, the offsets to read again would be unknown.
        """
        if self._decisions.rolled_back:
            self._positions = {(p.tp, p.metadata_fields.topic_id): p for p in positions}
            lake = Lake.of(self._connector, self._plan.cluster_id)
            for name, how in self._decisions.rolled_back.items():
                change = self._reopened if how is Rollback.REPLAY else self._accepted
                self._update_ledger(lake, name, f"rolled-back-{how}", change)

    def _update_ledger(self, lake: Lake, name: str, kind: str, change: ChangeOfLedger) -> None:
        summary = {
            GROUP: self._plan.group_id,
            SLICE: f"{self._plan.plan_id}/{kind}",
            "floe.kind": kind,
            "engine-name": "floe",
        }

        def checked(table: Table) -> Ledger | KeepAnchor | None:
            origin = self._origin(table)
            ledger = read_properties(property_name(self._plan.group_id, origin), table.metadata.properties)
            if ledger is None or find_slice(table.metadata, origin, summary[SLICE]) is not None:
                return None
            changed = change(table, origin, ledger)
            if changed is None:
                return None
            if ledger.anchor is not None and ledger.anchor.snapshot_id != self._plan.anchors.get(name):
                msg = (
                    f"table {name!r} was changed since this run decided about it ({kind}): its ledger refers to snapshot "
                    f"{ledger.anchor.snapshot_id} now. Nothing was changed. If the table still refuses rows, trigger a new "
                    "run."
                )
                raise Superseded(msg)
            return changed

        update_ledger(lake, name, checked, summary, self._origin)

    def _origin(self, table: Table) -> str:
        return origin_of(table.metadata, self._routes.branch(".".join(table.name())), self._plan.group_id)

    def _with_reset_topics(self, table: Table, origin: str, ledger: Ledger) -> Ledger | KeepAnchor | None:
        updated_ledger = ledger.cut(self._cuts()).of_cluster(self._plan.cluster_id)
        if updated_ledger == ledger:
            return None
        is_whole = self._leads_back(table, origin, ledger)
        return updated_ledger if is_whole else KeepAnchor(updated_ledger)

    def _leads_back(self, table: Table, origin: str, ledger: Ledger) -> bool:
        return check_table_history(table, origin, self._plan.group_id, ledger).leads_back

    def _cuts(self) -> dict[LogId, tuple[int, Position]]:
        """Return the cuts of the plan by the ids of their logs, each with the position from which the log is read on."""
        return {
            LogId(p.tp.topic, p.metadata_fields.topic_id, p.tp.partition): (self._plan.cuts[p.tp], p)
            for p in self._plan.positions
            if p.tp in self._plan.cuts
        }

    def _reopened(self, table: Table, origin: str, ledger: Ledger) -> Ledger | None:
        lost = rolled_back(table, origin, self._plan.group_id, ledger)
        if lost is None:
            return None
        self._warn_of_dead_letters(table, origin, ledger)
        reopened = with_gained(table, origin, self._plan.group_id, ledger, ledger.without(lost))
        holdings = dict(reopened.holdings)
        for log_id, gone in lost.items():
            position = self._positions.get((TopicPartition(log_id.topic, log_id.partition), log_id.topic_id))
            if position is None or not gone:
                continue  # of an older incarnation of the topic: nothing of it can be read again
            self._check_has_backlog(".".join(table.name()), position, gone.spans[0][0])
            holding = holdings.get(log_id, Holding())
            holdings[log_id] = replace(holding, live_end=None, position=(position.offset, position.metadata))
        return reopened.holding(holdings)

    def _warn_of_dead_letters(self, table: Table, origin: str, ledger: Ledger) -> None:
        """Warn that records may have both a row again and an open dead letter; no ledger shows which of them."""
        left = left_replacement(table, origin, self._plan.group_id, ledger)
        if left is not None and self._plan.dead_letters is not None:
            log.warning(
                "table %s was rolled back past a replacement (slice %s): the rows that it removed are back, and the dead "
                "letters that it made are still open. Replace its range again before you redrive them.",
                ".".join(table.name()),
                left,
            )

    def _check_has_backlog(self, name: str, position: Position, start: int) -> None:
        """Raise unless the position has a backlog of the table for what is about to leave its ledger."""
        backlog = position.backlogs.get(name)
        if start < position.offset and (backlog is None or start < backlog.start):
            msg = (
                f"table {name!r} was rolled back further since the plan was made. Its ledger was not changed. Trigger the "
                f'DAG again with rolled_back={{"{name}": "replay"}}'
            )
            raise Superseded(msg)

    def _accepted(self, table: Table, origin: str, ledger: Ledger) -> Ledger | None:
        if self._leads_back(table, origin, ledger):
            return None
        self._warn_of_dead_letters(table, origin, ledger)
        return with_gained(table, origin, self._plan.group_id, ledger, ledger)
