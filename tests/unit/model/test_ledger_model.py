"""The ledger under random sequences of runs, against sets of offsets."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from floe.model.exceptions import ReplayForgotten
from floe.model.holding import Holding, LiveRange, LogId
from floe.model.ledger import MAX_REPLAYS, Anchor, CommitState, Ledger
from floe.model.ledger_codec import read_properties, write_properties
from floe.model.offsets import Intervals, OffsetRange

LOG = LogId("pizzas", "T1", 0)
ROUTES = "abc"
NAME = "floe.ledger.g.main"


def span(start: int, end: int) -> OffsetRange:
    return OffsetRange(LOG.topic, LOG.topic_id, LOG.partition, start, end)


def members(intervals: Intervals) -> set[int]:
    return {o for start, end in intervals for o in range(start, end)}


@dataclass
class Model:
    """What a table holds, offset by offset, and what was asked of it."""

    ledger: Ledger = field(default_factory=lambda: Ledger("C1"))
    held: dict[str, set[int]] = field(default_factory=lambda: {route: set() for route in ROUTES})
    live_end: int | None = None
    commits: int = 0

    def commit(self, start: int, end: int, since: int, route: str) -> None:
        """Commit a range live, as the commit does: only if the ledger says that it is fresh."""
        r = span(start, end)
        new_offsets = self.ledger.new_offsets(r, route)
        assert members(new_offsets) == set(range(start, end)) - self.held[route]
        standing = self.ledger.state([(r, route, new_offsets)])
        assert standing is (CommitState.PENDING if new_offsets else CommitState.COMMITTED)
        self.commits += 1
        self.ledger = self.ledger.with_live([(LiveRange(r, since, (start, f"m{self.commits}")), route)]).anchored(
            Anchor(self.commits, self.commits)
        )
        self._expect(start, end, since, route)
        self.check()
        assert self.ledger.state([(r, route, new_offsets)]) is CommitState.COMMITTED

    def _expect(self, start: int, end: int, since: int, route: str) -> None:
        own = self.held[route]
        at_live_end = self.live_end is not None and self.live_end - 1 in own and self.live_end not in own
        if at_live_end and self.live_end is not None and since <= self.live_end:
            own.update(range(self.live_end, start))
        own.update(range(start, end))
        self.live_end = max(end, self.live_end or 0)

    def replay(self, start: int, end: int, route: str) -> None:
        """Replay a range: what is held is left out, and the live end stays where it is."""
        r = span(start, end)
        elsewhere = set().union(*(held for other, held in self.held.items() if other != route))
        assert members(self.ledger.elsewhere(r, route)) == elsewhere & set(range(start, end))
        self.ledger = self.ledger.with_replayed([(r, route)])
        self.held[route].update(range(start, end))
        self.check()
        assert not self.ledger.new_offsets(r, route)

    def take_out(self, start: int, end: int) -> None:
        """Take offsets out, as a rollback does: what is left has no live end."""
        gone = set(range(start, end))
        if any(gone & held for held in self.held.values()):
            self.live_end = None
        self.ledger = self.ledger.without({LOG: Intervals.of([(start, end)])})
        for held in self.held.values():
            held -= gone
        self.check()

    def rename(self, old: str, new: str) -> None:
        """Give one route's offsets another name, as a new branch does. Only to a name that is free."""
        if self.held[new] or old == new:
            return
        self.ledger = self.ledger.rerouted({old: new})
        self.held[new], self.held[old] = self.held[old], set()
        self.check()

    def check(self) -> None:
        assert {route: members(self.ledger.held(span(0, 500), route)) for route in ROUTES} == self.held
        holding = self.ledger.holdings.get(LOG, Holding())
        assert holding.live_end == self.live_end
        assert all(holding.held.values())
        assert read_properties(NAME, write_properties(NAME, self.ledger)) == self.ledger


COMMITS = st.tuples(st.integers(0, 60), st.integers(1, 15), st.integers(0, 60), st.sampled_from(ROUTES))


@given(st.lists(COMMITS, max_size=12))
def test_any_live_sequence_agrees_with_the_model(
    commits: list[tuple[int, int, int, str]],
) -> None:
    model = Model()
    for start, length, since, route in commits:
        model.commit(start, start + length, since, route)


STEPS = st.one_of(
    st.tuples(st.just("live"), st.integers(0, 60), st.integers(1, 15), st.integers(0, 60), st.sampled_from(ROUTES)),
    st.tuples(st.just("replay"), st.integers(0, 60), st.integers(1, 15), st.sampled_from(ROUTES)),
    st.tuples(st.just("take out"), st.integers(0, 60), st.integers(1, 30)),
    st.tuples(st.just("rename"), st.sampled_from(ROUTES), st.sampled_from(ROUTES)),
)


@given(st.lists(STEPS, max_size=12))
def test_any_sequence_with_replays_and_branches_fits_the_model(
    steps: list[tuple[Any, ...]],
) -> None:
    model = Model()
    for step in steps:
        match step:
            case ("live", start, length, since, route):
                model.commit(start, start + length, since, route)
            case ("replay", start, length, route):
                model.replay(start, start + length, route)
            case ("take out", start, length):
                model.take_out(start, start + length)
            case ("rename", old, new):
                model.rename(old, new)


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 3)), max_size=40))
def test_no_slice_of_replay_is_appended_twice_or_left_out(appends: list[tuple[int, int]]) -> None:
    """Replays come one after another, each may be taken up again later; one that was forgotten is said, not guessed."""
    ledger, committed = Ledger("C1"), {}
    for number in range(50, 50 + MAX_REPLAYS - 3):
        ledger, committed[f"{number:032x}"] = ledger.with_replay(f"{number:032x}", 0), 1
    for number, slices in appends:
        replay_id = f"{number:032x}"
        for index in range(slices):
            before = committed.get(replay_id, 0)
            try:
                known = ledger.next_of_replay(replay_id)
            except ReplayForgotten:
                assert len(committed) >= MAX_REPLAYS
                assert sum(other > replay_id for other in committed) >= MAX_REPLAYS
                break
            assert known == before
            if index >= known:
                ledger = ledger.with_replay(replay_id, index)
                committed[replay_id] = index + 1
        assert read_properties(NAME, write_properties(NAME, ledger)) == ledger
        assert len(ledger.replays) <= MAX_REPLAYS


RUNS = st.tuples(
    st.integers(1, 8),
    st.booleans(),
    st.sampled_from(["stay", "stay", "stay", "reroute"]),
    st.sampled_from(["finish", "finish", "die before the position", "rewind"]),
    st.sampled_from(ROUTES),
)


@given(st.lists(RUNS, max_size=15))
def test_no_offset_is_in_ledger_under_a_route_it_was_not_read_by(
    runs: list[tuple[int, bool, str, str, str]],
) -> None:
    """Runs as they are: a position, since, tables without rows, changed routings, and runs that die or go back."""
    ledger, position, since, route = Ledger("C1"), 0, 0, "a"
    read_by: dict[int, set[str]] = {}
    committed: set[tuple[int, str]] = set()
    for length, has_rows, routing, ending, other in runs:
        if routing == "reroute" and other != route:
            if ledger.other_routes(span(position, position), other):
                continue  # the slice is refused until the failed run was cleared
            route, since = other, position
        r = span(position, position + length)
        for offset in range(r.start, r.end):
            read_by.setdefault(offset, set()).add(route)
        new_offsets = ledger.new_offsets(r, route)
        if has_rows and new_offsets:
            assert not {(o, route) for o in members(new_offsets)} & committed
            committed |= {(o, route) for o in members(new_offsets)}
            ledger = ledger.with_live([(LiveRange(r, since, (position, "")), route)]).anchored(Anchor(1, 1))
            assert not ledger.new_offsets(r, route)
        if ending == "finish":
            position = r.end
        elif ending == "rewind":
            position = max(since, position - length)
    holding = ledger.holdings.get(LOG)
    for held_route, held in (holding.held if holding else {}).items():
        assert all(held_route in read_by[offset] for offset in members(held))
