"""Why a partition is not read on: what is said of each refusal, with the decision that a run may be triggered with."""

from collections.abc import Collection, Sequence

from floe.model.exceptions import PlanRefused
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.positions import PartitionBacklog, Position, PositionMetadata


def partition_gone(tp: TopicPartition, position: Position) -> PlanRefused:
    """Return the refusal of a position whose partition is not there any more."""
    msg = (
        f"partition {tp} has a position ({position.offset}) but does not exist any more: the topic was re-created "
        f"with fewer partitions. {_reset_advice(tp.topic)}"
    )
    return PlanRefused(msg, code="FLOE-220")


def topic_recreated(log: PartitionLog, known: Collection[str]) -> PlanRefused:
    """Return the refusal of a topic with another id than the ``known`` ones of the records that were read."""
    msg = (
        f"topic {log.tp.topic!r} was re-created: its id is {log.topic_id!r}, and the records that were read had the id "
        f"{', '.join(sorted(known))!r}. Nothing was read. {_reset_advice(log.tp.topic)}"
    )
    return PlanRefused(msg, code="FLOE-220")


def other_cluster(log: PartitionLog, metadata: PositionMetadata, present: str) -> PlanRefused:
    """Return the refusal of a position in another cluster than the ``present`` one."""
    msg = (
        f"the position of {log.tp} belongs to cluster {metadata.cluster_id!r}, but this is cluster "
        f"{present!r}: check the Kafka connection. {_reset_advice(log.tp.topic)}"
    )
    return PlanRefused(msg, code="FLOE-219")


def positions_lost(topic: str, unreadable: Sequence[str]) -> PlanRefused:
    """Return the refusal of a topic without positions of which a table has rows, or one of ``unreadable`` may have."""
    if unreadable:
        msg = (
            f"no partition of topic {topic!r} has a position, and floe could not read the tables "
            f"{list(unreadable)} to find out which offsets they contain (see the log above). Nothing was read. Fix the "
            "cause and clear the run, or trigger the DAG with `recover` to read from the log start everything "
            "that the other tables do not contain."
        )
    else:
        msg = (
            f"no partition of topic {topic!r} has a position, but a table of this connector already "
            "contains offsets of its group: the positions were lost. Nothing was read. Trigger the DAG with "
            "`recover`, which restores them from the tables. No row is lost or duplicated by it."
        )
    return PlanRefused(msg, code="FLOE-215")


def position_of_another(position: Position) -> PlanRefused:
    """Return the refusal of a position that floe did not write."""
    msg = (
        f"the position {position.offset} of {position.tp} was not written by floe (metadata "
        f"{position.metadata[:80]!r}): another process commits offsets for this group. Nothing was read. Stop it. "
        "Then trigger the DAG with `recover`, which restores the positions from the tables, or, if a Kafka Connect "
        "sink of this name wrote it, with `takeover`."
    )
    return PlanRefused(msg, code="FLOE-216")


def backlog_of_other_rows(log: PartitionLog, table: str, backlog: PartitionBacklog, route: str | None) -> PlanRefused:
    """Return the refusal of a backlog that was under another route than the present one; None if there is none."""
    why = "the connector does not write it any more" if route is None else "its routing was changed meanwhile"
    msg = (
        f"table {table!r} is behind on {log.tp} from {backlog.start} on, but {why}. Nothing was read. Restore "
        f'the former configuration, or trigger the DAG with drop_backlog=["{table}"], which skips these rows.'
    )
    return PlanRefused(msg, code="FLOE-221")


def log_shortened(
    log: PartitionLog, position: Position, metadata: PositionMetadata, divergence: int | None
) -> PlanRefused:
    """Return the refusal of a log that lost records which were read or planned.

    ``divergence``: the first offset that has another record now; None where the log only ends below what was planned.
    """
    if divergence is None:
        what = f"the position {position.offset}"
        if position.offset <= log.stable_end and metadata.epoch is not None:
            what = f"the offset {metadata.epoch.end}, up to which a run had planned,"
        msg = (
            f"{what} of {log.tp} is past its last stable offset {log.stable_end}: the broker "
            "lost records that were already read, or the position was changed by hand. Nothing was read. "
            f"{_reset_advice(log.tp.topic)} Rows of offsets above {log.stable_end} stay in the tables."
        )
        return PlanRefused(msg, code="FLOE-218")
    epoch, read = metadata.epoch, f"the position is {position.offset}"
    if epoch is not None and epoch.end > position.offset:
        read += f", and a run had planned the offsets up to {epoch.end}"
    msg = (
        f"the log of {log.tp} was truncated at offset {divergence} and written again, as after an unclean leader election: "
        f"its leader epoch is {log.epoch} now, and epoch {epoch.number if epoch else None}, in which floe read, ends there "
        f"({read}). Other records have the offsets from {divergence} on now. Nothing was read. To read them, trigger the DAG "
        f'with reset_topics=["{log.tp.topic}"]. Rows of the lost records stay in the tables.'
    )
    return PlanRefused(msg, code="FLOE-218")


def _reset_advice(topic: str) -> str:
    return f'To read the new log as a new generation, trigger the DAG with reset_topics=["{topic}"].'
