"""The ledger: what is held, what is not, what grows, what decisions change."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from floe.exceptions import Terminal
from floe.model.exceptions import ReplayForgotten
from floe.model.holding import Holding, LiveRange, LogId
from floe.model.ledger import MAX_REPLAYS, Anchor, CommitState, Ledger
from floe.model.offsets import Intervals, OffsetRange, TopicPartition
from floe.model.positions import LeaderEpoch, Position, PositionMetadata
from tests.support.ledgers import ANCHOR, held, span

LOG = LogId("pizzas", "T1", 0)


def test_an_empty_ledger_holds_nothing_and_its_net_is_the_range() -> None:
    assert not Ledger("C1").held(span(0, 5), "r")
    assert Ledger("C1").new_offsets(span(0, 5), "r") == Intervals(((0, 5),))


def test_what_was_committed_is_held_and_the_net_is_the_rest(ledger: Callable[..., Ledger]) -> None:
    made = ledger((0, 10, 0, "r"))
    assert made.held(span(5, 15), "r") == Intervals(((5, 10),))
    assert made.new_offsets(span(5, 15), "r") == Intervals(((10, 15),))
    assert not made.new_offsets(span(2, 8), "r")


@pytest.mark.parametrize(
    ("asked", "route"), [(span(0, 10, 1), "r"), (span(0, 10, 0, "T2"), "r"), (span(0, 10), "other")]
)
def test_partitions_incarnations_and_routes_are_held_apart(
    ledger: Callable[..., Ledger], asked: OffsetRange, route: str
) -> None:
    assert ledger((0, 10, 0, "r")).new_offsets(asked, route) == Intervals(((0, 10),))


def test_offsets_of_other_routes_are_found_from_range_start(ledger: Callable[..., Ledger]) -> None:
    made = ledger((0, 10, 0, "old"), (10, 20, 10, "new"))
    assert made.other_routes(span(5, 7), "new") == Intervals(((5, 10),))
    assert made.other_routes(span(5, 7), "old") == Intervals(((10, 20),))
    assert not made.other_routes(span(10, 12), "new")
    assert not Ledger("C1").other_routes(span(0, 9), "new")


def new_ranges(*fields: tuple[OffsetRange, Intervals]) -> list[tuple[OffsetRange, str, Intervals]]:
    return [(r, "r", new_offsets) for r, new_offsets in fields]


def test_a_first_commit_is_fresh(ledger: Callable[..., Ledger]) -> None:
    assert ledger().state(new_ranges((span(0, 5), Intervals(((0, 5),))))) is CommitState.PENDING


def test_a_repeat_has_landed(ledger: Callable[..., Ledger]) -> None:
    assert ledger((0, 5, 0, "r")).state(new_ranges((span(0, 5), Intervals(((0, 5),))))) is CommitState.COMMITTED


def test_a_net_above_what_is_held_is_fresh(ledger: Callable[..., Ledger]) -> None:
    assert ledger((0, 5, 0, "r")).state(new_ranges((span(3, 8), Intervals(((5, 8),))))) is CommitState.PENDING


@pytest.mark.parametrize("committed", [(0, 3), (2, 5), (1, 2), (4, 9)])
def test_a_net_that_is_held_in_part_is_stale(ledger: Callable[..., Ledger], committed: tuple[int, int]) -> None:
    made = ledger((*committed, 0, "r"))
    assert made.state(new_ranges((span(0, 5), Intervals(((0, 5),))))) is CommitState.STALE


def test_a_range_whose_rest_is_no_longer_held_is_stale(ledger: Callable[..., Ledger]) -> None:
    assert ledger().state(new_ranges((span(0, 8), Intervals(((5, 8),))))) is CommitState.STALE
    assert ledger((0, 4, 0, "r")).state(new_ranges((span(0, 8), Intervals(((5, 8),))))) is CommitState.STALE


def test_one_range_landed_beside_a_fresh_one_is_stale(ledger: Callable[..., Ledger]) -> None:
    both = new_ranges((span(0, 5), Intervals(((0, 5),))), (span(0, 5, 1), Intervals(((0, 5),))))
    assert ledger((0, 5, 0, "r")).state(both) is CommitState.STALE
    assert ledger((0, 5, 0, "r"), partition=1).state(both) is CommitState.STALE


def test_written_range_does_not_make_new_neighbour_stale(ledger: Callable[..., Ledger]) -> None:
    both = new_ranges((span(0, 5), Intervals()), (span(0, 5, 1), Intervals(((0, 5),))))
    assert ledger((0, 5, 0, "r")).state(both) is CommitState.PENDING


def test_the_same_offsets_under_another_route_are_not_held(ledger: Callable[..., Ledger]) -> None:
    assert ledger((0, 5, 0, "other")).state(new_ranges((span(0, 5), Intervals(((0, 5),))))) is CommitState.PENDING


@pytest.mark.parametrize(
    ("commits", "route", "spans"),
    [
        pytest.param([(0, 5, 0, "r"), (9, 12, 0, "r")], "r", ((0, 12),), id="runs without rows in between are closed"),
        pytest.param([(0, 5, 0, "r"), (9, 12, 5, "r")], "r", ((0, 12),), id="since at the live end still closes"),
        pytest.param([(0, 5, 0, "r"), (9, 12, 6, "r")], "r", ((0, 5), (9, 12)), id="a routing changed since does not"),
        pytest.param([(0, 5, 0, "a"), (9, 12, 0, "b")], "b", ((9, 12),), id="another route begins with its range"),
        pytest.param(
            [(0, 5, 0, "a"), (5, 7, 5, "b"), (9, 12, 5, "a")], "a", ((0, 5), (9, 12)), id="the live end is b's by then"
        ),
        pytest.param([(0, 10, 0, "r"), (5, 15, 0, "r")], "r", ((0, 15),), id="a rewind overlaps"),
        pytest.param([(0, 10, 0, "r"), (2, 4, 0, "r")], "r", ((0, 10),), id="a rewind inside changes nothing"),
        pytest.param([(10, 20, 10, "r"), (5, 8, 0, "r")], "r", ((5, 8), (10, 20)), id="a rewind below grows no tail"),
    ],
)
def test_only_interval_at_live_end_is_extended_under_one_route(
    ledger: Callable[..., Ledger], commits: list[Any], route: str, spans: tuple[tuple[int, int], ...]
) -> None:
    assert held(ledger(*commits), route) == spans


def test_live_end_never_goes_back_and_newest_position_is_kept(ledger: Callable[..., Ledger]) -> None:
    holding = ledger((0, 10, 0, "r"), (2, 4, 0, "r")).holdings[LogId("pizzas", "T1", 0)]
    assert holding.live_end == 10
    assert holding.position == (2, "metadata")


def test_without_a_live_end_nothing_grows() -> None:
    seeded = Ledger("C1", {LogId("pizzas", "T1", 0): Holding({"r": Intervals(((0, 5),))}, None, None)})
    grown = seeded.with_live([(LiveRange(span(9, 12), 0, (9, "")), "r")]).anchored(ANCHOR)
    assert held(grown, "r") == ((0, 5), (9, 12))


def test_live_commit_leaves_other_partitions_and_old_value(ledger: Callable[..., Ledger]) -> None:
    before = ledger((0, 5, 0, "r"))
    after = before.with_live([(LiveRange(span(0, 9, 1), 0, (0, "")), "r")]).anchored(Anchor(12, 3))
    assert after.holdings[LogId("pizzas", "T1", 0)] == before.holdings[LogId("pizzas", "T1", 0)]
    assert len(before.holdings) == 1
    assert (before.anchor, after.anchor, after.anchored(ANCHOR).anchor) == (ANCHOR, Anchor(12, 3), ANCHOR)


def test_catch_up_extends_interval_ending_at_backlog_start(ledger: Callable[..., Ledger]) -> None:
    """The runs in between went by without the table; a position that had to step over something says so by *since*."""
    behind = ledger((0, 50, 0, "r"))
    paid = behind.with_live([(LiveRange(span(50, 80), 0, (90, "")), "r")])
    assert held(paid, "r") == ((0, 80),)
    assert paid.holdings[LOG].live_end == 80
    assert paid.holdings[LOG].position == (90, "")
    stepped_over = behind.with_live([(LiveRange(span(60, 80), 60, (90, "")), "r")])
    assert held(stepped_over, "r") == ((0, 50), (60, 80))


def test_a_replay_is_held_but_is_no_live_end_and_no_position(ledger: Callable[..., Ledger]) -> None:
    before = ledger((10, 20, 10, "r"))
    after = before.with_replayed([(span(0, 5), "r"), (span(18, 25), "r"), (span(3, 4, 1), "r")])
    assert held(after, "r") == ((0, 5), (10, 25))
    assert after.holdings[LOG].live_end == 20
    assert after.holdings[LOG].position == (10, "metadata")
    assert after.holdings[LogId("pizzas", "T1", 1)] == Holding({"r": Intervals(((3, 4),))})


def test_live_run_leaves_offsets_below_a_replay_open(ledger: Callable[..., Ledger]) -> None:
    replayed = ledger((0, 10, 0, "r")).with_replayed([(span(15, 20), "r")])
    grown = replayed.with_live([(LiveRange(span(30, 40), 12, (30, "")), "r")])
    assert held(grown, "r") == ((0, 10), (15, 20), (30, 40))


def test_offsets_elsewhere_are_those_inside_the_range_only(ledger: Callable[..., Ledger]) -> None:
    made = ledger((0, 10, 0, "old"), (10, 20, 10, "new"))
    assert made.elsewhere(span(5, 15), "new") == Intervals(((5, 10),))
    assert made.elsewhere(span(5, 15), "old") == Intervals(((10, 15),))
    assert not made.elsewhere(span(10, 30), "new")
    assert not made.elsewhere(span(5, 15, topic_id="T2"), "new")


def test_unknown_replay_begins_first_and_continues_after_last() -> None:
    ledger = Ledger("C1")
    assert ledger.next_of_replay("r1") == 0
    for index in range(12):
        ledger = ledger.with_replay("r1", index).with_replay("r2", 0)
        assert ledger.next_of_replay("r1") == index + 1
    assert ledger.next_of_replay("r2") == 1
    assert ledger.replays == ("r1/12", "r2/1")


def test_newest_replays_are_kept_and_older_ones_refused() -> None:
    ledger = Ledger("C1")
    for number in range(MAX_REPLAYS + 3):
        ledger = ledger.with_replay(f"replay-{number:04d}", 1)
    assert len(ledger.replays) == MAX_REPLAYS
    assert [ledger.next_of_replay(f"replay-{number:04d}") for number in (3, 50, MAX_REPLAYS + 2)] == [2, 2, 2]
    assert ledger.next_of_replay("replay-9999") == 0
    for forgotten in ("replay-0002", "replay-0000"):
        with pytest.raises(ReplayForgotten, match=f"{forgotten} is older than the last 100.*Trigger a new replay") as e:
            ledger.next_of_replay(forgotten)
        assert isinstance(e.value, Terminal)


def test_removed_offsets_are_new_again_and_live_end_is_gone(ledger: Callable[..., Ledger]) -> None:
    before = ledger((0, 10, 0, "a"), (10, 20, 10, "b"))
    after = before.without({LOG: Intervals(((8, 12),))})
    assert after.holdings[LOG] == Holding(
        {"a": Intervals(((0, 8),)), "b": Intervals(((12, 20),))}, None, before.holdings[LOG].position
    )
    assert after.anchor == before.anchor
    assert not before.without({LOG: Intervals(((0, 30),))}).holdings[LOG].held


@pytest.mark.parametrize(
    "gone",
    [{}, {LogId("pizzas", "T2", 0): Intervals(((0, 9),))}, {LogId("pizzas", "T1", 0): Intervals(((30, 40),))}],
)
def test_taking_out_what_is_not_held_changes_nothing(
    ledger: Callable[..., Ledger], gone: dict[LogId, Intervals]
) -> None:
    before = ledger((0, 10, 0, "a"))
    assert before.without(gone) == before


def test_after_a_rollback_the_next_live_run_closes_over_nothing(ledger: Callable[..., Ledger]) -> None:
    reopened = ledger((0, 10, 0, "r"), (10, 20, 0, "r")).without({LOG: Intervals(((10, 20),))})
    assert held(reopened.with_live([(LiveRange(span(25, 30), 0, (25, "")), "r")]), "r") == ((0, 10), (25, 30))


def test_a_branch_holds_what_it_inherits_under_its_own_routes(ledger: Callable[..., Ledger]) -> None:
    before = ledger((0, 10, 0, "main"), (10, 20, 10, "other"))
    after = before.rerouted({"main": "audit"})
    assert after.new_offsets(span(0, 30), "audit") == Intervals(((10, 30),))
    assert after.held(span(0, 30), "other") == Intervals(((10, 20),))
    assert not after.held(span(0, 30), "main")
    assert (after.holdings[LOG].live_end, after.anchor) == (before.holdings[LOG].live_end, before.anchor)


@pytest.mark.parametrize(("offset", "left"), [(5, 5), (10, 10), (15, 10)])
def test_position_copies_end_where_a_cut_log_continues(ledger: Callable[..., Ledger], offset: int, left: int) -> None:
    before = ledger((10, 20, 0, "r"))
    tp = TopicPartition("pizzas", 0)
    unknown = LogId("pizzas", "T2", 0)
    after = before.cut({LOG: (30, Position(tp, offset, "new")), unknown: (0, Position(tp, 0, "new"))})
    assert after.holdings[LOG].position == (left, "new" if left < 10 else "metadata")
    assert after.holdings[LOG].held == before.holdings[LOG].held
    assert unknown not in after.holdings


def test_cut_ledger_forgets_the_offsets_from_the_cut_on_and_the_epoch(ledger: Callable[..., Ledger]) -> None:
    metadata = PositionMetadata("R", 0, "T1", "C1", epoch=LeaderEpoch(3, 20))
    before = ledger((10, 20, 0, "r"))
    copied = before.holding({LOG: replace(before.holdings[LOG], position=(10, metadata.encode()))})
    after = copied.cut({LOG: (15, Position(TopicPartition("pizzas", 0), 12, "new"))})
    assert after.new_offsets(span(10, 20), "r") == Intervals(((15, 20),))
    assert after.holdings[LOG].position == (10, replace(metadata, epoch=None).encode())
    assert after.holdings[LOG].live_end is None


def test_ledger_names_incarnations_of_a_topic_in_it(ledger: Callable[..., Ledger]) -> None:
    both = ledger((0, 5, 0, "r")).with_replayed([(span(0, 5, 3, "T2"), "r")])
    assert both.topic_ids("pizzas") == {"T1", "T2"}
    assert both.topic_ids("drinks") == frozenset()


def test_an_adopted_cluster_takes_the_place_of_the_old_one(ledger: Callable[..., Ledger]) -> None:
    before = ledger((0, 5, 0, "r"))
    after = before.of_cluster("C2")
    assert (after.cluster_id, after.holdings, after.anchor) == ("C2", before.holdings, before.anchor)
