"""Dead letters land before any table, stand by their slice, and are never doubled."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from floe.catalogs.exceptions import CatalogMisconfigured
from floe.commit.slice_commit import SliceCommitter, SliceOutcome
from floe.commit.table_commit import TableCommit
from floe.config import Connector
from floe.control.table_work import TableWork
from floe.model.route_hash import route_hash
from floe.tables import lake as module
from floe.tables.exceptions import SliceStale
from floe.tables.table_state import DEAD_LETTERS, ledger_of
from tests.support.tables.lake import OTHER_TABLE, TABLE, TOPIC, Lake, expected
from tests.support.tables.slices import Written, make_announcement, write_slice

ROUTE = route_hash(TOPIC, None, DEAD_LETTERS)
KEYS = {"floe.deadletter.table": OTHER_TABLE}


def with_dead_letters(written: Written) -> Written:
    """Return the slice with its second table as that of the letters."""
    table, dead_letters = written.announcement.files
    plan = replace(written.plan, config=KEYS, slices=(replace(written.plan.slices[0], tables=(TABLE,)),))
    ledger = ledger_of(written.lake.load(OTHER_TABLE), "main", plan)
    new_ranges = tuple((r, ledger.new_offsets(r, ROUTE)) for r, _ in dead_letters.new_ranges)
    dead_letters = replace(dead_letters, routes={TOPIC: ROUTE}, new_ranges=new_ranges)
    return replace(written, plan=plan, announcement=make_announcement(plan, table, dead_letters))


@dataclass
class Post:
    """A table, and one of letters."""

    lake: Lake
    monkeypatch: pytest.MonkeyPatch

    def write(self, *ranges: tuple[int, int, int], **of_plan: object) -> Written:
        return with_dead_letters(write_slice(self.lake, *ranges, tables=(TABLE, OTHER_TABLE), **of_plan))  # type: ignore[arg-type]

    def connector(self) -> Connector:
        return self.lake.connector(**KEYS)

    def land(self, written: Written) -> SliceOutcome:
        self.monkeypatch.setattr(module, "CatalogClient", SimpleNamespace(of=lambda _: self.lake.tables()))
        return SliceCommitter(written.plan, self.connector()).commit(written.plan.slices[0], written.announcement)

    def rows(self) -> tuple[int, int]:
        return len(self.lake.rows()), len(self.lake.rows(name=OTHER_TABLE))


@pytest.fixture
def post(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Post:
    """Give both tables."""
    for name in (TABLE, OTHER_TABLE):
        lake.create(name=name)
    return Post(lake, monkeypatch)


def test_dead_letters_are_committed_first_and_once(post: Post) -> None:
    written = post.write((0, 0, 5))
    outcome = post.land(written)
    assert [committed.table_files.table for committed in outcome.committed] == [OTHER_TABLE, TABLE]
    assert [committed.already for committed in post.land(written).committed] == [True, True]
    assert post.rows() == (5, 5)


def test_while_letters_cannot_land_no_table_gets_the_neighbours(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    written = post.write((0, 0, 5))
    original = SliceCommitter._commit_table

    def refused(committer: SliceCommitter, work: TableWork) -> TableCommit:
        if work.table == OTHER_TABLE:
            msg = "not allowed"
            raise CatalogMisconfigured(msg)
        return original(committer, work)

    monkeypatch.setattr(SliceCommitter, "_commit_table", refused)
    outcome = post.land(written)
    assert (post.rows(), outcome.end) == ((0, 0), None)
    assert [str(error) for error in outcome.errors] == ["not allowed"]


def test_dead_letters_of_catch_up_are_new_at_written_offsets(post: Post) -> None:
    """Its ledger holds the offsets from the live slice: the slice tells that these are others."""
    post.land(post.write((0, 0, 5)))
    late = post.write((0, 0, 5), plan_id="plan-2", kind="catch-up")
    table_files = late.announcement.files[1]
    assert [new_offsets.spans for _, new_offsets in table_files.new_ranges] == [()]
    files = write_slice(post.lake, (0, 0, 2), tables=(OTHER_TABLE,), kind="append").announcement.files[0]
    late = replace(late, announcement=make_announcement(late.plan, replace(table_files, files=files.files)))
    assert [committed.already for committed in post.land(late).committed] == [False]
    assert [committed.already for committed in post.land(late).committed] == [True]
    assert post.lake.rows(name=OTHER_TABLE) == sorted(expected((0, 5)) + expected((0, 2)))


def test_dead_letters_written_by_another_run_make_slice_stale(post: Post) -> None:
    """What is on record was looked up when the slice was written."""
    first, second = post.write((0, 0, 5)), post.write((0, 0, 9), plan_id="plan-2")
    post.land(first)
    outcome = post.land(second)
    assert [type(error) for error in outcome.errors] == [SliceStale]
    assert post.rows() == (5, 5)


def test_a_change_of_routing_is_none_of_the_letters_business(post: Post) -> None:
    post.land(post.write((0, 0, 5)))
    later = post.write((0, 5, 9), plan_id="plan-2")
    assert [committed.already for committed in post.land(later).committed] == [False, False]
    assert post.rows() == (9, 9)
