"""Landing slices: each table by itself; one that refuses owes, the others go on."""

import logging
from collections.abc import Mapping

from floe.catalogs.catalog import Tables
from floe.catalogs.exceptions import CatalogUnreachable
from floe.commit.exceptions import TableRefused
from floe.commit.patience import attempts
from floe.commit.refusals import REFUSALS
from floe.commit.table import Landed, land
from floe.config import Connector
from floe.control.announcement import Announcement, TableShare
from floe.exceptions import FloeError
from floe.offsets.plan import Plan, Slice, SliceEnd, SliceKind
from floe.offsets.routing import route_hash

log = logging.getLogger(__name__)


class SliceLander:
    """Commits announced slices to their tables, and remembers what landed, what is owed, and what failed."""

    def __init__(self, plan: Plan, connector: Connector) -> None:
        self._plan = plan
        self._connector = connector
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
        for share in announcement.shares:
            try:
                landed.append(self._land_share(announcement, share))
            except REFUSALS as error:
                log.error("table %s: %s", share.table, error)
                refused[share.table] = error
            except FloeError as error:
                log.error("table %s: %s", share.table, error)
                self.errors.append(error)
                failed = True
        self.landed += landed
        owing = {**announcement.refused, **{table: str(error) for table, error in refused.items()}}
        self.refusals |= owing
        if piece.kind is SliceKind.CATCH_UP and owing:
            return False  # it goes on owing
        if not failed and owing and self._is_no_table_left(piece, owing):
            # the range stays where it is, for all of them: reading it again is all that is left to do
            self.errors += list(refused.values()) or [TableRefused("; ".join(owing.values()))]
            failed = True
        if failed:
            return False
        self.ends.append(SliceEnd(piece, {table: self._routes(piece) for table in owing}, bool(landed)))
        return True

    def _is_no_table_left(self, piece: Slice, owing: Mapping[str, str]) -> bool:
        takers = {table for table in piece.tables if self._plan.taken(piece, table)}
        return piece.kind is not SliceKind.LIVE or takers <= owing.keys()

    def _routes(self, piece: Slice) -> Mapping[str, str]:
        return {r.topic: route_hash(r.topic, self._connector.commit_branch) for r in piece.ranges}

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
        for reason in attempts(f"catalog {self._connector.catalog_name!r}", self._patience):
            try:
                self._opened = Tables.of(self._connector)
            except CatalogUnreachable as error:
                reason.append(str(error))
            else:
                return self._opened
        raise AssertionError  # attempts raises at its end
