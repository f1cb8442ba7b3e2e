"""Resolving a replay request: to ranges that the log still has and that were read before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from floe.model.exceptions import PlanRefused
from floe.model.positions import Position
from floe.model.ranges import OffsetRange, PartitionLog, TopicPartition
from floe.planning.replay_request import EPOCH, MAX_NAMED, Bounds, ReplayRequest, raise_problems


@dataclass(frozen=True, slots=True)
class ReplayContext:
    """What a request is resolved against: one topic's logs, the group's positions, and the cluster.

    ``marks``: where the window begins and ends in each partition, by Kafka's timestamp index; None: past the last record.
    ``divergences``: by partition the first offset that has another record than the one that was read.
    """

    cluster_id: str
    logs: Sequence[PartitionLog]
    positions: Mapping[TopicPartition, Position]
    marks: Mapping[TopicPartition, Bounds]
    divergences: Mapping[TopicPartition, int] = field(default_factory=dict)


def resolve(request: ReplayRequest, context: ReplayContext) -> tuple[OffsetRange, ...]:
    """Return the ranges to replay, none of them empty, all at or above the log start and below the position.

    Raises PlanRefused, naming every partition that is in the way, or when there is nothing at all in the request.
    """
    logs = {log.tp.partition: log for log in context.logs}
    positions = {p: context.positions[log.tp] for p, log in logs.items() if log.tp in context.positions}
    if not positions:
        msg = (
            f"no partition of topic {request.topic!r} has a position: no run of the connector has read it yet, or the "
            "positions were lost. Run the connector's main DAG first (with `recover` if they were lost)."
        )
        raise PlanRefused(msg, code="FLOE-302")
    named = request.ranges or dict.fromkeys(positions, (None, None))
    if request.window is not None:
        named = {p: _marked(request.window, context.marks[logs[p].tp], logs[p], positions[p]) for p in positions}
    problems: list[str] = []
    ranges = []
    for partition, bounds in sorted(named.items()):
        problem = _unreadable(request.topic, partition, logs, positions, context.cluster_id)
        if problem is None:
            log, position = logs[partition], positions[partition]
            start = log.log_start if bounds[0] is None else bounds[0]
            end = position.offset if bounds[1] is None else bounds[1]
            problem = _misplaced(log, position, start, end) if request.ranges else None
            problem = problem or _truncated(log, end, context.divergences.get(log.tp))
            if problem is None and start < end:
                ranges.append(OffsetRange(request.topic, log.topic_id, partition, start, end))
        if problem is not None:
            problems.append(problem)
    raise_problems(problems)
    if not ranges:
        raise PlanRefused(_nothing(request, positions), code="FLOE-302")
    return tuple(ranges)


def check_no_backlogs(
    ranges: Iterable[OffsetRange], positions: Mapping[TopicPartition, Position], tables: Iterable[str]
) -> None:
    """Raise PlanRefused when a table is behind on offsets of a range: its catch-up loads them, a replay would conflict."""
    chosen = set(tables)
    raise_problems(
        f"table {table!r} is behind on {r.tp} from {backlog.start} on, which the connector's main DAG reads. Nothing was "
        f"read. End the range at {backlog.start} at most, or leave the table out of `tables`"
        for r in ranges
        for table, backlog in sorted(positions[r.tp].backlogs.items())
        if table in chosen and backlog.start < r.end
    )


# -- one partition ----------------------------------------------------------------------------------------------------


def _unreadable(
    topic: str,
    partition: int,
    logs: Mapping[int, PartitionLog],
    positions: Mapping[int, Position],
    cluster_id: str,
) -> str | None:
    if partition not in logs:
        return f"partition {partition} of topic {topic!r} does not exist: it has the partitions 0 to {max(logs)}"
    log, position = logs[partition], positions.get(partition)
    if position is None:
        return f"{log.tp} has no position: no run has read it yet, the connector's main DAG will"
    metadata = position.metadata_fields
    if metadata.cluster_id != cluster_id:
        return (
            f"the position of {log.tp} belongs to cluster {metadata.cluster_id!r}, but this is cluster {cluster_id!r}: check "
            "the Kafka connection"
        )
    if metadata.topic_id != log.topic_id:
        return (
            f"topic {topic!r} was re-created: its id is {log.topic_id!r}, and the records that were read had the id "
            f"{metadata.topic_id!r}. Nothing was read. Run the connector's main DAG, which tells how to read the new topic"
        )
    if position.offset > log.stable_end:
        return (
            f"the position {position.offset} of {log.tp} is past its last stable offset {log.stable_end}: the broker lost "
            "records. Nothing was read. Run the connector's main DAG, which tells how to continue"
        )
    return None


def _truncated(log: PartitionLog, end: int, divergence: int | None) -> str | None:
    if divergence is None or end <= divergence:
        return None
    return (
        f"the log of {log.tp} was truncated at offset {divergence} and written again: the records from there on are not "
        "those that were read. Nothing was read. Run the connector's main DAG, which tells how to continue, or end the "
        f"range at {divergence} at most"
    )


def _misplaced(log: PartitionLog, position: Position, start: int, end: int) -> str | None:
    where = f"[{start}, {end}) of {log.tp}"
    if end > position.offset:
        return (
            f"{where} ends past the position {position.offset}: those records will be read by the connector's main DAG. "
            f"End it at {position.offset} at most"
        )
    if start < log.log_start:
        return (
            f"{where} begins below the log start {log.log_start}: retention removed those records; begin it at "
            f"{log.log_start} at least"
        )
    if start >= end:
        return f"{where} is empty: the log begins at {log.log_start}, and it was read up to {position.offset}"
    return None


def _marked(window: Bounds, mark: Bounds, log: PartitionLog, position: Position) -> Bounds:
    """Cut a window at what was read: the caller names times, not the position, and no record is skipped by it."""
    start, end = (
        position.offset if wanted is not None and found is None else found
        for wanted, found in zip(window, mark, strict=True)
    )
    start = log.log_start if start is None else max(start, log.log_start)
    return start, position.offset if end is None else min(end, position.offset)


def _nothing(request: ReplayRequest, positions: Mapping[int, Position]) -> str:
    read = ", ".join(f"{p} up to {position.offset}" for p, position in sorted(positions.items())[:MAX_NAMED])
    if request.window is not None:
        start, end = (None if ms is None else _at(ms) for ms in request.window)
        return (
            f"no record that was read of topic {request.topic!r} has a time from {start or 'the log start'} to "
            f"{end or 'the position'} (partitions read: {read}): correct the times; newer records will be read by the "
            "connector's main DAG"
        )
    return f"topic {request.topic!r} has nothing to replay: the log has no offset that was read (partitions: {read})"


def _at(ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")
