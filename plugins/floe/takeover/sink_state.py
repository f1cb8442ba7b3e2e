"""What a stopped sink left in Kafka: its group's positions, and a control topic in which nothing is undecided."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from floe.config import Connector
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import TopicMissing
from floe.kafka.settings import TRANSACTION_TIMEOUT, KafkaSettings
from floe.model.holding import LogId
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.positions import Position, PositionMetadata, owner_of
from floe.tables.snapshot_summary import Offsets
from floe.tables.table_state import Routes
from floe.takeover.exceptions import TakeoverBlocked, TakeoverRefused

Positions = Mapping[TopicPartition, Position]

RETRY_PAUSE = 0.2
"""Seconds between checks of an open transaction."""


@dataclass(frozen=True)
class Control:
    """The control topic of a connector, all of whose transactions have ended; by partition where it starts and ends."""

    starts: Offsets
    ends: Offsets

    @classmethod
    def open(cls, cluster: Cluster, topic: str) -> "Control":
        """Wait for the transactions that are open now. Raises TakeoverRefused without a topic, TakeoverBlocked."""
        try:
            logs = cluster.logs([topic])
        except TopicMissing as error:
            msg = (
                f"control topic {topic!r} does not exist: set iceberg.control.topic to the one that the sink announced its "
                "files in. If it was deleted, see docs/how-to/kafka-connect.md, “A lost control topic”."
            )
            raise TakeoverRefused(msg, code="FLOE-704") from error
        starts = {log.tp.partition: log.log_start for log in logs}
        return cls(starts, _decided_ends(cluster, [log.tp for log in logs]))

    @property
    def is_empty(self) -> bool:
        return not any(self.ends.values())


def _decided_ends(cluster: Cluster, tps: Sequence[TopicPartition]) -> Offsets:
    """Return last stable offsets that are at or past the present log ends.

    Below an open transaction's first record, what others committed behind it is hidden, though their positions are visible.
    """
    wanted = cluster.log_ends(tps)
    deadline = time.monotonic() + TRANSACTION_TIMEOUT + 15
    while True:
        ends = cluster.stable_ends(tps)
        hidden = [tp for tp in tps if ends[tp] < wanted[tp]]
        if not hidden:
            return {tp.partition: end for tp, end in ends.items()}
        if time.monotonic() > deadline:
            msg = (
                f"an open transaction hides [{ends[hidden[0]]}, {wanted[hidden[0]]}) of control topic {hidden[0]}: wait "
                "until its producer ends it or the broker aborts it (transaction.timeout.ms of the sink), then run again"
            )
            raise TakeoverBlocked(msg)
        time.sleep(RETRY_PAUSE)


@dataclass(frozen=True)
class SinkState:
    """The state of a sink whose group has no members.

    ``logs``: every partition of the connector. ``found``: all positions of the connector's own group, verbatim.
    ``positions``: those that count, of the connector's partitions; absent where the sink never came. ``coordinator``:
    how far the sink's coordinator had finished with the control topic.
    """

    cluster_id: str
    logs: tuple[PartitionLog, ...]
    found: Positions
    positions: Positions
    control: Control
    coordinator: Offsets

    @property
    def is_floes(self) -> bool:
        """Whether floe wrote all positions: then there is nothing to take over."""
        return bool(self.positions) and all(map(is_floes, self.positions.values()))

    @property
    def others(self) -> tuple[Position, ...]:
        """Positions of topics that the connector does not read."""
        topics = {log.tp.topic for log in self.logs}
        return tuple(p for tp, p in sorted(self.found.items()) if tp.topic not in topics)

    def log_id(self, tp: TopicPartition) -> LogId:
        return next(LogId(tp.topic, log.topic_id, tp.partition) for log in self.logs if log.tp == tp)


def is_floes(position: Position) -> bool:
    """Return whether floe wrote a position."""
    return PositionMetadata.decode(position.metadata) is not None


def look(connector: Connector, settings: KafkaSettings) -> SinkState:
    """Read what the sink left. Raises GroupInUse, TakeoverRefused, TakeoverBlocked and the errors of ``floe.kafka``.

    Positions are read first, then the control topic's ends: what was committed with the positions is below them.
    """
    source, control = Cluster.of_source(settings), Cluster.of_control(settings)
    check_sink_is_stopped(connector, control)
    logs = source.logs(connector.topics)
    found = all_positions(control, connector.group_id, logs)
    of_sink = found
    if connector.sink_group_id != connector.group_id:
        of_sink = all_positions(control, connector.sink_group_id, logs)
    positions = {tp: p for tp, p in effective_positions(found, of_sink).items() if tp.topic in connector.topics}
    check_possible(positions, logs, source.log_ends([log.tp for log in logs]))
    topic = Control.open(control, connector.control_topic)
    finished = control.positions(coordinator_group(connector))
    return SinkState(
        cluster_id=source.cluster_id(),
        logs=logs,
        found=found,
        positions=positions,
        control=topic,
        coordinator={tp.partition: p.offset for tp, p in finished.items() if tp.topic == connector.control_topic},
    )


def coordinator_group(connector: Connector) -> str:
    """Name the group in which the sink's coordinator reads the control topic."""
    return f"{connector.sink_group_id}-coord"


def check_sink_is_stopped(connector: Connector, cluster: Cluster) -> None:
    """Raise GroupInUse while a task or the coordinator of the sink is a member of its group, or is not forgotten yet."""
    for group in sorted({connector.group_id, connector.sink_group_id, coordinator_group(connector)}):
        cluster.check_no_members(group)


def all_positions(cluster: Cluster, group_id: str, logs: Sequence[PartitionLog]) -> dict[TopicPartition, Position]:
    """Return all stable positions of a group, those of known partitions asked for by name."""
    return cluster.positions(group_id) | cluster.positions(group_id, [log.tp for log in logs])


def effective_positions(own: Positions, sinks: Positions) -> dict[TopicPartition, Position]:
    """Return the positions that count, of the connector's own group and of the sink's.

    Tabular's sink begins at those of its own group, and copies them to the other by a second transaction that may be
    missing. Only where floe went on from there its own count.
    """
    chosen = dict(sinks)
    for tp, position in own.items():
        if tp not in sinks or (is_floes(position) and position.offset >= sinks[tp].offset):
            chosen[tp] = position
    return chosen


def check_possible(positions: Positions, logs: Sequence[PartitionLog], log_ends: Mapping[TopicPartition, int]) -> None:
    """Raise TakeoverRefused for positions that the topics of today do not have, TakeoverBlocked above open transactions.

    The sink may read uncommitted records; floe reads up to the last stable offset.
    """
    known = {log.tp: log for log in logs}
    for tp, position in sorted(positions.items()):
        if tp not in known:
            msg = (
                f"the sink has a position of {tp} ({position.offset}), but that partition does not exist: the topic was "
                f"re-created with fewer. Delete the position (kafka-consumer-groups --delete-offsets --topic {tp.topic}), "
                "knowing that the others may be of the old topic too, and set those by --reset-offsets."
            )
            raise TakeoverRefused(msg, code="FLOE-707")
        if position.offset > log_ends[tp]:
            msg = (
                f"the sink's position {position.offset} of {tp} is past the log's end {log_ends[tp]}: the topic was "
                "re-created, or the broker lost records. Set the position to where the table's rows end in the present log "
                f"(kafka-consumer-groups --reset-offsets --topic {tp.topic}:{tp.partition}), then take over again."
            )
            raise TakeoverRefused(msg, code="FLOE-707")
        if position.offset > known[tp].stable_end:
            msg = (
                f"the sink read {tp} up to {position.offset}, into a transaction that is open from "
                f"{known[tp].stable_end} on: run again when its producer has ended it"
            )
            raise TakeoverBlocked(msg)


def with_metadata(left: SinkState, connector: Connector) -> tuple[Position, ...]:
    """Return the positions as floe writes them; those that it wrote itself stay as they are."""
    taken, routes = [], Routes(connector)
    for tp, position in sorted(left.positions.items()):
        if is_floes(position):
            taken.append(position)
            continue
        routing = routes.routing(tp.topic)
        metadata = PositionMetadata(
            routing=routing,
            since=position.offset,
            topic_id=left.log_id(tp).topic_id,
            cluster_id=left.cluster_id,
            owner=owner_of(connector.name),
        )
        taken.append(Position(tp, position.offset, metadata.encode()))
    return tuple(taken)
