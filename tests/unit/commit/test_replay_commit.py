"""Replays: what is skipped by its offsets, and what is appended once more, once, by its id."""

from dataclasses import replace

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from floe.exceptions import Terminal
from floe.model.exceptions import ReplayForgotten
from floe.model.holding import Holding, LogId
from floe.model.ledger import MAX_REPLAYS, Ledger
from floe.model.ledger_codec import write_properties
from floe.model.offsets import OffsetRange
from floe.tables.exceptions import SliceStale, TableRefused
from floe.tables.table_state import ledger_of
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import CLUSTER, LEDGER, ROUTE, TOPIC, TOPIC_ID, Lake, expected
from tests.support.tables.slices import Write, Written
from tests.support.tables.wire import Wire, fails_first, once

LOG = LogId(TOPIC, TOPIC_ID, 0)
FIVE = OffsetRange(TOPIC, TOPIC_ID, 0, 0, 5)


def holding(lake: Lake, written: Written) -> Holding:
    return ledger_of(lake.load(), "main", written.plan).holdings[LOG]


@pytest.fixture
def append(write: Write) -> Write:
    """Write a slice of a replay that appends all of its range once more."""

    def make(start: int, end: int, index: int = 0, plan_id: str = "replay-1") -> Written:
        return write((0, start, end), plan_id=plan_id, kind="append", index=index)

    return make


@pytest.fixture
def skip(write: Write) -> Write:
    """Write a slice of a replay that leaves out what is held."""

    def make(start: int, end: int, index: int = 0, plan_id: str = "replay-1") -> Written:
        return write((0, start, end), plan_id=plan_id, kind="skip", index=index)

    return make


# -- append -----------------------------------------------------------------------------------------------------------


def test_appended_range_is_twice_in_table_and_once_in_ledger(lake: Lake, write: Write, append: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    written = append(2, 8)
    assert not written.land().already
    assert lake.rows() == expected((0, 5), (2, 8))
    assert holding(lake, written).held[ROUTE].spans == ((0, 8),)
    assert holding(lake, written).live_end == 5
    assert ledger_of(lake.load(), "main", written.plan).replays == ("replay-1/1",)


def test_summary_separates_new_offsets_from_appended_ones(lake: Lake, write: Write, append: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    append(2, 8).land()
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary["floe.kind"] == "append"
    assert snapshot.summary["floe.net"] == '{"completed-pizzas":{"id":"T1","ranges":[[0,5,8]]}}'
    assert snapshot.summary["floe.appended"] == '{"completed-pizzas":{"id":"T1","ranges":[[0,2,8]]}}'


def test_landing_it_again_adds_nothing_by_its_id(lake: Lake, append: Write) -> None:
    lake.create()
    first, retried = append(0, 5), append(0, 5)
    committed = first.land()
    append_foreign(lake, 1)
    for again in (first.land(), retried.land()):
        assert again.already
        assert again.snapshot_id == committed.snapshot_id
    assert lake.rows() == [*expected((0, 5)), (99, 1)]


def test_another_replay_of_the_same_range_appends_it_again(lake: Lake, append: Write) -> None:
    lake.create()
    for plan_id in ("replay-1", "replay-2"):
        assert not append(0, 5, plan_id=plan_id).land().already
    assert lake.rows() == expected((0, 5), (0, 5))


def test_the_slices_of_a_replay_land_one_after_another_each_once(lake: Lake, append: Write) -> None:
    lake.create()
    slices = [append(3 * i, 3 * i + 3, index=i) for i in range(3)]
    for slice_ in slices:
        assert not slice_.land().already
    for slice_ in slices:
        assert slice_.land().already
    assert lake.rows() == expected((0, 9))


def test_table_without_rows_of_first_slice_takes_the_second(lake: Lake, append: Write) -> None:
    lake.create()
    assert not append(3, 6, index=1).land().already
    assert lake.rows() == expected((3, 6))


@pytest.mark.parametrize("answer", [CommitFailedException("409"), CommitStateUnknownException("504"), OSError("reset")])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_answer_lands_it_once(lake: Lake, append: Write, answer: Exception, when: str) -> None:
    lake.create()
    written = append(0, 5)
    client = lake.catalog()
    Wire(client, **{when: fails_first(answer)})  # type: ignore[arg-type]
    assert written.land(client).already is (when == "after")
    assert lake.rows() == expected((0, 5))


def test_two_committers_of_one_append_land_it_once(lake: Lake, append: Write) -> None:
    lake.create()
    written = append(0, 5)
    client = lake.catalog()
    Wire(client, before=once(written.land))
    assert written.land(client).already
    assert lake.rows() == expected((0, 5))


def test_append_continues_after_live_run_of_the_same_offsets(lake: Lake, write: Write, append: Write) -> None:
    lake.create()
    written, live = append(0, 5), write((0, 0, 5))
    client = lake.catalog()
    Wire(client, before=once(live.land))
    assert not written.land(client).already
    assert lake.rows() == expected((0, 5), (0, 5))


def test_replay_dropped_from_ledger_is_refused_not_repeated(lake: Lake, append: Write) -> None:
    ledger = Ledger(CLUSTER)
    for number in range(MAX_REPLAYS):
        ledger = ledger.with_replay(f"replay-{number + 5:04d}", 0)
    lake.create(properties=write_properties(LEDGER, ledger))
    with pytest.raises(ReplayForgotten, match="replay-0004 is older than the last 100 replays") as caught:
        append(0, 5, plan_id="replay-0004").land()
    assert isinstance(caught.value, Terminal)
    assert lake.rows() == []
    assert append(0, 5, plan_id="replay-0005").land().already
    assert not append(0, 5, plan_id="replay-0999").land().already


def test_what_was_routed_otherwise_is_appended_all_the_same(lake: Lake, append: Write) -> None:
    other = Ledger(CLUSTER).with_replayed([(FIVE, "another-route")])
    lake.create(properties=write_properties(LEDGER, other))
    written = append(0, 5)
    written.land()
    assert lake.rows() == expected((0, 5))
    assert set(holding(lake, written).held) == {"another-route", ROUTE}


# -- skip -------------------------------------------------------------------------------------------------------------


def test_skip_replay_adds_missing_rows_and_no_live_end(lake: Lake, write: Write, skip: Write) -> None:
    lake.create()
    write((0, 5, 9), since=5).land()
    written = skip(0, 12)
    assert not written.land().already
    assert written.land().already
    assert lake.rows() == expected((0, 12))
    assert holding(lake, written).held[ROUTE].spans == ((0, 12),)
    assert holding(lake, written).live_end == 9
    assert ledger_of(lake.load(), "main", written.plan).replays == ()


def test_a_skipping_replay_whose_net_was_filled_in_part_is_stale(lake: Lake, write: Write, skip: Write) -> None:
    lake.create()
    written = skip(0, 9)
    write((0, 3, 5)).land()
    with pytest.raises(SliceStale):
        written.land()
    assert lake.rows() == expected((3, 5))


@pytest.mark.parametrize(
    ("kind", "refused"), [("skip", "add all rows again"), ("live", "Put the old configuration back")]
)
def test_what_was_routed_otherwise_inside_the_range_is_refused(
    lake: Lake, write: Write, kind: str, refused: str
) -> None:
    lake.create()
    written = write((0, 0, 9), kind=kind)
    other = Ledger(CLUSTER).with_replayed([(FIVE, "another-route")])
    lake.load().transaction().set_properties(**write_properties(LEDGER, other)).commit_transaction()
    with pytest.raises(TableRefused, match=rf"\(0, 5\).*under other routes.*{refused}"):
        written.land()


def test_other_route_above_range_matters_to_live_not_to_skip(lake: Lake, write: Write, skip: Write) -> None:
    above = Ledger(CLUSTER).with_replayed([(replace(FIVE, start=20, end=25), "another-route")])
    lake.create(properties=write_properties(LEDGER, above))
    skip(0, 5).land()
    with pytest.raises(TableRefused, match="under other routes"):
        write((0, 5, 9)).land()
