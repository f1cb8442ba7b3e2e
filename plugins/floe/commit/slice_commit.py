"""Landing slices: each table by itself; one that refuses owes, the others go on."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from floe.catalogs.client import Tables
from floe.catalogs.exceptions import CatalogUnreachable
from floe.commit.held_rows import refuse_unheld, unwritten_tables
from floe.commit.resolve_dead_letters import mark_resolved
from floe.commit.table_commit import Landed, is_landed, land
from floe.config import Connector
from floe.config.sections.routing import may_name
from floe.control.announcement import Announcement, TableShare
from floe.exceptions import FloeError
from floe.model.dead_letters import LetterOffsets
from floe.model.plan import Plan, Slice, SliceEnd
from floe.model.slice_kind import ReadReason, WriteModeName
from floe.tables.exceptions import REFUSALS, AnnouncementVoid, TableRefused
from floe.tables.open_dead_letters import refuse_new_letters
from floe.tables.retry import attempts
from floe.tables.routes import Routes

log = logging.getLogger(__name__)

ONE_BY_ONE = 4
"""Tables up to which threads are not worth their while."""


class SliceLander:
    """Commits announced slices to their tables, and remembers what landed, what is owed, and what failed."""

    def __init__(self, plan: Plan, connector: Connector) -> None:
        self._plan = plan
        self._connector = connector
        self._routes = Routes(connector)
        self._threads = connector.commit_threads
        self._patience = connector.commit_timeout_ms / 1000
        self._opened: Tables | None = None
        self.landed: list[Landed] = []
        self.ends: list[SliceEnd] = []
        self.refusals: dict[str, str] = {}
        self.errors: list[FloeError] = []

    def land(self, piece: Slice, announcement: Announcement) -> bool:
        """Commit one slice and say whether that is done; if not, it is not among ``ends``. Nothing is raised."""
        refused: dict[str, FloeError] = {}
        landed, failed = [], False
        if (strange := self._strange(announcement)) is not None:
            log.error("slice %s: %s", announcement.slice_id, strange)
            self.errors.append(strange)
            return False
        letters = [share for share in announcement.shares if share.table == self._plan.letters]
        shares = [share for share in announcement.shares if share.table != self._plan.letters]
        if piece.mode is WriteModeName.REPLACE and not self._may_replace(announcement, shares):
            return False
        if not self._land_letters(announcement, letters):
            return False
        landed_or_not = zip([share.table for share in shares], self._land_all(announcement, shares), strict=True)
        for table, outcome in [*landed_or_not, *self._unheld(piece, announcement)]:
            if isinstance(outcome, Landed):
                landed.append(outcome)
            elif isinstance(outcome, REFUSALS):
                refused[table] = outcome
            else:
                self.errors.append(outcome)
                failed = True
        self.landed += landed
        owing = {**announcement.refused, **{table: str(error) for table, error in refused.items()}}
        self.refusals |= owing
        if piece.reason is ReadReason.CATCH_UP and owing:
            return False  # it goes on owing
        if not failed and owing and self._is_no_table_left(piece, announcement, owing):
            # the range stays where it is, for all of them: reading it again is all that is left to do
            self.errors += list(refused.values()) or [TableRefused("; ".join(owing.values()))]
            failed = True
        if failed or not self._mark_letters(announcement, owing):
            return False
        topics = {r.topic for r in piece.ranges}
        owed = {table: self._routes.of(table, topics) for table in owing}
        self.ends.append(SliceEnd(piece, owed, bool(landed), self._is_quick(announcement)))
        return True

    def _is_quick(self, announcement: Announcement) -> bool:
        """Say whether twice as much could have been written in the time that a write may take."""
        took, timeout = announcement.write_ms, self._connector.write_timeout_ms
        return took is None or timeout is None or 2 * took <= timeout

    def _unheld(self, piece: Slice, announcement: Announcement) -> Iterator[tuple[str, FloeError]]:
        """Yield the tables whose rows were all left out as held, and that do not hold them, with the error."""
        for table in unwritten_tables(self._plan, piece, announcement):
            try:
                refuse_unheld(self._tables(), self._plan, piece, announcement, table, self._patience)
            except FloeError as error:
                log.error("table %s: %s", table, error)
                yield table, error

    def _strange(self, announcement: Announcement) -> AnnouncementVoid | None:
        """Return what of an announcement does not come from this connector: anybody may write to the control topic."""
        topics = sorted({r.topic for r in announcement.ranges})
        for share in announcement.shares:
            here = self._routes.branch(share.table)
            if share.branch != here or dict(share.routes) != self._routes.of(share.table, topics):
                msg = (
                    f"the announcement of table {share.table!r} is for branch {share.branch!r}, routes {share.routes}; the "
                    f"connector writes to {here!r} by {self._routes.of(share.table, topics)}: nothing of it is committed. "
                    "Check who may write to the control topic."
                )
                return AnnouncementVoid(msg)
        routing = self._connector.routing
        names = [*announcement.tables, *announcement.refused] if routing.template is not None else []
        for name in names:
            if name != self._plan.letters and not may_name(routing.template or "", topics, name):
                msg = (
                    f"table {name!r} is announced, which no record can name ({routing.template}): nothing of it is "
                    "committed. Check who may write to the control topic."
                )
                return AnnouncementVoid(msg)
        return None

    def _land_all(self, announcement: Announcement, shares: Sequence[TableShare]) -> Iterator[Landed | FloeError]:
        """Commit the tables one after the other, or several at once when they are many; an error is an outcome too."""
        if len(shares) <= ONE_BY_ONE:
            return map(partial(self._try_share, announcement), shares)
        self._tables()
        with ThreadPoolExecutor(self._threads) as pool:
            return iter(list(pool.map(partial(self._try_share, announcement), shares)))

    def _try_share(self, announcement: Announcement, share: TableShare) -> Landed | FloeError:
        try:
            return self._land_share(announcement, share)
        except FloeError as error:
            log.error("table %s: %s", share.table, error)
            return error

    def _may_replace(self, announcement: Announcement, shares: Sequence[TableShare]) -> bool:
        """Say whether all tables can take a replacement, before its letters are committed: or there would be both.

        Nor may there be letters that it does not know: their records have rows in it.
        """
        try:
            tables = self._tables()
            waiting = [s for s in shares if not is_landed(tables, self._plan, announcement, s, self._patience)]
            if waiting and self._plan.letters is not None:
                branch = self._routes.branch(self._plan.letters)
                refuse_new_letters(tables, self._plan, announcement, branch, {share.table for share in waiting})
        except FloeError as error:
            log.error("slice %s: %s", announcement.slice_id, error)
            self.errors.append(error)
            return False
        return True

    def _land_letters(self, announcement: Announcement, shares: Sequence[TableShare]) -> bool:
        """Commit the slice's dead letters and say whether that is done: before it is, no table may have its rows."""
        try:
            self.landed += [self._land_share(announcement, share) for share in shares]
        except FloeError as error:
            log.error("dead letters, table %s: %s", self._plan.letters, error)
            self.errors.append(error)
            return False
        return True

    def _mark_letters(self, announcement: Announcement, owing: Collection[str]) -> bool:
        """Mark the letters that the slice dealt with and say whether that is done: their rows are durable by now.

        Not those of tables that owe their rows; nor, as long as one does, those that may belong to any table.
        """
        name = self._plan.letters
        resolved = LetterOffsets.of(
            entry for entry in announcement.resolved if entry[0] not in owing and not (entry[0] is None and owing)
        )
        if name is None or not resolved:
            return True
        try:
            dealt_with = replace(announcement, resolved=resolved)
            mark_resolved(self._tables(), self._plan, dealt_with, name, self._routes.branch(name), self._patience)
        except FloeError as error:
            log.error("dead letters, table %s: %s", name, error)
            self.errors.append(error)
            return False
        return True

    def _is_no_table_left(self, piece: Slice, announcement: Announcement, owing: Mapping[str, str]) -> bool:
        tables = piece.tables or [table for table in announcement.tables if table != self._plan.letters]
        takers = {table for table in tables if self._plan.taken(piece, table)}
        return piece.reason is not ReadReason.LIVE or takers <= owing.keys()

    def _land_share(self, announcement: Announcement, share: TableShare) -> Landed:
        landed = land(self._tables(), self._plan, announcement, share, self._patience)
        log.info(
            "table %s: %s rows in %s files, snapshot %s%s",
            share.table,
            share.books.rows,
            share.file_count,
            landed.snapshot_id,
            " (committed before)" if landed.already else "",
        )
        return landed

    def _tables(self) -> Tables:
        if self._opened is not None:
            return self._opened
        for reason in attempts(f"catalog {self._connector.catalog.name!r}", self._patience):
            try:
                self._opened = Tables.of(self._connector)
            except CatalogUnreachable as error:
                reason.append(str(error))
            else:
                return self._opened
        raise AssertionError  # attempts raises at its end
