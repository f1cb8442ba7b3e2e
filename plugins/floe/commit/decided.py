"""Carrying out what was decided about tables: their ledgers follow, before or after the positions do."""

from collections.abc import Mapping

from pyiceberg.table import Table

from floe.catalogs.catalog import Tables
from floe.commit.amend import amend
from floe.commit.ancestry import GROUP, SLICE, changed_history, refuse_changed_history
from floe.commit.exceptions import Superseded
from floe.commit.rollback import rolled_back
from floe.config import Connector
from floe.offsets.decisions import Decisions, Rollback
from floe.offsets.intervals import Intervals
from floe.offsets.ledger import Holding, Ledger, LogId, property_name, read_properties
from floe.offsets.plan import Plan
from floe.offsets.position import Position
from floe.offsets.ranges import TopicPartition
from floe.offsets.routing import MAIN_BRANCH

_ALL = 2**63 - 1


class Decided:
    """The decisions of one plan that concern tables. Each step may be repeated."""

    def __init__(self, plan: Plan, connector: Connector) -> None:
        self._plan = plan
        self._connector = connector
        self._branch = connector.commit_branch or MAIN_BRANCH
        self._decisions = Decisions.of(plan.decisions)

    def before_positions(self) -> None:
        """Let the ledgers know an adopted cluster, and forget offsets that an adopted log gives out once more.

        First the ledgers: were the positions first, and the run dead in between, new records at offsets that a ledger
        still names would be passed over.
        """
        if not self._decisions.adopt:
            return
        tables = Tables.of(self._connector)
        for name in self._connector.tables:
            if tables.load(name) is not None:
                amend(tables, self._connector, name, self._adopted, self._summary("adopt"))

    def after_positions(self) -> None:
        """Take rolled back offsets out of the ledgers, or let the ledgers go on from the present heads.

        First the positions, which name the debt: were the ledgers first, and the run dead in between, nobody would know
        what is to be read again.
        """
        if not self._decisions.rolled_back:
            return
        tables = Tables.of(self._connector)
        for name, how in self._decisions.rolled_back.items():
            change = self._reopened if how is Rollback.REPLAY else self._accepted
            amend(tables, self._connector, name, change, self._summary(f"rolled-back-{how}"))

    def _summary(self, kind: str) -> dict[str, str]:
        return {
            GROUP: self._plan.group_id,
            SLICE: f"{self._plan.plan_id}/{kind}",
            "floe.kind": kind,
            "engine-name": "floe",
        }

    def _ledger(self, table: Table) -> Ledger | None:
        return read_properties(property_name(self._plan.group_id, self._branch), table.metadata.properties)

    def _adopted(self, table: Table) -> Ledger | None:
        ledger = self._ledger(table)
        if ledger is None:
            return None
        refuse_changed_history(".".join(table.name()), table.metadata, self._branch, self._plan.group_id, ledger)
        gone = {log_id: Intervals(((cut, _ALL),)) for log_id, cut in self._cuts().items()}
        amended = ledger.without(gone).of_cluster(self._plan.cluster_id)
        return None if amended == ledger else amended

    def _cuts(self) -> Mapping[LogId, int]:
        """Return, for logs that were found to end below their position, where they are read on from."""
        now = {p.tp: p for p in self._plan.positions}
        cuts = {}
        for old in self._plan.replaced:
            new = now.get(old.tp)
            if new is None or not self._decisions.adopts(old.tp.topic) or not _same_log(old, new):
                continue
            if new.offset < old.offset:
                cuts[LogId(new.tp.topic, new.facts.topic_id, new.tp.partition)] = new.offset
        return cuts

    def _reopened(self, table: Table) -> Ledger | None:
        ledger = self._ledger(table)
        lost = rolled_back(table, self._branch, self._plan.group_id, ledger) if ledger is not None else None
        if ledger is None or lost is None:
            return None
        name = ".".join(table.name())
        positions = {(p.tp, p.facts.topic_id): p for p in self._plan.positions}
        reopened = ledger.without(lost)
        holdings = dict(reopened.holdings)
        for log_id, gone in lost.items():
            position = positions.get((TopicPartition(log_id.topic, log_id.partition), log_id.topic_id))
            if position is None or not gone:
                continue  # of an older incarnation of the topic: nothing of it can be read again
            debt = position.debts.get(name)
            if (debt is None and gone.spans[0][0] < position.offset) or (
                debt is not None and gone.spans[0][0] < debt.start
            ):
                msg = (
                    f"table {name!r} was rolled back further since the plan was made: trigger the DAG again with "
                    f'rolled_back={{"{name}": "replay"}}'
                )
                raise Superseded(msg)
            holding = holdings.get(log_id, Holding())
            holdings[log_id] = Holding(holding.held, None, (position.offset, position.metadata))
        return reopened.holding(holdings)

    def _accepted(self, table: Table) -> Ledger | None:
        ledger = self._ledger(table)
        if ledger is None:
            return None
        name = ".".join(table.name())
        return ledger if changed_history(name, table.metadata, self._branch, self._plan.group_id, ledger) else None


def _same_log(old: Position, new: Position) -> bool:
    return '"floe"' in old.metadata and old.facts.topic_id == new.facts.topic_id
