"""Dead letters land before any table, stand by their slice, and are never doubled."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from floe.catalogs.exceptions import CatalogMisconfigured
from floe.commit import slice_commit as module
from floe.commit.slice_commit import SliceLander
from floe.commit.table_commit import Landed
from floe.config import Connector
from floe.model.route_hash import route_hash
from floe.tables.exceptions import SliceStale
from floe.tables.routes import LETTERS
from floe.tables.table_ledger import ledger_of
from tests.support.tables.lake import OTHER_TABLE, TABLE, TOPIC, Lake, Written, expected, make_announcement, write_slice

ROUTE = route_hash(TOPIC, None, LETTERS)
KEYS = {"floe.deadletter.table": OTHER_TABLE}


def with_letters(written: Written) -> Written:
    """Return the slice with its second table as that of the letters."""
    table, letters = written.announcement.shares
    plan = replace(written.plan, config=KEYS, slices=(replace(written.plan.slices[0], tables=(TABLE,)),))
    ledger = ledger_of(written.lake.load(OTHER_TABLE), "main", plan)
    nets = tuple((r, ledger.net(r, ROUTE)) for r, _ in letters.nets)
    letters = replace(letters, routes={TOPIC: ROUTE}, nets=nets)
    return replace(written, plan=plan, announcement=make_announcement(plan, table, letters))


@dataclass
class Post:
    """A table, and one of letters."""

    lake: Lake
    monkeypatch: pytest.MonkeyPatch

    def write(self, *ranges: tuple[int, int, int], **of_plan: object) -> Written:
        return with_letters(write_slice(self.lake, *ranges, tables=(TABLE, OTHER_TABLE), **of_plan))  # type: ignore[arg-type]

    def connector(self) -> Connector:
        return self.lake.connector(**KEYS)

    def land(self, written: Written) -> SliceLander:
        self.monkeypatch.setattr(module, "Tables", SimpleNamespace(of=lambda _: self.lake.tables()))
        lander = SliceLander(written.plan, self.connector())
        lander.land(written.plan.slices[0], written.announcement)
        return lander

    def rows(self) -> tuple[int, int]:
        return len(self.lake.rows()), len(self.lake.rows(name=OTHER_TABLE))


@pytest.fixture
def post(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Post:
    """Give both tables."""
    for name in (TABLE, OTHER_TABLE):
        lake.create(name=name)
    return Post(lake, monkeypatch)


def test_letters_land_first_and_once(post: Post) -> None:
    written = post.write((0, 0, 5))
    lander = post.land(written)
    assert [landed.share.table for landed in lander.landed] == [OTHER_TABLE, TABLE]
    assert [landed.already for landed in post.land(written).landed] == [True, True]
    assert post.rows() == (5, 5)


def test_while_letters_cannot_land_no_table_gets_the_neighbours(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    written = post.write((0, 0, 5))
    original = SliceLander._land_share

    def refused(lander: SliceLander, announcement: object, share: object) -> Landed:
        if share.table == OTHER_TABLE:  # type: ignore[attr-defined]
            msg = "not allowed"
            raise CatalogMisconfigured(msg)
        return original(lander, announcement, share)  # type: ignore[arg-type]

    monkeypatch.setattr(SliceLander, "_land_share", refused)
    lander = post.land(written)
    assert (post.rows(), lander.ends) == ((0, 0), [])
    assert [str(error) for error in lander.errors] == ["not allowed"]


def test_letters_of_a_caught_up_table_are_new_at_offsets_that_are_held(post: Post) -> None:
    """Its ledger holds the offsets from the live slice: the slice tells that these are others."""
    post.land(post.write((0, 0, 5)))
    late = post.write((0, 0, 5), plan_id="plan-2", kind="catch-up")
    share = late.announcement.shares[1]
    assert [net.spans for _, net in share.nets] == [()]
    files = write_slice(post.lake, (0, 0, 2), tables=(OTHER_TABLE,), kind="append").announcement.shares[0]
    late = replace(
        late, announcement=make_announcement(late.plan, replace(share, files=files.files, books=files.books))
    )
    assert [landed.already for landed in post.land(late).landed] == [False]
    assert [landed.already for landed in post.land(late).landed] == [True]
    assert post.lake.rows(name=OTHER_TABLE) == sorted(expected((0, 5)) + expected((0, 2)))


def test_letters_that_another_run_wrote_meanwhile_make_the_slice_stale(post: Post) -> None:
    """What is on record was looked up when the slice was written."""
    first, second = post.write((0, 0, 5)), post.write((0, 0, 9), plan_id="plan-2")
    post.land(first)
    lander = post.land(second)
    assert [type(error) for error in lander.errors] == [SliceStale]
    assert post.rows() == (5, 5)


def test_a_change_of_routing_is_none_of_the_letters_business(post: Post) -> None:
    post.land(post.write((0, 0, 5)))
    later = post.write((0, 5, 9), plan_id="plan-2")
    assert [landed.already for landed in post.land(later).landed] == [False, False]
    assert post.rows() == (9, 9)
