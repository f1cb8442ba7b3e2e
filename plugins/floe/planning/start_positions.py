"""Resolving start positions: each partition's place to read on from, checked, or a refusal with the recovery options."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from floe.model.decisions import Decisions
from floe.model.exceptions import PlanRefused
from floe.model.intervals import Intervals
from floe.model.positions import PartitionBacklog, Position, PositionMetadata, check_owner, owner_of
from floe.model.ranges import PartitionLog, TopicPartition
from floe.planning.losses import Loss, OffsetsLost
from floe.planning.start_policy import ResolvedDeadLetters, StartPolicy


def resolve_start_positions(
    logs: Sequence[PartitionLog],
    found: Mapping[TopicPartition, Position],
    beginnings: StartPolicy,
    decisions: Decisions | None = None,
) -> ResolvedDeadLetters:
    """Return one checked position per partition, with present metadata.

    Raises PlanRefused for all that cannot be read on safely and was not decided: a foreign or impossible position, lost
    or vanished offsets, another cluster, another incarnation of a topic, a backlog that cannot be caught up. Lost offsets
    are raised last, as OffsetsLost with all of them.
    """
    resolver = _Resolver(logs, found, beginnings, decisions or Decisions())
    resolver.check_not_vanished(logs)
    positions = tuple(resolver.settle(log) for log in logs)
    if resolver.losses:
        raise OffsetsLost(resolver.losses)
    return ResolvedDeadLetters(positions, tuple(resolver.replaced), tuple(resolver.notes))


class _Resolver:
    def __init__(
        self,
        logs: Sequence[PartitionLog],
        found: Mapping[TopicPartition, Position],
        beginnings: StartPolicy,
        decisions: Decisions,
    ) -> None:
        self._found = found
        self._decisions = decisions
        self._names = {log.tp.topic for log in logs}
        # asking opens tables: once per topic, not per partition
        self._beginnings = replace(beginnings, held_ids=cache(beginnings.held_ids))
        self._topics = {tp.topic for tp in found}
        self.replaced: list[Position] = []
        self.notes: list[str] = []
        self.losses: list[Loss] = []

    def check_not_vanished(self, logs: Sequence[PartitionLog]) -> None:
        """Raise for a partition with a position that its topic no longer has, unless its topic was reset."""
        present = {log.tp for log in logs}
        ids = {log.tp.topic: log.topic_id for log in logs}
        for tp, position in sorted(self._found.items()):
            if tp.topic not in ids or tp in present or self._decisions.adopts(tp.topic):
                continue
            first = PositionMetadata.decode(position.metadata)
            others = [
                PositionMetadata.decode(p.metadata) for t, p in self._found.items() if t.topic == tp.topic and t != tp
            ]
            adopted = any(facts is not None and facts.topic_id == ids[tp.topic] for facts in others)
            if adopted and first is not None and first.topic_id != ids[tp.topic]:
                continue
            msg = (
                f"partition {tp} has a position ({position.offset}) but does not exist any more: the topic was re-created "
                f"with fewer partitions. {_adopt(tp.topic)}"
            )
            raise PlanRefused(msg, code="FLOE-220")

    def settle(self, log: PartitionLog) -> Position:
        """Return where one partition is read on."""
        position = self._found.get(log.tp)
        if position is None:
            return self._begun(log, self._first_offset(log))
        facts = PositionMetadata.decode(position.metadata)
        if facts is None:
            return self._recovered(log, position)
        if facts.owner not in ("", owner_of(self._beginnings.owner)):
            return self._taken_over(log, position, facts)
        settled = self._carried_on(log, position, facts)
        if settled != position:
            self.replaced.append(position)
        return settled

    # -- partitions without a position of floe's ------------------------------------------------------------------------

    def _begun(self, log: PartitionLog, offset: int) -> Position:
        beginnings = self._beginnings
        if self._decisions.recover and (copy := beginnings.copies(log)) is not None:
            return self._from_copy(log, copy)
        metadata = self._first_facts(log, offset)
        return Position(log.tp, offset, metadata.encode())

    def _first_facts(self, log: PartitionLog, offset: int) -> PositionMetadata:
        beginnings = self._beginnings
        return PositionMetadata(
            routing=beginnings.routing[log.tp.topic],
            since=offset,
            topic_id=log.topic_id,
            cluster_id=beginnings.cluster_id,
            owner=owner_of(beginnings.owner),
        )

    def _first_offset(self, log: PartitionLog) -> int:
        if log.tp.topic in self._topics:
            return log.log_start
        held = self._beginnings.held_ids(log.tp.topic)
        if held and log.topic_id not in held:
            if not self._decisions.adopts(log.tp.topic):
                raise PlanRefused(_recreated(log, ", ".join(sorted(held))), code="FLOE-220")
            self.notes.append(f"{log.tp}: the new topic {log.topic_id} is read from its log start {log.log_start}")
            return log.log_start
        if held is not None:
            if not self._decisions.recover:
                if not held and (tables := sorted(self._beginnings.unreadable())):
                    msg = (
                        f"no partition of topic {log.tp.topic!r} has a position, and floe could not read the tables "
                        f"{tables} to find out which offsets they contain (see the log above). Nothing was read. Fix the "
                        "cause and clear the run, or trigger the DAG with `recover` to read from the log start everything "
                        "that the other tables do not contain."
                    )
                    raise PlanRefused(msg, code="FLOE-215")
                msg = (
                    f"no partition of topic {log.tp.topic!r} has a position, but a table of this connector already holds "
                    "offsets of its group: the positions were lost. Nothing is read before they are put back: trigger "
                    "the DAG with `recover`, which takes them from the tables; no row is lost or doubled by it."
                )
                raise PlanRefused(msg, code="FLOE-215")
            return log.log_start
        return log.log_start if self._beginnings.offset_reset == "earliest" else log.stable_end

    def _recovered(self, log: PartitionLog, position: Position) -> Position:
        """Replace a position that another process wrote by the ledgers' copy, or by the log start."""
        if not self._decisions.recover:
            msg = (
                f"the position {position.offset} of {log.tp} was not written by floe (metadata "
                f"{position.metadata[:80]!r}): another process commits offsets for this group. Stop it; then trigger the DAG "
                "with `recover`, which takes the positions from the tables, or, if a Kafka Connect sink of this name wrote "
                "it, with `takeover`."
            )
            raise PlanRefused(msg, code="FLOE-216")
        self.replaced.append(position)
        return self._begun(log, log.log_start)

    def _taken_over(self, log: PartitionLog, position: Position, facts: PositionMetadata) -> Position:
        """Replace another connector's position by the ledgers' copy, or by the log start, where that is decided."""
        if not self._decisions.recover:
            check_owner([position], self._beginnings.owner)
        self.notes.append(f"{log.tp}: the position {position.offset} is taken over from connector {facts.owner!r}")
        self.replaced.append(position)
        return self._begun(log, log.log_start)

    def _from_copy(self, log: PartitionLog, copy: Position) -> Position:
        self.notes.append(f"{log.tp}: recovered at {copy.offset}, as the tables tell")
        settled = self._carried_on(log, copy, copy.facts)
        if settled.offset < copy.offset:
            self.replaced.append(copy)  # a shortened log: the ledgers must forget the offsets that it assigns again
        return settled

    # -- partitions with a position of floe's ---------------------------------------------------------------------------

    def _carried_on(self, log: PartitionLog, position: Position, facts: PositionMetadata) -> Position:
        if self._is_another(log, facts):
            return self._adopted(log, position, facts)
        offset = position.offset
        if offset > log.stable_end:
            offset, facts = self._shortened(log, position, facts)
        if offset < log.log_start:
            self._lose(Loss(log.tp, offset, log.log_start))
            facts = replace(facts, since=log.log_start, lost=facts.lost | Intervals(((offset, log.log_start),)))
            offset = log.log_start
        owner = owner_of(self._beginnings.owner)
        facts = replace(self._with_backlogs(log, offset, facts), cluster_id=self._beginnings.cluster_id, owner=owner)
        if not self._beginnings.keeps_limits:
            facts = replace(facts, limits={})
        routing = self._beginnings.routing[log.tp.topic]
        if facts.routing != routing:
            facts = replace(facts, routing=routing, since=offset)
        return Position(log.tp, offset, facts.encode())

    def _is_another(self, log: PartitionLog, facts: PositionMetadata) -> bool:
        """Return whether the position belongs to another log; raise when its topic was not reset."""
        if facts.cluster_id != self._beginnings.cluster_id and not self._decisions.adopts(log.tp.topic):
            msg = (
                f"the position of {log.tp} belongs to cluster {facts.cluster_id!r}, but this is cluster "
                f"{self._beginnings.cluster_id!r}: check the Kafka connection. {_adopt(log.tp.topic)}"
            )
            raise PlanRefused(msg, code="FLOE-219")
        if facts.topic_id != log.topic_id and not self._decisions.adopts(log.tp.topic):
            raise PlanRefused(_recreated(log, facts.topic_id), code="FLOE-220")
        return facts.topic_id != log.topic_id

    def _adopted(self, log: PartitionLog, position: Position, facts: PositionMetadata) -> Position:
        self.notes.append(
            f"{log.tp}: adopted {log.topic_id} in the place of {facts.topic_id}, which was read up to {position.offset}; "
            f"the new log is read from {log.log_start}"
            + (f"; what {', '.join(sorted(facts.backlogs))} owed of the old one is lost" if facts.backlogs else "")
        )
        return Position(log.tp, log.log_start, self._first_facts(log, log.log_start).encode())

    def _shortened(
        self, log: PartitionLog, position: Position, facts: PositionMetadata
    ) -> tuple[int, PositionMetadata]:
        if not self._decisions.adopts(log.tp.topic):
            msg = (
                f"the position {position.offset} of {log.tp} is past its last stable offset {log.stable_end}: the broker "
                "lost records that were already read, or the position was changed by hand. Nothing is read meanwhile. "
                f"{_adopt(log.tp.topic)} What the tables hold above {log.stable_end} stays in them."
            )
            raise PlanRefused(msg, code="FLOE-218")
        self.notes.append(
            f"{log.tp}: the log ends at {log.stable_end}, below {position.offset}; it is read on from there"
        )
        backlogs = {t: backlog for t, backlog in facts.backlogs.items() if backlog.start < log.stable_end}
        return log.stable_end, replace(facts, since=log.stable_end, backlogs=backlogs)

    def _with_backlogs(self, log: PartitionLog, offset: int, facts: PositionMetadata) -> PositionMetadata:
        """Return the metadata with the backlogs that are left; raise for one that cannot be caught up.

        ``since`` moves over what is skipped, so that no ledger closes over it.
        """
        left, since = {}, facts.since
        for table, backlog in self._all_backlogs(log, facts).items():
            if table in self._decisions.forgive:
                self.notes.append(f"{log.tp}: the backlog [{backlog.start}, {offset}) of table {table!r} was dropped")
                since = max(since, offset)
                continue
            route = self._beginnings.routes.get((table, log.tp.topic))
            if route != backlog.route:
                why = "the connector names it no longer" if route is None else "its routing was changed meanwhile"
                msg = (
                    f"table {table!r} is behind on {log.tp} from {backlog.start} on, but {why}: put the connector back as it "
                    f'was, or trigger the DAG with drop_backlog=["{table}"]: these rows are skipped.'
                )
                raise PlanRefused(msg, code="FLOE-221")
            if backlog.start < log.log_start:
                self._lose(Loss(log.tp, backlog.start, min(log.log_start, offset), table))
                backlog = backlog._replace(start=log.log_start)
                since = max(since, log.log_start)
            if backlog.start < offset:
                left[table] = backlog
        return replace(facts, backlogs=left, since=since)

    def _all_backlogs(self, log: PartitionLog, facts: PositionMetadata) -> dict[str, PartitionBacklog]:
        """Return the position's backlogs, and those from reading again what was rolled back."""
        backlogs = dict(facts.backlogs)
        for table, start in self._beginnings.reopened.get(log.tp, {}).items():
            known = backlogs.get(table, PartitionBacklog(start, self._beginnings.routes[table, log.tp.topic]))
            backlogs[table] = known._replace(start=min(start, known.start))
            self.notes.append(self._reopened(log, table, backlogs[table].start))
        return backlogs

    def _reopened(self, log: PartitionLog, table: str, start: int) -> str:
        if table not in self._decisions.dropped_tables:
            return f"{log.tp}: table {table!r} was rolled back and is behind from {start} on"
        gone = f"; the offsets [0, {start}) ({start}) before it are not in the log any more" if start else ""
        return f"{log.tp}: table {table!r} was dropped, and is filled again from {start} on{gone}"

    def _lose(self, loss: Loss) -> None:
        if self._decisions.accepts_loss(loss.tp, self._names):
            self.notes.append(f"{loss.tp}: {loss.what} are lost, as was accepted")
        else:
            self.losses.append(loss)


def _adopt(topic: str) -> str:
    return f'To read the new log as a new generation, trigger the DAG with reset_topics=["{topic}"].'


def _recreated(log: PartitionLog, known: str) -> str:
    return (
        f"topic {log.tp.topic!r} was re-created: its id is {log.topic_id!r}, what was read belongs to {known!r}. "
        f"{_adopt(log.tp.topic)}"
    )
