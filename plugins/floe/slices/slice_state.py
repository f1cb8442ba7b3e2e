"""The state of a slice: all questions to the catalog and to Kafka before it is read."""

from dataclasses import dataclass

from floe.config import Connector
from floe.control.recent_tables import recent_tables
from floe.kafka.admin import Cluster
from floe.kafka.dead_letter_topic import ensure_dead_letter_topic
from floe.kafka.settings import KafkaSettings
from floe.model.plan import Plan, Slice
from floe.model.range_limits import limit_of
from floe.slices.dead_letter_table import DeadLetterTable
from floe.tables.lake import Lake


@dataclass(frozen=True)
class SliceState:
    """What the catalog and Kafka contain for a slice.

    ``lake``: the catalog's tables. ``dead_letters``: None without a dead-letter table. ``recent``: the tables that the
    slice's records will most likely name; a hint. ``is_limited``: whether an earlier write of it took too long.
    """

    lake: Lake
    dead_letters: DeadLetterTable | None
    recent: frozenset[str]
    is_limited: bool

    @classmethod
    def read(cls, connector: Connector, settings: KafkaSettings, plan: Plan, slice_: Slice) -> "SliceState":
        """Ask, and create the table and the topic of dead letters where they are missing. Raises what prevents reading."""
        policy = connector.errors
        lake = Lake.of(connector, plan.cluster_id)
        dead_letters = None if policy.table is None else DeadLetterTable.open(lake, policy.table, plan, slice_)
        if policy.topic is not None:
            ensure_dead_letter_topic(Cluster.of_control(settings), policy.topic, policy.topic_replication)
        recent = _recent_tables(connector, settings, plan, slice_)
        return cls(lake, dead_letters, recent, limit_of(plan.positions, slice_.limit_name) is not None)


def _recent_tables(connector: Connector, settings: KafkaSettings, plan: Plan, slice_: Slice) -> frozenset[str]:
    if slice_.tables:
        return frozenset()
    topics = frozenset(r.topic for r in slice_.ranges)
    behind = {table for position in plan.positions for table in position.backlogs}
    recent = recent_tables(settings, plan.control_topic, plan.control_ends, plan.group_id)
    named = {table for table in recent if connector.may_name(topics, table)}
    return frozenset(named | behind) - {plan.dead_letters or ""}
