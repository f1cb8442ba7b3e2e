"""The commit of one run: announcements, tables, and the positions last of all."""

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from floe.commit.next_run import check_backlogs
from floe.commit.replay_outcome import incomplete_replay, report_redrive
from floe.commit.run_end import RunEnd
from floe.commit.slice_commit import SliceCommitter, SliceOutcome
from floe.commit.table_commit import TableCommit
from floe.config import Connector
from floe.control.announcement import Announcement
from floe.control.announcement_reader import AnnouncementReader
from floe.control.headers import header_list
from floe.control.signature import signed
from floe.control.topic_reader import ControlMessage, control_ends, read_control
from floe.control.wire.codec import encode
from floe.control.wire.events import CommitComplete, CommitToTable, Event
from floe.crash_points import CrashPoint, reach
from floe.kafka.access import Action, Client, left_out
from floe.kafka.admin import Cluster
from floe.kafka.settings import TRANSACTION_TIMEOUT, KafkaSettings
from floe.kafka.transactions import (
    ControlRecord,
    Move,
    TransactionalProducer,
    move_positions,
    replay_transactional_id,
    writer_of_positions,
)
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan, Slice, SliceEnd, positions_after
from floe.model.plan_progress import Progress, progress
from floe.model.plan_seal import PlanKey
from floe.model.positions import Position
from floe.modes.write_modes import mode_of
from floe.tables.exceptions import AnnouncementMissing, SliceNotWritten
from floe.tables.snapshot_summary import valid_through

log = logging.getLogger(__name__)

RETRY_PAUSE = 0.1
"""Seconds between checks for an announcement that is not visible yet."""


_NONE: Mapping[str, str] = MappingProxyType({})
_NO_PARAMS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class CommitReport:
    """What a commit did; ``done`` is true when an earlier one had done it all."""

    done: bool
    committed: tuple[TableCommit, ...] = ()
    announcements: tuple[Announcement, ...] = ()


class Committer:
    """Commits the slices of one plan. ``key``: signs its announcements; None for a plan without a seal."""

    def __init__(
        self, plan: Plan, connector: Connector, settings: KafkaSettings, key: PlanKey | None, cluster: Cluster
    ) -> None:
        """``cluster``: the one of the control topic and the positions; :meth:`open` opens it."""
        self._plan = plan
        self._key = key
        self._reader = AnnouncementReader(plan, key, mode_of)
        self._read_to = dict(plan.control_ends)
        self._connector = connector
        self._settings = settings
        self._cluster = cluster
        self._denied: set[str] = set()
        self.so_far = CommitReport(done=False)
        """What was committed so far, also where the commit fails."""

    @classmethod
    def open(cls, plan: Plan, connector: Connector, settings: KafkaSettings, key: PlanKey | None) -> Self:
        """Open the cluster of the control topic. Raises KafkaMisconfigured."""
        return cls(plan, connector, settings, key, Cluster.of_control(settings))

    def open_slices(self) -> tuple[Slice, ...]:
        """Return the slices that are not committed yet, by the positions. Raises Superseded, GroupInUse."""
        if not self._plan.slices or self._plan.is_replay:
            return self._plan.slices
        self._cluster.check_no_members(self._plan.group_id)
        # a partition may be in a live slice and in the catch-up slices of several tables
        partitions = sorted({r.tp for s in self._plan.slices for r in s.ranges if r.topic not in self._denied})
        found = self._cluster.positions(self._plan.group_id, partitions)
        return tuple(s for s in self._plan.slices if progress(self._plan, s, found) is not Progress.DONE)

    def commit(
        self, written: Collection[str], failure: str | None = None, params: Mapping[str, Any] = _NO_PARAMS
    ) -> CommitReport:
        """Commit every slice that was announced, table by table, then move the positions.

        ``written``: ids of the slices whose writers reported success; their announcements are waited for. ``failure``: why
        others were not written, in the writer's words. ``params``: of the run, to say how a replay is repeated. What failed
        is raised at the end, after all else was committed: a slice that was not written, a table that could not be
        committed in time, tables that are behind, and tables that a replay left out.
        """
        producer = None if self._plan.is_replay else writer_of_positions(self._connector, self._settings)
        self._denied = self._denied_topics(written)
        if producer is not None:
            # a committer that died in its transaction would keep the positions unreadable until that times out
            producer.fence()
        slices = self.open_slices()
        if not slices:
            log.info("plan %s is committed already, nothing to do", self._plan.plan_id)
            self._raise_backlogs()
            self._raise_left_out()
            return CommitReport(done=True)
        found = self.announcements({self._plan.slice_id(s) for s in slices} & set(written))
        end = RunEnd(self._plan, slices, found, self._commit_slices(slices, found))
        self.so_far = CommitReport(done=False, committed=end.committed, announcements=tuple(found.values()))
        if end.ends:
            self._finish(end, producer)
        self._raise_what_is_left(end, failure, params)
        return self.so_far

    def _raise_what_is_left(self, end: RunEnd, failure: str | None, params: Mapping[str, Any]) -> None:
        """Raise the one error of a run that has committed what it could: what comes first here counts."""
        incomplete = incomplete_replay(self._plan, end.done, params) if self._plan.is_replay else None
        if incomplete is not None and not end.is_whole:
            log.error("%s", incomplete)  # another error is raised in its place
        if end.error is not None:
            raise end.error
        if end.not_written:
            raise SliceNotWritten(self._not_written(end.not_written, failure))
        if incomplete is not None:
            raise incomplete
        self._raise_backlogs(end.behind, end.slices, end.ends)
        report_redrive(self._plan, end.found.values())
        self._raise_left_out()

    def _denied_topics(self, written: Collection[str]) -> set[str]:
        """Return the topics of slices without success that may not be read any more: their positions cannot be written."""
        failed = {r.topic for s in self._plan.slices if self._plan.slice_id(s) not in written for r in s.ranges}
        return self._cluster.readable(failed).denied

    def _raise_left_out(self) -> None:
        """Raise TopicsLeftOut for the topics that the plan could not read."""
        if self._plan.left_out:
            raise left_out(self._plan.left_out, self._settings.source, self._settings.origin)

    def _commit_slices(self, slices: Iterable[Slice], found: Mapping[str, Announcement]) -> list[SliceOutcome]:
        """Commit the slices that were announced; those of a replay in order, none beyond one that is not done."""
        committer = SliceCommitter(self._plan, self._connector)
        outcomes: list[SliceOutcome] = []
        left_out: dict[str, str] = {}
        for slice_ in slices:
            announcement = found.get(self._plan.slice_id(slice_))
            if announcement is None:
                outcome = SliceOutcome()
            elif self._plan.is_replay:
                outcome = committer.commit(slice_, announcement, left_out)
                left_out |= {t: why for t, why in outcome.behind.items() if t not in announcement.refused}
            else:
                outcome = committer.commit(slice_, announcement)
            outcomes.append(outcome)
            if self._plan.is_replay and not outcome.is_done:
                break
        return outcomes

    def _not_written(self, missing: Sequence[Slice], failure: str | None) -> str:
        """Describe why slices were not written, in the writer's own words where it left some, and what becomes of them."""
        ranges = ", ".join(str(r) for s in missing for r in s.ranges)[:500]
        again = (
            "Clear the write task of this run: it continues with the missing slices."
            if self._plan.is_replay
            else "The next run reads them again."
        )
        why = failure or "See the log of the write task, which left no reason."
        if self._denied:
            names = ", ".join(repr(topic) for topic in sorted(self._denied)[:20])
            client = Client.of(self._settings.control, self._settings.origin)
            action = Action(f"read topic {names}", f"Read on topic {names}")
            why = f"{client.not_permitted(action, 'an ACL was revoked')}. {why}"
        return f"{why} {len(missing)} slice(s) were not written ({ranges}). {again}"

    def announcements(self, written: Collection[str]) -> dict[str, Announcement]:
        """Return the announcement of each slice that has one, by slice id.

        Those in ``written`` are waited for: after a transaction was committed, its records stay hidden for some
        milliseconds, and behind another producer's open transaction for as long as that may last.
        """
        deadline = time.monotonic() + TRANSACTION_TIMEOUT + 15
        while True:
            self._reader.feed(self._new_messages())
            found = self._reader.found
            hidden = sorted(set(written) - set(found))
            if not hidden:
                self._reader.log_unsigned()
                return dict(found)
            if time.monotonic() > deadline:
                self._reader.log_unsigned()
                msg = (
                    f"the announcement of slice {hidden[0]} is not visible in {self._plan.control_topic!r}: an open "
                    "transaction of another producer may hide it, or it was ignored (see the log above). Nothing is lost. "
                    "Run the commit again."
                )
                raise AnnouncementMissing(msg)
            time.sleep(RETRY_PAUSE)

    def _new_messages(self) -> Iterator[ControlMessage]:
        """Yield the group's records of the control topic since the last call, each of them once."""
        topic = self._plan.control_topic
        ends = control_ends(self._cluster, topic)
        if ends == self._read_to:
            return
        for message in read_control(self._settings, topic, self._read_to, ends, self._plan.group_id):
            self._read_to[message.partition] = message.offset + 1
            yield message
        self._read_to.update(ends)

    def _finish(self, end: RunEnd, producer: TransactionalProducer | None) -> None:
        """Send CommitToTable, CommitComplete and the new positions in one fenced transaction."""
        through = valid_through(a for announcement in end.ended for a in announcement.assignments)
        events = [
            *(
                self._record(CommitToTable(self._plan.commit_id, t.table_files.reference, t.snapshot_id, through))
                for t in end.committed
            ),
            self._record(CommitComplete(self._plan.commit_id, through)),
        ]
        records = signed(self._key, events)
        reach(CrashPoint.COMMIT_POSITIONS)
        if producer is None:
            own = TransactionalProducer.open(self._settings, replay_transactional_id(self._connector, self._plan))
            own.send(self._plan.control_topic, self._plan.group_id, records)
        else:
            self._move_positions(end.ends, records, producer)
        reach(CrashPoint.COMMIT_POSITIONS_MOVED)

    def _move_positions(
        self, ends: Sequence[SliceEnd], records: Sequence[ControlRecord], producer: TransactionalProducer
    ) -> None:
        def decide(found: Mapping[TopicPartition, Position]) -> Move | None:
            left = [end for end in ends if progress(self._plan, end.slice, found) is Progress.BEFORE]
            if not left:
                return None
            known = [found[p.tp] for p in self._plan.positions if p.tp in found]
            if gone := sorted({r.tp for end in left for r in end.slice.ranges} - found.keys()):
                log.warning(
                    "group %s has no position of %s any more: the topic was deleted, or the group's offsets were deleted "
                    "or expired. What was written of it is committed; its offset is not",
                    self._plan.group_id,
                    ", ".join(map(str, gone)),
                )
            return Move(records, positions_after(self._plan, known, left))

        partitions = [p.tp for p in self._plan.positions if p.tp.topic not in self._denied]
        if not move_positions(self._connector, self._settings, partitions, decide, producer):
            log.info("no position of plan %s is left to commit: another run committed them", self._plan.plan_id)

    def _raise_backlogs(
        self, refusals: Mapping[str, str] = _NONE, slices: Sequence[Slice] = (), ends: Sequence[SliceEnd] = ()
    ) -> None:
        """Raise TablesBehind when a table is behind: on record in a position, or on none, as that is gone with its topic.

        ``slices``: those that were to be committed, ``ends``: those that were.
        """
        if self._plan.is_replay:
            return
        found = self._cluster.positions(
            self._plan.group_id, [p.tp for p in self._plan.positions if p.tp.topic not in self._denied]
        )
        read = {r.tp for slice_ in slices for r in slice_.ranges if r.topic not in self._denied}
        gone = [p for p in self._plan.positions if p.tp in read - found.keys()]
        check_backlogs(found.values(), positions_after(self._plan, gone, ends), refusals)

    def _record(self, payload: CommitToTable | CommitComplete) -> ControlRecord:
        first = self._plan.slices[0]
        headers = header_list(self._plan.slice_id(first), first.kind)
        return ControlRecord(encode(Event.of(self._plan.group_id, payload)), headers)
