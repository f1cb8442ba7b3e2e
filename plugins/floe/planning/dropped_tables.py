"""Tables that the connector filled and that are gone, or are other ones by now: nothing is read before that is decided."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from floe.config import Connector
from floe.control.searches import filled_tables
from floe.control.topic_reader import control_ends
from floe.exceptions import FloeError
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.decisions import Decisions, DroppedTable
from floe.model.exceptions import PlanRefused
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.plan_seal import DeploymentKey
from floe.tables.connector_ledgers import Ledgers, LoadedTable

MAX_NAMED = 10
"""Dropped tables that an error describes."""


@dataclass(frozen=True, slots=True)
class LostTable:
    """A table that the connector filled; ``now``: the UUID of the one that has its name today, None without one."""

    name: str
    was: UUID
    now: UUID | None

    def __str__(self) -> str:
        if self.now is None:
            return f"table {self.name!r} does not exist any more; this connector filled it ({self.was})"
        return (
            f"table {self.name!r} is another one ({self.now}) than this connector filled ({self.was}), and does not say "
            "which offsets it contains"
        )


@dataclass(frozen=True, slots=True)
class Commits:
    """A connector's commits on the control topic. ``deployment``: its key, by which they are signed."""

    settings: KafkaSettings
    control: Cluster
    deployment: DeploymentKey | None

    def filled(self, connector: Connector, names: Sequence[str] | None) -> dict[str, UUID]:
        """Return the UUIDs of tables that the connector filled; ``names``: those to look for, None for all newer ones."""
        topic = connector.control_topic
        if (names is not None and not names) or not self.control.topics([topic]):
            return {}
        ends = control_ends(self.control, topic)
        return filled_tables(self.settings, topic, ends, connector.group_id, names, self.deployment)


def dropped_tables(
    ledgers: Ledgers, connector: Connector, commits: Commits, decisions: Decisions
) -> dict[str, DroppedTable]:
    """Look the connector's tables up and return what was decided about those that were dropped.

    Raises PlanRefused for dropped tables that nothing was decided about, CatalogUnreachable without an answer.
    """
    if connector.routing.is_dynamic:
        filled = commits.filled(connector, None)
        lost = _lost(ledgers.look_up(sorted(filled)), filled)
    else:
        found = ledgers.look_up(ledgers.with_dead_letters)
        lost = _lost(found, commits.filled(connector, [n for n, t in found.items() if _has_no_ledger(t)]))
    undecided = [loss for loss in lost if loss.name not in decisions.dropped_tables]
    if undecided:
        raise PlanRefused(_refusal(undecided), code="FLOE-224")
    return {loss.name: decisions.dropped_tables[loss.name] for loss in lost}


def refilled_from(
    decided: Mapping[str, DroppedTable], logs: Iterable[PartitionLog]
) -> dict[TopicPartition, dict[str, int]]:
    """Return the first offset to read again, per partition and table, of tables that are to be refilled."""
    tables = [table for table, how in decided.items() if how is DroppedTable.REFILL]
    return {log.tp: dict.fromkeys(tables, log.log_start) for log in logs} if tables else {}


def _has_no_ledger(table: LoadedTable | FloeError | None) -> bool:
    """Return whether a table may be gone. One that could not be read may not: its own error is reported."""
    return table is None or (isinstance(table, LoadedTable) and not table.names_group)


def _lost(found: Mapping[str, LoadedTable | FloeError | None], filled: Mapping[str, UUID]) -> list[LostTable]:
    lost = []
    for name, was in sorted(filled.items()):
        table = found[name]
        now = table.table.metadata.table_uuid if isinstance(table, LoadedTable) else None
        if _has_no_ledger(table) and now != was:
            lost.append(LostTable(name, was, now))
    return lost


def _refusal(lost: Sequence[LostTable]) -> str:
    described = "; ".join(map(str, lost[:MAX_NAMED]))
    more = f"; and {len(lost) - MAX_NAMED} more" if len(lost) > MAX_NAMED else ""
    names = {loss.name: DroppedTable.REFILL.value for loss in lost}
    return (
        f"{described}{more}: committed rows are missing. Nothing was read, for any table. Restore the table; or trigger "
        f"the DAG with dropped_tables={json.dumps(names)}, which reads its rows again, as far as the log still has them, "
        'or with "continue" instead of "refill", which continues without them; or remove the table from the connector.'
    )
