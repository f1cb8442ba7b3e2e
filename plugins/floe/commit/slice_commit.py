"""The commit of one slice: each table by itself; one that refuses is behind, the others go on."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from floe.commit.resolve_dead_letters import append_resolved_markers, check_no_new_dead_letters
from floe.commit.table_commit import TableCommit, check_table, commit_table
from floe.config import Connector
from floe.control.announcement import Announcement
from floe.control.table_work import TableWork
from floe.exceptions import FloeError
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.plan import Plan, Slice, SliceEnd, SliceKind
from floe.model.slice_scope import SliceScope
from floe.modes.write_modes import mode_of
from floe.tables.exceptions import REFUSALS, AnnouncementVoid, SliceStale, TableRefused
from floe.tables.lake import Lake
from floe.tables.retry import retry
from floe.tables.table_state import Routes

log = logging.getLogger(__name__)

ONE_BY_ONE = 4
"""Number of tables up to which threads do not pay."""

Behind = Mapping[str, str]
"""The tables that did not take their rows, each with the reason."""


@dataclass(frozen=True)
class SliceOutcome:
    """What became of a slice. ``end``: how it ended; None while something of it is still to be done.

    ``committed``: its tables, committed now or before. ``behind``: the tables that refused, with the reason. ``errors``:
    why it is not done, where it is not only behind.
    """

    committed: tuple[TableCommit, ...] = ()
    behind: Behind = field(default_factory=dict)
    errors: tuple[FloeError, ...] = ()
    end: SliceEnd | None = None

    @property
    def is_done(self) -> bool:
        return self.end is not None


@dataclass(frozen=True)
class TableOutcomes:
    """What became of the tables of a slice: committed, behind with the reason, or failed.

    ``refused``: of those that are behind, the errors of tables that refused their commit just now.
    """

    committed: tuple[TableCommit, ...] = ()
    behind: Behind = field(default_factory=dict)
    refused: tuple[FloeError, ...] = ()
    failed: tuple[FloeError, ...] = ()

    def left_with(self, *, is_catch_up: bool, is_no_table_left: bool) -> tuple[FloeError, ...] | None:
        """Return what keeps the slice from its end; None where nothing does, and its end can be recorded.

        A backlog stays as long as its table is behind, without an error of its own. Where no table took the rows, the
        range stays for all of them: it has to be read again.
        """
        if self.failed or (is_catch_up and self.behind):
            return self.failed
        if self.behind and is_no_table_left:
            return self.refused or (TableRefused("; ".join(self.behind.values())),)
        return None


def _has_unrouted(announcement: Announcement) -> bool:
    """Return whether records of a slice were refused before they were routed."""
    return any(counts.dead for _, counts in announcement.counts)


class SliceCommitter:
    """Commits the announced slices of a plan; the catalog is opened for the first table that is asked for."""

    def __init__(self, plan: Plan, connector: Connector) -> None:
        self._plan = plan
        self._connector = connector
        self._routes = Routes(connector)
        self._threads = connector.committing.threads
        self._retry_for = connector.committing.timeout_ms / 1000
        self._opened: Lake | None = None

    def commit(
        self, slice_: Slice, announcement: Announcement, left_out: Behind = MappingProxyType({})
    ) -> SliceOutcome:
        """Commit one slice: its dead letters, its tables, then the resolved markers of dead letters that it dealt with.

        ``left_out``: tables of a replay that refused an earlier slice here. A table gets the slices of a replay in order, or
        its ledger would hide the gap. Nothing is raised.
        """
        scope = SliceScope(self._plan, slice_)
        try:
            dead_letters, tables = self._commit_all(scope, announcement, left_out)
        except FloeError as error:
            log.error("slice %s: %s", announcement.slice_id, error)
            return SliceOutcome(errors=(error,))
        outcome = SliceOutcome((*dead_letters, *tables.committed), tables.behind)
        errors = tables.left_with(
            is_catch_up=slice_.kind is SliceKind.CATCH_UP,
            is_no_table_left=bool(tables.behind) and self._is_no_table_left(slice_, announcement, tables.behind),
        )
        if errors is not None:
            return replace(outcome, errors=errors)
        try:
            self._mark_resolved(announcement, tables.behind)
        except FloeError as error:
            log.error("dead letters, table %s: %s", self._plan.dead_letters, error)
            return replace(outcome, errors=(error,))
        return replace(outcome, end=self._end(slice_, announcement, tables))

    # -- the steps ----------------------------------------------------------------------------------------------------

    def _commit_all(
        self, scope: SliceScope, announcement: Announcement, left_out: Behind
    ) -> tuple[tuple[TableCommit, ...], TableOutcomes]:
        """Commit the dead letters, then the tables. Raises what keeps all tables from their rows."""
        self._check_origin(announcement)
        behind = {**announcement.refused, **{t: left_out[t] for t in announcement.tables if t in left_out}}
        works = [TableWork(scope, announcement, files) for files in announcement.files]
        of_rows = [w for w in works if not scope.is_dead_letter_table(w.table) and w.table not in behind]
        checked_first = {table for table in announcement.tables if mode_of(scope, table).is_checked_first}
        if checked_first:
            first = [work for work in of_rows if work.table in checked_first]
            behind |= self._check_tables(announcement, first, behind)
            of_rows = [work for work in of_rows if work.table not in behind]
        # before that is done, no table may have its rows
        dead_letters = tuple(self._commit_table(w) for w in works if scope.is_dead_letter_table(w.table))
        tables = self._commit_tables(scope, announcement, of_rows)
        return dead_letters, replace(tables, behind={**behind, **tables.behind})

    def _check_origin(self, announcement: Announcement) -> None:
        """Raise AnnouncementVoid for what does not come from this connector: any client may write to the control topic."""
        topics = sorted({r.topic for r in announcement.ranges})
        for table_files in announcement.files:
            here = self._routes.branch(table_files.table)
            if table_files.branch != here or dict(table_files.routes) != self._routes.of(table_files.table, topics):
                msg = (
                    f"the announcement for table {table_files.table!r} targets branch {table_files.branch!r} with routes "
                    f"{table_files.routes}, but the connector writes to branch {here!r} with routes "
                    f"{self._routes.of(table_files.table, topics)}. It was ignored. Check who may write to the control topic."
                )
                raise AnnouncementVoid(msg)
        routing = self._connector.routing
        names = list(announcement.tables) if routing.template is not None else []
        for name in names:
            if name != self._plan.dead_letters and not self._connector.may_name(topics, name):
                msg = (
                    f"table {name!r} is announced, which no record can name ({routing.template}). The announcement was "
                    "ignored for it. Check who may write to the control topic."
                )
                raise AnnouncementVoid(msg)

    def _check_tables(
        self, announcement: Announcement, works: Sequence[TableWork], refused: Behind
    ) -> Mapping[str, str]:
        """Return the tables that refuse to have their rows removed, and why, before dead letters are committed.

        Raises what keeps the others from it. A table that refuses keeps its rows: where the slice has dead letters of it, or
        of no table, its refusal is raised. Nor may there be dead letters that the slice does not know: their records have
        rows in it.
        """
        lake = self._lake()
        waiting, errors = [], dict[str, FloeError]()
        for work in works:
            try:
                if not check_table(lake, work, self._retry_for):
                    waiting.append(work)
            except REFUSALS as error:
                errors[work.table] = error
        are_all = len(errors) == len(works) and bool(works)
        have_dead_letters = any(announcement.tables[table].counts.dead for table in errors) or _has_unrouted(
            announcement
        )
        if errors and (are_all or have_dead_letters):
            raise next(iter(errors.values()))
        if refused and _has_unrouted(announcement):
            raise TableRefused("; ".join(refused.values()))
        if waiting and self._plan.dead_letters is not None:
            branch = self._routes.branch(self._plan.dead_letters)
            check_no_new_dead_letters(lake, self._plan, announcement, branch, {work.table for work in waiting})
        return {table: str(error) for table, error in errors.items()}

    def _commit_tables(
        self, scope: SliceScope, announcement: Announcement, works: Sequence[TableWork]
    ) -> TableOutcomes:
        """Commit the tables one after the other, or several at once when they are many; an error is an outcome too."""
        if len(works) <= ONE_BY_ONE:
            outcomes = [self._try_table(work) for work in works]
        else:
            self._lake()
            with ThreadPoolExecutor(self._threads) as pool:
                outcomes = list(pool.map(self._try_table, works))
        errors = {w.table: one for w, one in zip(works, outcomes, strict=True) if isinstance(one, FloeError)}
        errors |= self._unheld(scope, announcement)
        refused = {table: error for table, error in errors.items() if isinstance(error, REFUSALS)}
        return TableOutcomes(
            committed=tuple(one for one in outcomes if isinstance(one, TableCommit)),
            behind={table: str(error) for table, error in refused.items()},
            refused=tuple(refused.values()),
            failed=tuple(error for error in errors.values() if not isinstance(error, REFUSALS)),
        )

    def _mark_resolved(self, announcement: Announcement, behind: Collection[str]) -> None:
        """Mark the dead letters that the slice dealt with: their rows are durable by now. Raises what keeps them out.

        Not those of tables that are behind; nor, as long as one is, those that may belong to any table.
        """
        name = self._plan.dead_letters
        resolved = DeadLetterOffsets.of(
            entry for entry in announcement.resolved if entry[0] not in behind and not (entry[0] is None and behind)
        )
        if name is not None and resolved:
            dealt_with = replace(announcement, resolved=resolved)
            append_resolved_markers(
                self._lake(), self._plan, dealt_with, name, self._routes.branch(name), self._retry_for
            )

    # -- their parts --------------------------------------------------------------------------------------------------

    def _end(self, slice_: Slice, announcement: Announcement, tables: TableOutcomes) -> SliceEnd:
        topics = {r.topic for r in slice_.ranges}
        routes_behind = {table: self._routes.of(table, topics) for table in tables.behind}
        return SliceEnd(slice_, routes_behind, bool(tables.committed), self._is_quick(announcement))

    def _is_quick(self, announcement: Announcement) -> bool:
        """Return whether twice as much could have been written in the time that a write may take."""
        took, timeout = announcement.write_ms, self._connector.reading.write_timeout_ms
        return took is None or timeout is None or 2 * took <= timeout

    def _unheld(self, scope: SliceScope, announcement: Announcement) -> dict[str, FloeError]:
        """Return the tables whose rows were all left out as contained, and that do not contain them, with the error."""
        errors: dict[str, FloeError] = {}
        for table in unwritten_tables(scope, announcement):
            try:
                check_contained(self._lake(), scope, announcement, table, self._retry_for)
            except FloeError as error:
                log.error("table %s: %s", table, error)
                errors[table] = error
        return errors

    def _is_no_table_left(self, slice_: Slice, announcement: Announcement, behind: Behind) -> bool:
        tables = slice_.tables or [table for table in announcement.tables if table != self._plan.dead_letters]
        takers = {table for table in tables if self._plan.taken(slice_, table)}
        if slice_.is_replay and not slice_.tables:
            return False  # its records may name others in the next slice
        return takers <= behind.keys()

    def _try_table(self, work: TableWork) -> TableCommit | FloeError:
        try:
            return self._commit_table(work)
        except FloeError as error:
            log.error("table %s: %s", work.table, error)
            return error

    def _commit_table(self, work: TableWork) -> TableCommit:
        done = commit_table(self._lake(), work, self._retry_for)
        log.info(
            "table %s: %s rows in %s files, snapshot %s%s",
            work.table,
            f"{work.counts.rows:,}",
            f"{work.files.file_count:,}",
            done.snapshot_id,
            " (committed before)" if done.already else "",
        )
        return done

    def _lake(self) -> Lake:
        if self._opened is not None:
            return self._opened
        name = f"catalog {self._connector.catalog.name!r}"
        self._opened = retry(name, self._retry_for, lambda: Lake.of(self._connector, self._plan.cluster_id))
        return self._opened


# Rows that a writer left out because the table contains them: its ledger must say so, or they would be in no table.


def unwritten_tables(scope: SliceScope, announcement: Announcement) -> list[str]:
    """Return the tables that an announcement has no files for, as they are said to contain all their rows.

    For tables with files, the new offsets are compared with the ledger. Those that identify a repeat otherwise leave no
    row out.
    """
    return [
        name
        for name, one in announcement.tables.items()
        if one.counts.held and one.files is None and mode_of(scope, name).repeat_by == "offsets"
    ]


def check_contained(lake: Lake, scope: SliceScope, announcement: Announcement, name: str, retry_for: float) -> None:
    """Raise SliceStale when a table contains fewer offsets of a slice than rows were left out for it.

    Its ledger only grows while a run is at work, unless the table is rolled back or replaced. Raises what loading it
    raises, and TableNotCommitted when the catalog does not answer for ``retry_for`` seconds.
    """
    left_out = announcement.tables[name].counts.held
    held = retry(f"table {name!r}", retry_for, lambda: _held(lake, scope, name))
    if held < left_out:
        msg = (
            f"{left_out} rows of slice {announcement.slice_id} were not written to table {name!r} because it contained "
            f"them, but its ledger contains {held} offsets of the slice: it was rolled back or replaced meanwhile, or "
            "another writer announced. Nothing of the slice was committed. The next run plans again. Check who may write "
            "to the control topic."
        )
        raise SliceStale(msg)


def _held(lake: Lake, scope: SliceScope, name: str) -> int:
    """Return how many offsets of a slice a table contains; none where it does not exist."""
    ranges = scope.taken(name)
    state = lake.state(name, {r.topic for r in ranges})
    held = (state.ledger.held(r, state.routes[r.topic]) for r in ranges)
    return sum(end - start for spans in held for start, end in spans)
