"""Resolving start positions: each partition's place to read on from, checked, or a refusal with the recovery options."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from floe.model.decisions import Decisions
from floe.model.exceptions import PlanRefused
from floe.model.offsets import Intervals, PartitionLog, TopicPartition
from floe.model.positions import PartitionBacklog, Position, PositionMetadata, check_owner, owner_of
from floe.planning import start_refusals
from floe.planning.wanted_offsets import ResolvedPositions, StartPolicy, check_wanted, first_offset, skip_note, skipped


def resolve_start_positions(
    logs: Sequence[PartitionLog],
    found: Mapping[TopicPartition, Position],
    start_policy: StartPolicy,
    decisions: Decisions | None = None,
) -> ResolvedPositions:
    """Return one checked position per partition, with present metadata.

    Raises PlanRefused for all that cannot be read on safely and was not decided: a foreign or impossible position, lost
    or vanished offsets, another cluster, another incarnation of a topic, a backlog that cannot be caught up. Lost offsets
    are raised last, as OffsetsLost with all of them.
    """
    resolver = _Resolver(logs, found, start_policy, decisions or Decisions())
    resolver.check_not_vanished(logs)
    check_wanted(start_policy, found)
    positions = tuple(resolver.resolve(log) for log in logs)
    if resolver.losses:
        raise OffsetsLost(resolver.losses)
    return ResolvedPositions(positions, tuple(resolver.replaced), resolver.cuts, tuple(resolver.notes))


class _Resolver:
    """Resolves partitions one by one, and collects what is replaced, decided (``notes``) and lost meanwhile."""

    def __init__(
        self,
        logs: Sequence[PartitionLog],
        found: Mapping[TopicPartition, Position],
        start_policy: StartPolicy,
        decisions: Decisions,
    ) -> None:
        self._found = found
        self._decisions = decisions
        self._names = {log.tp.topic for log in logs}
        # asking opens tables: once per topic, not per partition
        self._start_policy = replace(start_policy, contained_ids=cache(start_policy.contained_ids))
        self._topics = {tp.topic for tp in found}
        self.replaced: list[Position] = []
        self.cuts: dict[TopicPartition, int] = {}
        self.notes: list[str] = []
        self.losses: list[Loss] = []

    def check_not_vanished(self, logs: Sequence[PartitionLog]) -> None:
        """Raise for a partition with a position that its topic no longer has, unless its topic was reset."""
        present = {log.tp for log in logs}
        ids = {log.tp.topic: log.topic_id for log in logs}
        for tp, position in sorted(self._found.items()):
            if tp.topic not in ids or tp in present or self._decisions.resets(tp.topic):
                continue
            first = PositionMetadata.decode(position.metadata)
            others = [
                PositionMetadata.decode(p.metadata) for t, p in self._found.items() if t.topic == tp.topic and t != tp
            ]
            is_reset = any(metadata is not None and metadata.topic_id == ids[tp.topic] for metadata in others)
            if is_reset and first is not None and first.topic_id != ids[tp.topic]:
                continue
            raise start_refusals.partition_gone(tp, position)

    def resolve(self, log: PartitionLog) -> Position:
        """Return where one partition is read on."""
        position = self._found.get(log.tp)
        if position is None:
            return self._begun(log, self._first_offset(log))
        metadata = PositionMetadata.decode(position.metadata)
        if metadata is None:
            return self._recovered(log, position)
        if metadata.owner not in ("", owner_of(self._start_policy.owner)):
            return self._taken_over(log, position, metadata)
        resolved = self._carried_on(log, position, metadata)
        if resolved != position:
            self.replaced.append(position)
        return resolved

    # -- partitions without a position of floe's ------------------------------------------------------------------------

    def _begun(self, log: PartitionLog, offset: int) -> Position:
        if self._decisions.recover and (copy := self._start_policy.copies(log)) is not None:
            return self._from_copy(log, copy)
        return Position(log.tp, offset, self._first_metadata(log, offset).encode())

    def _first_metadata(self, log: PartitionLog, offset: int) -> PositionMetadata:
        start_policy = self._start_policy
        return PositionMetadata(
            routing=start_policy.routing[log.tp.topic],
            since=offset,
            topic_id=log.topic_id,
            cluster_id=start_policy.cluster_id,
            owner=owner_of(start_policy.owner),
        )

    def _first_offset(self, log: PartitionLog) -> int:
        """Return where a partition without a position begins. Raises PlanRefused if its positions were lost."""
        if log.tp.topic in self._topics:
            return log.log_start
        held = self._start_policy.contained_ids(log.tp.topic)
        if held and log.topic_id not in held:
            if not self._decisions.resets(log.tp.topic):
                raise start_refusals.topic_recreated(log, held)
            self.notes.append(f"{log.tp}: the new topic {log.topic_id} is read from its log start {log.log_start}")
            return log.log_start
        if held is not None and not self._decisions.recover:
            raise start_refusals.positions_lost(log.tp.topic, () if held else sorted(self._start_policy.unreadable()))
        if held is not None:
            return log.log_start
        if log.tp in self._start_policy.starts:
            start = first_offset(log, self._start_policy.starts[log.tp])
            self.notes.append(f"{log.tp}: begins at {start}, as start_at says; the log begins at {log.log_start}")
            return start
        return log.log_start if self._start_policy.offset_reset == "earliest" else log.stable_end

    def _recovered(self, log: PartitionLog, position: Position) -> Position:
        """Replace a position that another process wrote by the ledgers' copy, or by the log start."""
        if not self._decisions.recover:
            raise start_refusals.position_of_another(position)
        self.replaced.append(position)
        return self._begun(log, log.log_start)

    def _taken_over(self, log: PartitionLog, position: Position, metadata: PositionMetadata) -> Position:
        """Replace another connector's position by the ledgers' copy, or by the log start, where that is decided."""
        if not self._decisions.recover:
            check_owner([position], self._start_policy.owner)
        self.notes.append(f"{log.tp}: the position {position.offset} is taken over from connector {metadata.owner!r}")
        self.replaced.append(position)
        return self._begun(log, log.log_start)

    def _from_copy(self, log: PartitionLog, copy: Position) -> Position:
        self.notes.append(f"{log.tp}: recovered at {copy.offset} from the tables")
        return self._carried_on(log, copy, copy.metadata_fields)

    # -- partitions with a position of floe's ---------------------------------------------------------------------------

    def _carried_on(self, log: PartitionLog, position: Position, metadata: PositionMetadata) -> Position:
        """Return where a partition is read on from a position of floe's. Lost offsets are skipped, and noted."""
        if self._is_another(log, metadata):
            return self._started_over(log, position, metadata)
        offset = position.offset
        divergence = self._start_policy.divergences.get(log.tp)
        planned = max(offset, metadata.epoch.end if metadata.epoch is not None else 0)
        if divergence is not None or planned > log.stable_end:
            offset, metadata = self._shortened(log, position, metadata, divergence)
        read = offset
        if log.tp in self._start_policy.skips:
            offset, metadata = skipped(
                log.tp, read, metadata, self._start_policy.skips[log.tp], self._start_policy.owner
            )
        if offset < log.log_start:
            self._lose(Loss(log.tp, offset, log.log_start))
            metadata = replace(
                metadata, since=log.log_start, lost=metadata.lost | Intervals(((offset, log.log_start),))
            )
            offset = log.log_start
        owner = owner_of(self._start_policy.owner)
        metadata = replace(
            self._with_backlogs(log, offset, metadata), cluster_id=self._start_policy.cluster_id, owner=owner
        )
        if log.tp in self._start_policy.skips and offset > read:
            self.notes.append(skip_note(log.tp, read, offset, metadata))
        if not self._start_policy.keeps_limits:
            metadata = replace(metadata, limits={})
        routing = self._start_policy.routing[log.tp.topic]
        if metadata.routing != routing:
            metadata = replace(metadata, routing=routing, since=offset)
        return Position(log.tp, offset, metadata.encode())

    def _is_another(self, log: PartitionLog, metadata: PositionMetadata) -> bool:
        """Return whether the position belongs to another log; raise when its topic was not reset."""
        if not self._decisions.resets(log.tp.topic):
            if metadata.cluster_id != self._start_policy.cluster_id:
                raise start_refusals.other_cluster(log, metadata, self._start_policy.cluster_id)
            if metadata.topic_id != log.topic_id:
                raise start_refusals.topic_recreated(log, (metadata.topic_id,))
        return metadata.topic_id != log.topic_id

    def _started_over(self, log: PartitionLog, position: Position, metadata: PositionMetadata) -> Position:
        self.notes.append(
            f"{log.tp}: topic id {log.topic_id} replaces {metadata.topic_id}, which was read up to {position.offset}; "
            f"the new log is read from {log.log_start}"
            + (f"; the backlog of {', '.join(sorted(metadata.backlogs))} is lost" if metadata.backlogs else "")
        )
        return Position(log.tp, log.log_start, self._first_metadata(log, log.log_start).encode())

    def _shortened(
        self, log: PartitionLog, position: Position, metadata: PositionMetadata, divergence: int | None
    ) -> tuple[int, PositionMetadata]:
        """Return where a log is read on that has lost records which were read or planned, and what remains of its metadata.

        ``divergence``: the first offset that has another record now; None where the log only ends below what was planned.
        """
        cut = log.stable_end if divergence is None else min(divergence, log.stable_end)
        offset = min(position.offset, cut)
        if not self._decisions.resets(log.tp.topic):
            raise start_refusals.log_shortened(log, position, metadata, divergence)
        how = "ends" if divergence is None else "was truncated"
        beyond = f", below {position.offset}" if cut < position.offset else ", below what a run had planned"
        self.notes.append(f"{log.tp}: the log {how} at {cut}{beyond}; reading continues at {offset}")
        self.cuts[log.tp] = cut
        backlogs = {t: backlog for t, backlog in metadata.backlogs.items() if backlog.start < cut}
        since = metadata.since if offset == position.offset else offset
        return offset, replace(metadata, since=since, backlogs=backlogs, epoch=None)

    def _with_backlogs(self, log: PartitionLog, offset: int, metadata: PositionMetadata) -> PositionMetadata:
        """Return the metadata with the backlogs that are left; raise for one that cannot be caught up.

        ``since`` moves over what is skipped, so that no ledger closes over it.
        """
        left, since = {}, metadata.since
        for table, backlog in self._all_backlogs(log, metadata).items():
            if table in self._decisions.drop_backlog:
                self.notes.append(f"{log.tp}: the backlog [{backlog.start}, {offset}) of table {table!r} was dropped")
                since = max(since, offset)
                continue
            route = self._start_policy.routes.get((table, log.tp.topic))
            if route != backlog.route:
                raise start_refusals.backlog_of_other_rows(log, table, backlog, route)
            if backlog.start < log.log_start:
                self._lose(Loss(log.tp, backlog.start, min(log.log_start, offset), table))
                backlog = backlog._replace(start=log.log_start)
                since = max(since, log.log_start)
            if backlog.start < offset:
                left[table] = backlog
        return replace(metadata, backlogs=left, since=since)

    def _all_backlogs(self, log: PartitionLog, metadata: PositionMetadata) -> dict[str, PartitionBacklog]:
        """Return the position's backlogs, and those from reading again what was rolled back."""
        backlogs = dict(metadata.backlogs)
        for table, start in self._start_policy.reopened.get(log.tp, {}).items():
            known = backlogs.get(table, PartitionBacklog(start, self._start_policy.routes[table, log.tp.topic]))
            backlogs[table] = known._replace(start=min(start, known.start))
            self.notes.append(self._reopened(log, table, backlogs[table].start))
        return backlogs

    def _reopened(self, log: PartitionLog, table: str, start: int) -> str:
        if table not in self._decisions.dropped_tables:
            return f"{log.tp}: table {table!r} was rolled back and is behind from {start} on"
        gone = f"; the offsets [0, {start}) ({start}) before it are no longer in the log" if start else ""
        return f"{log.tp}: table {table!r} was dropped, and is filled again from {start} on{gone}"

    def _lose(self, loss: Loss) -> None:
        if self._decisions.accepts_loss(loss.tp, self._names):
            self.notes.append(f"{loss.tp}: {loss.what} are lost; the loss was accepted")
        else:
            self.losses.append(loss)


# Lost offsets: what retention removed before a table had it.


MAX_NAMED = 20
"""Lost ranges that an error names, and partitions that it proposes to accept; the log has all of them."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets ``[start, end)`` that the log no longer has; ``table``: of which backlog, None for new records."""

    tp: TopicPartition
    start: int
    end: int
    table: str | None = None

    @property
    def what(self) -> str:
        """The range, with its number of offsets."""
        of_table = "" if self.table is None else f" of the backlog of table {self.table!r}"
        return f"the offsets [{self.start}, {self.end}){of_table} ({self.end - self.start})"

    def __str__(self) -> str:
        return f"{self.tp} lost {self.what}"


class OffsetsLost(PlanRefused):
    """Offsets were removed before they were read, and the run does not accept that. ``losses``: all of them."""

    code = "FLOE-214"

    def __init__(self, losses: Sequence[Loss]) -> None:
        self.losses = tuple(losses)
        named = "; ".join(map(str, self.losses[:MAX_NAMED]))
        left = len(self.losses) - MAX_NAMED
        more = f"; and {left} more, which the log above lists" if left > 0 else ""
        partitions = sorted({str(loss.tp) for loss in self.losses})
        names = partitions if len(partitions) <= MAX_NAMED else sorted({loss.tp.topic for loss in self.losses})
        super().__init__(
            f"{named}{more}: retention removed them before they were read (floe.on-data-loss = fail). Nothing was read. "
            f"Restore them; or skip them: trigger the DAG with `accept_loss`, accept_loss={json.dumps(names)}."
        )
