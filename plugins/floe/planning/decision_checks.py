"""Checks of an operator's decisions against the connector, its positions and its topics."""

import logging
from collections.abc import Mapping, Sequence

from floe.config import Connector
from floe.model.decisions import ALL, Decisions, DroppedTable
from floe.model.exceptions import PlanRefused
from floe.model.positions import Position
from floe.model.ranges import PartitionLog, TopicPartition

log = logging.getLogger(__name__)


def without_rows(decisions: Decisions) -> list[str]:
    """Return a note for each table that goes on without the rows that it lost."""
    tables = [name for name, how in decisions.dropped_tables.items() if how is DroppedTable.CONTINUE]
    notes = [f"table {name!r} was dropped and continues without its earlier rows" for name in tables]
    for note in notes:
        log.warning("%s", note)
    return notes


def tables_behind(
    connector: Connector, positions: Mapping[TopicPartition, Position], decisions: Decisions
) -> Sequence[str]:
    """Return the tables that may be behind: the connector's; where records name them, those that are, or that lost rows."""
    if not connector.routing.is_dynamic:
        return connector.tables
    behind = {table for position in positions.values() for table in position.backlogs}
    return sorted(behind | decisions.rolled_back.keys() | decisions.dropped_tables.keys())


def check_dropped_tables(decisions: Decisions, connector: Connector) -> None:
    dead_letters = connector.errors.table
    unknown = sorted(decisions.dropped_tables.keys() - set(connector.tables) - {dead_letters})
    if unknown and not connector.routing.is_dynamic:
        msg = f"dropped_tables names {unknown}, but the connector writes {list(connector.tables)}: correct the param"
        raise PlanRefused(msg, code="FLOE-112")
    if dead_letters is not None and decisions.dropped_tables.get(dead_letters) is DroppedTable.REFILL:
        msg = (
            f"the dead-letter table {dead_letters!r} cannot be filled again: its records are not read a second time. "
            f'Continue without them: dropped_tables={{"{dead_letters}": "continue"}}, or replay the ranges that had dead '
            "letters"
        )
        raise PlanRefused(msg, code="FLOE-112")


def check_accepted_losses(decisions: Decisions, logs: Sequence[PartitionLog]) -> None:
    """Raise PlanRefused when a topic or partition that the connector does not read is named in ``accept_loss``."""
    known = {log.tp.topic for log in logs} | {str(log.tp) for log in logs} | {ALL}
    unknown = sorted(decisions.accept_loss - known)
    if unknown:
        topics = sorted({log.tp.topic for log in logs})
        msg = (
            f"accept_loss names {unknown}, but the connector reads the topics {topics}: name topics or their partitions, "
            f'as in ["{topics[0]}-0"], or true for all'
        )
        raise PlanRefused(msg, code="FLOE-112")


def check_no_backlog_elsewhere(connector: Connector, positions: Mapping[TopicPartition, Position]) -> None:
    """Raise PlanRefused for a backlog at a topic that the connector no longer reads: no run would ever load it."""
    for tp, position in sorted(positions.items()):
        if tp.topic not in connector.topics and position.backlogs:
            msg = (
                f"{sorted(position.backlogs)} are behind on {tp}, but the connector does not read {tp.topic!r} any more. "
                "Nothing was read. Configure the topic until they have caught up, or for one run that drops the backlog "
                '(params config={"topics": …} and drop_backlog).'
            )
            raise PlanRefused(msg, code="FLOE-221")


def check_dropped_backlogs(
    connector: Connector, positions: Mapping[TopicPartition, Position], decisions: Decisions
) -> None:
    """Raise PlanRefused when the backlog of an unknown table is to be dropped: a mistyped name drops nothing."""
    behind = {table for position in positions.values() for table in position.backlogs}
    unknown_tables = sorted(decisions.drop_backlog - set(connector.tables) - behind)
    if unknown_tables:
        msg = (
            f"drop_backlog names {unknown_tables}, but the connector writes {list(connector.tables)}: correct the param"
        )
        raise PlanRefused(msg, code="FLOE-112")
