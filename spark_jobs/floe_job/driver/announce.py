"""The announcement of a slice: what its tasks came to, checked against what they were given."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from floe.config import Connector
from floe.control.announcement import Announcement, TableShare, encode_announcement, next_offset
from floe.control.signature import signed
from floe.control.wire.events import TopicPartitionOffset
from floe.crash_points import CrashPoint, reach
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import TransactionalProducer
from floe.model.accounting import RangeBooks, TableBooks, balance_range, balance_tables
from floe.model.dead_letters import LetterOffsets
from floe.model.plan import Plan, Slice
from floe.model.plan_seal import PlanKey
from floe.model.range_limits import limit_of
from floe.model.ranges import OffsetRange
from floe.model.slice_kind import ReadReason, WriteModeName
from floe.tables.routes import Routes
from floe_job.contract.result import LettersResult, PieceResult, TaskResult
from floe_job.dead_letters import check_ratio
from floe_job.driver.dead_letters import Settled, SliceLetters, settle
from floe_job.driver.slice_table import SliceTable
from floe_job.driver.slice_tables import SliceTables
from floe_job.exceptions import RangeLost

log = logging.getLogger(__name__)


class Announcer:
    """Announces one slice that was read and written."""

    def __init__(
        self,
        plan: Plan,
        piece: Slice,
        connector: Connector,
        settings: KafkaSettings,
        letters: SliceLetters,
        tables: SliceTables,
        key: PlanKey | None,
    ) -> None:
        self._key = key
        self._plan = plan
        self._slice = piece
        self._connector = connector
        self._settings = settings
        self._letters = letters
        self._tables = tables
        self._routes = Routes(connector)

    def announce(self, results: Sequence[TaskResult], may_announce: Callable[[], None], begun: float) -> Announcement:
        """Check what was read, balance the books, put the announcement together and send it, once.

        ``begun``: when the write began, by the monotonic clock. Raises RangeLost, BooksDoNotBalance, TooManyDeadLetters and
        what ``may_announce`` raises before anything is sent.
        """
        announcement = self._announcement(results)
        if limit_of(self._plan.positions, self._slice.limit_name) is not None:
            announcement = replace(announcement, write_ms=round(1000 * (time.monotonic() - begun)))
        may_announce()
        self._send(announcement)
        return announcement

    def _announcement(self, results: Sequence[TaskResult]) -> Announcement:
        pieces: dict[OffsetRange, list[PieceResult]] = {r: [] for r in self._slice.ranges}
        for read in (piece for result in results for piece in result.pieces):
            pieces[read.piece.range].append(read)
        self._refuse_changed_topics(pieces)
        books = tuple((r, sum((p.books for p in read), RangeBooks())) for r, read in pieces.items())
        tables = self._tables.by_name
        table_books = {
            name: sum((result.tables[name].books for result in results if name in result.tables), TableBooks())
            for name in tables
        }
        if not self._slice.tables:
            table_books = {name: one for name, one in table_books.items() if one.assigned}
        letters = [result.letters for result in results]
        letter_books = self._letters.books(letters)
        for r, range_books in books:
            balance_range(r, range_books)
        deliveries = sum(read.deliveries for result in results for read in result.pieces)
        balance_tables([b for _, b in books], table_books, deliveries, letter_books)
        self._check_ratio([b for _, b in books], table_books, letters)
        shares = [self._share(tables[name], results, one) for name, one in table_books.items()]
        shares.append(self._letters.share(letters))
        if self._plan.letters and letter_books is not None and letter_books.assigned:
            table_books[self._plan.letters] = letter_books
        settled = self._settled(results)
        return Announcement(
            slice_id=self._plan.slice_id(self._slice),
            commit_id=self._plan.commit_id,
            kind=self._slice.kind,
            ranges=self._slice.ranges,
            shares=tuple(share for share in shares if share is not None),
            tables=table_books,
            books=books,
            assignments=self._assignments(pieces),
            refused={
                name: str(tables[name].refusal) for name in table_books if name in tables and tables[name].refusal
            },
            lost=self._lost(),
            revived=settled.revived,
            resolved=settled.resolved,
            reasons=self._reasons(letters),
            known=self._letters.open if self._slice.mode is WriteModeName.REPLACE else LetterOffsets(),
        )

    def _reasons(self, letters: Sequence[LettersResult]) -> dict[str, int]:
        """Return, of a re-drive, how many records failed again, by error: they get no second letter that would tell."""
        reasons: Counter[str] = Counter()
        for result in letters if self._slice.reason is ReadReason.DEAD_LETTERS else ():
            reasons.update(result.reasons)
        return dict(sorted(reasons.items()))

    def _settled(self, results: Sequence[TaskResult]) -> Settled:
        """Tell which open letters the slice deals with."""
        tables = self._tables.by_name
        if not self._letters.open and not any(table.replaces and table.revived for table in tables.values()):
            return Settled()
        fates = {n: [result.tables[n].fates for result in results if n in result.tables] for n in tables}
        revived = {name: table.revived for name, table in tables.items()}
        return settle(self._letters.open, fates, revived, is_whole=self._tables.routes().judges)

    def _share(self, table: SliceTable, results: Sequence[TaskResult], books: TableBooks) -> TableShare | None:
        mine = [result.tables[table.name] for result in results if table.name in result.tables]
        written = [one.files for one in mine if one.files and one.files.files]
        routes = self._routes.of(table.name, {r.topic for r in self._slice.ranges})
        return table.share(self._connector, written, routes, books)

    def _check_ratio(
        self, books: Sequence[RangeBooks], tables: Mapping[str, TableBooks], letters: Sequence[LettersResult]
    ) -> None:
        """Raise TooManyDeadLetters when more of what was judged is dead than the connector allows.

        Not in a re-drive: what it reads was dead before.
        """
        if self._slice.reason is ReadReason.DEAD_LETTERS:
            return
        dead = sum(b.dead for b in books) + sum(t.dead for t in tables.values())
        judged = sum(b.dead + b.dropped for b in books) + sum(t.assigned for t in tables.values())
        named = [letter for result in letters for letter in result.named]
        check_ratio(dead, judged, self._connector.errors.max_ratio, named)

    def _lost(self) -> tuple[OffsetRange, ...]:
        """Return the ranges accepted as lost, below the ranges of a live slice, that no snapshot tells of yet."""
        if self._slice.reason is not ReadReason.LIVE:
            return ()
        lost = {p.tp: p.facts.lost for p in self._plan.positions if '"lost"' in p.metadata}
        return tuple(
            OffsetRange(r.topic, r.topic_id, r.partition, start, end)
            for r in self._slice.ranges
            for start, end in lost.get(r.tp, ())
        )

    def _assignments(self, pieces: Mapping[OffsetRange, Sequence[PieceResult]]) -> tuple[TopicPartitionOffset, ...]:
        """Return every partition of the connector, those read with next offset and last timestamp, as the sink does."""
        read = {
            r.tp: next_offset(r, next((p.timestamp for p in reversed(ps) if p.timestamp is not None), None))
            for r, ps in _in_order(pieces).items()
        }
        return tuple(read.get(p.tp, TopicPartitionOffset(p.tp.topic, p.tp.partition)) for p in self._plan.positions)

    def _refuse_changed_topics(self, pieces: Mapping[OffsetRange, Sequence[PieceResult]]) -> None:
        """Refuse ranges whose topic was re-created, or whose start was removed, while they were read."""
        cluster = Cluster.of_source(self._settings)
        logs = {log.tp: log for log in cluster.logs(sorted({r.topic for r in self._slice.ranges}))}
        for r in self._slice.ranges:
            now = logs.get(r.tp)
            if now is None or now.topic_id != r.topic_id:
                msg = f"topic {r.topic!r} was re-created while {r} was read; nothing was announced"
                raise RangeLost(msg)
            first = min((p.first_offset for p in pieces[r] if p.first_offset is not None), default=None)
            if (first is None or first > r.start) and now.log_start > r.start:
                msg = (
                    f"{r} begins with a gap and the log of {r.tp} begins at {now.log_start} by now: records may have "
                    "been removed before they were read. Nothing was announced; the next plan says what is lost."
                )
                raise RangeLost(msg)

    def _send(self, announcement: Announcement) -> None:
        replay = f"replay-{self._plan.plan_id}-" if self._slice.is_replay else ""
        name = f"{self._connector.name}-{replay}{self._slice.index}"
        transactional_id = f"{self._connector.transactional_prefix}floe-{name}"
        producer = TransactionalProducer(self._settings, transactional_id)
        reach(CrashPoint.WRITE_ANNOUNCE)
        records = signed(self._key, encode_announcement(self._plan, announcement))
        producer.send(self._plan.control_topic, self._plan.group_id, records)
        reach(CrashPoint.WRITE_ANNOUNCED)
        for name, books in announcement.tables.items():
            log.info("slice %s announced: table %s, %s", announcement.slice_id, name, books)


def _in_order(pieces: Mapping[OffsetRange, Sequence[PieceResult]]) -> dict[OffsetRange, list[PieceResult]]:
    return {r: sorted(ps, key=lambda p: p.piece.start) for r, ps in pieces.items()}
