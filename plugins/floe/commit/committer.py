"""The commit of one run: announcements, tables, and the positions last of all."""

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from floe.catalogs.catalog import Tables
from floe.catalogs.exceptions import CatalogUnreachable
from floe.commit.exceptions import AnnouncementMissing, SliceNotWritten
from floe.commit.patience import attempts
from floe.commit.positions import move_positions
from floe.commit.progress import Progress, progress, refuse_rewound
from floe.commit.summary import valid_through
from floe.commit.table import Landed, land
from floe.config import Connector
from floe.control.announcement import Announcement
from floe.control.announcement_reader import find_announcement
from floe.control.codec import encode
from floe.control.events import CommitComplete, CommitToTable, Event
from floe.control.headers import header_list
from floe.control.log import control_ends, read_control
from floe.crash import CrashPoint, reach
from floe.kafka.cluster import Cluster
from floe.kafka.settings import TRANSACTION_TIMEOUT, KafkaSettings
from floe.kafka.transaction import ControlRecord
from floe.offsets.plan import Plan, Slice
from floe.offsets.position import Position
from floe.offsets.ranges import TopicPartition

log = logging.getLogger(__name__)

LOOK_AGAIN = 0.1
"""Seconds between looks for an announcement that is not visible yet."""


@dataclass(frozen=True)
class CommitReport:
    """What a commit did; ``done`` is true when an earlier one had done it all."""

    done: bool
    landed: tuple[Landed, ...] = ()
    announcements: tuple[Announcement, ...] = ()


class Committer:
    """Commits the slices of one plan."""

    def __init__(self, plan: Plan, connector: Connector, settings: KafkaSettings) -> None:
        self._plan = plan
        self._connector = connector
        self._settings = settings
        self._cluster = Cluster.of_control(settings)

    def standing(self) -> Progress:
        """Say where the group's positions stand. Raises Superseded, GroupInUse."""
        if not self._plan.slices:
            return Progress.DONE
        self._cluster.refuse_members(self._plan.group_id)
        tps = [r.tp for s in self._plan.slices for r in s.ranges]
        return progress(self._plan, self._plan.slices, self._cluster.positions(self._plan.group_id, tps))

    def commit(self, written: Collection[str]) -> CommitReport:
        """Commit every slice that was announced, table by table, then move the positions.

        ``written``: ids of the slices whose writers reported success; their announcements are waited for. Raises
        SliceNotWritten at the end when a slice was not written, after the others landed.
        """
        if self.standing() is Progress.DONE:
            log.info("plan %s is committed already, nothing to do", self._plan.plan_id)
            return CommitReport(done=True)
        found = self.announcements(written)
        landed = self._land(found)
        slices = tuple(s for s in self._plan.slices if self._plan.slice_id(s) in found)
        if slices:
            self._move_positions(slices, landed, tuple(found.values()))
        missing = [s for s in self._plan.slices if s not in slices]
        if missing:
            ranges = ", ".join(str(r) for s in missing for r in s.ranges)
            msg = f"{len(missing)} slice(s) were not written; the next run reads {ranges[:500]} again. See the write task."
            raise SliceNotWritten(msg)
        return CommitReport(done=False, landed=tuple(landed), announcements=tuple(found.values()))

    def announcements(self, written: Collection[str]) -> dict[str, Announcement]:
        """Return the announcement of each slice that has one, by slice id.

        Those in ``written`` are waited for: after a transaction was committed, its records stay hidden for some
        milliseconds, and behind another producer's open transaction for as long as that may last.
        """
        deadline = time.monotonic() + TRANSACTION_TIMEOUT + 15
        while True:
            ends = control_ends(self._cluster, self._plan.control_topic)
            messages = list(read_control(self._settings, self._plan.control_topic, self._plan.control_ends, ends))
            found = {}
            for piece in self._plan.slices:
                announcement = find_announcement(self._plan, piece, messages)
                if announcement is not None:
                    found[announcement.slice_id] = announcement
            hidden = sorted(set(written) - set(found))
            if not hidden:
                return found
            if time.monotonic() > deadline:
                msg = (
                    f"the announcement of slice {hidden[0]} is not visible in {self._plan.control_topic!r}: an open "
                    "transaction of another producer may hide it, or it does not count (see the log above). Run the "
                    "commit again; nothing is lost."
                )
                raise AnnouncementMissing(msg)
            time.sleep(LOOK_AGAIN)

    def _land(self, found: dict[str, Announcement]) -> list[Landed]:
        shares = [(a, share) for a in found.values() for share in a.shares]
        if not shares:
            return []
        patience = self._connector.commit_timeout_ms / 1000
        tables = self._open_catalog(patience)
        landed = []
        for announcement, share in shares:
            table = land(tables, self._plan, announcement, share, patience)
            log.info(
                "table %s: %s rows in %s files, snapshot %s%s",
                share.table,
                share.books.rows,
                share.file_count,
                table.snapshot_id,
                " (committed before)" if table.already else "",
            )
            landed.append(table)
        return landed

    def _open_catalog(self, patience: float) -> Tables:
        for reason in attempts(f"catalog {self._connector.catalog_name!r}", patience):
            try:
                return Tables.of(self._connector)
            except CatalogUnreachable as error:
                reason.append(str(error))
        raise AssertionError  # attempts raises at its end

    def _move_positions(
        self, slices: tuple[Slice, ...], landed: Sequence[Landed], announcements: Sequence[Announcement]
    ) -> None:
        """Send CommitToTable, CommitComplete and the new positions in one fenced transaction."""
        through = valid_through(a for announcement in announcements for a in announcement.assignments)
        records = [
            *(
                self._record(CommitToTable(self._plan.commit_id, t.share.reference, t.snapshot_id, through))
                for t in landed
            ),
            self._record(CommitComplete(self._plan.commit_id, through)),
        ]

        def compare(found: Mapping[TopicPartition, Position]) -> Sequence[ControlRecord] | None:
            if progress(self._plan, slices, found) is Progress.DONE:
                return None
            refuse_rewound(self._plan, found)
            return records

        reach(CrashPoint.COMMIT_POSITIONS)
        moved = move_positions(self._connector, self._settings, self._plan.positions_after(slices), compare)
        reach(CrashPoint.COMMIT_POSITIONS_MOVED)
        if not moved:
            log.info("the positions of plan %s were moved by another run", self._plan.plan_id)

    def _record(self, payload: CommitToTable | CommitComplete) -> ControlRecord:
        first = self._plan.slices[0]
        headers = header_list(self._plan.slice_id(first), first.kind.value)
        return ControlRecord(encode(Event.of(self._plan.group_id, payload)), headers)
