"""The ledger: per table, connector and branch, the offsets that the table contains, stored in the table itself."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from floe.model.exceptions import ReplayForgotten
from floe.model.holding import Holding, LiveRange, LogId, extended, seeded
from floe.model.offsets import Intervals, OffsetRange
from floe.model.positions import Position, without_epoch

MAX_REPLAYS = 100
"""Appending replays that a ledger keeps."""


_ALL = 2**63 - 1

MAX_SLICES = 200
"""Slices that the ledger of a dead-letter table keeps: an older slice is resolved, or read again by a new plan."""


def ranges_of(logs: Mapping[LogId, Intervals]) -> Iterator[OffsetRange]:
    """Yield the intervals of logs as ranges."""
    return (OffsetRange(*log_id, start, end) for log_id, offsets in logs.items() for start, end in offsets)


class Anchor(NamedTuple):
    """The snapshot of the ledger's last change."""

    snapshot_id: int
    sequence_number: int


class CommitState(Enum):
    """The state of a slice's files, by a table's ledger."""

    PENDING = "pending"
    """The ledger contains none of the new offsets and all others of the range: commit the files."""
    COMMITTED = "committed"
    """The ledger contains all of the new offsets: the files are a repetition and are dropped."""
    STALE = "stale"
    """The ledger changed since the writer read it: plan again."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """All holdings of one connector in one branch of one table.

    ``replays``: the last appending replays, each as ``id/number of committed slices``. ``slices``: of a dead-letter table,
    the last slices that wrote to it, and those whose dead letters were marked resolved (``<slice>/resolved``).
    """

    cluster_id: str
    holdings: Mapping[LogId, Holding] = field(default_factory=dict)
    replays: tuple[str, ...] = ()
    anchor: Anchor | None = None
    slices: tuple[str, ...] = ()

    def held(self, r: OffsetRange, route: str) -> Intervals:
        """Return the offsets of ``r`` that the table contains under ``route``."""
        holding = self.holdings.get(LogId.of(r))
        held = holding.held.get(route) if holding else None
        return (held or Intervals()) & Intervals(((r.start, r.end),))

    def contained_by_any_route(self, r: OffsetRange) -> Intervals:
        """Return the offsets of ``r`` that the table contains under any route."""
        holding = self.holdings.get(LogId.of(r))
        spans = (span for held in (holding.held.values() if holding else ()) for span in held)
        return Intervals.of(spans) & Intervals(((r.start, r.end),))

    def new_offsets(self, r: OffsetRange, route: str) -> Intervals:
        """Return the offsets of ``r`` that the table does not contain: the offsets to write."""
        return Intervals.of([(r.start, r.end)]) - self.held(r, route)

    def recovered(self, r: OffsetRange) -> Intervals:
        """Return the offsets of ``r`` whose records were dead letters and are rows of the table now."""
        holding = self.holdings.get(LogId.of(r))
        return (holding.recovered if holding else Intervals()) & Intervals(((r.start, r.end),))

    def other_routes(self, r: OffsetRange, route: str) -> Intervals:
        """Return the offsets at or above the start of ``r`` that the table contains under another route hash."""
        holding = self.holdings.get(LogId.of(r))
        spans = [
            (max(start, r.start), end)
            for other, held in (holding.held.items() if holding else ())
            if other != route
            for start, end in held
        ]
        return Intervals.of(spans)

    def state(self, new_ranges: Iterable[tuple[OffsetRange, str, Intervals]]) -> CommitState:
        """Compare what was written (range, route hash, new offsets) with what the table contains now."""
        fresh = committed = True
        for r, route, new_offsets in new_ranges:
            held = self.held(r, route)
            if not held.covers(Intervals.of([(r.start, r.end)]) - new_offsets):
                return CommitState.STALE
            fresh = fresh and not (new_offsets & held)
            committed = committed and held.covers(new_offsets)
        if committed:
            return CommitState.COMMITTED
        return CommitState.PENDING if fresh else CommitState.STALE

    def elsewhere(self, r: OffsetRange, route: str) -> Intervals:
        """Return the offsets inside ``r`` that the table contains under another route hash."""
        return self.other_routes(r, route) & Intervals(((r.start, r.end),))

    def topic_ids(self, topic: str) -> frozenset[str]:
        """Return the ids of a topic's incarnations of which the table contains offsets."""
        return frozenset(log_id.topic_id for log_id in self.holdings if log_id.topic == topic)

    def routes(self) -> frozenset[str]:
        """Return all route hashes in the ledger."""
        return frozenset(route for holding in self.holdings.values() for route in holding.held)

    def with_live(self, ranges: Iterable[tuple[LiveRange, str]]) -> "Ledger":
        """Return the ledger after a live commit of the ranges, each with its route hash; its anchor is not set yet."""
        holdings = dict(self.holdings)
        for live, route in ranges:
            log_id = LogId.of(live.range)
            holdings[log_id] = extended(holdings.get(log_id, Holding()), live, route)
        return replace(self, holdings=holdings)

    def with_replayed(self, ranges: Iterable[tuple[OffsetRange, str]]) -> "Ledger":
        """Return the ledger after a replay of the ranges, each with its route hash. Live ends do not change."""
        holdings = dict(self.holdings)
        for r, route in ranges:
            holding = holdings.get(LogId.of(r), Holding())
            held = holding.held.get(route, Intervals()) | Intervals.of([(r.start, r.end)])
            holdings[LogId.of(r)] = replace(holding, held={**holding.held, route: held})
        return replace(self, holdings=holdings)

    def with_replaced(self, ranges: Iterable[tuple[OffsetRange, str]]) -> "Ledger":
        """Return the ledger after all rows of the ranges were rewritten, each under its route hash instead of any other."""
        holdings = dict(self.holdings)
        for r, route in ranges:
            holding, span = holdings.get(LogId.of(r), Holding()), Intervals.of([(r.start, r.end)])
            left = {other: rest for other, held in holding.held.items() if other != route and (rest := held - span)}
            held = {**left, route: holding.held.get(route, Intervals()) | span}
            holdings[LogId.of(r)] = replace(holding, held=held, recovered=holding.recovered - span)
        return replace(self, holdings=holdings)

    def with_redriven(self, new_ranges: Iterable[tuple[OffsetRange, str, Intervals]]) -> "Ledger":
        """Return the ledger after dead letters were read again (range, route hash, offsets).

        Most of these offsets are contained already. They stay under the route by which they were first read.
        """
        holdings = dict(self.holdings)
        for r, route, new_offsets in new_ranges:
            holding = holdings.get(LogId.of(r), Holding())
            others = Intervals.of(span for other, held in holding.held.items() if other != route for span in held)
            more = holding.held.get(route, Intervals()) | (new_offsets - others)
            holdings[LogId.of(r)] = replace(holding, held={**holding.held, **({route: more} if more else {})})
        return replace(self, holdings=holdings)

    def with_recovered(self, logs: Mapping[LogId, Intervals]) -> "Ledger":
        """Return the ledger with the offsets of dead letters that are rows now."""
        holdings = dict(self.holdings)
        for log_id, offsets in logs.items():
            holding = holdings.get(log_id, Holding())
            holdings[log_id] = replace(holding, recovered=holding.recovered | offsets)
        return replace(self, holdings=holdings)

    def next_of_replay(self, replay_id: str) -> int:
        """Return the index of the first slice of a replay that the table does not contain; 0 for an unknown replay.

        Raises ReplayForgotten when so many newer replays are recorded that this one may have been dropped from the list.
        """
        slices = dict(entry.rsplit("/", 1) for entry in self.replays)
        if replay_id not in slices and len(slices) >= MAX_REPLAYS and replay_id < min(slices):
            msg = (
                f"replay {replay_id} is older than the last {MAX_REPLAYS} replays that the table remembers, so floe cannot "
                "determine whether it was appended. Nothing was committed. Trigger a new replay if its rows are missing"
            )
            raise ReplayForgotten(msg)
        return int(slices.get(replay_id, 0))

    def with_replay(self, replay_id: str, index: int) -> "Ledger":
        """Return the ledger with a replay's slices up to ``index`` recorded; ids increase with time."""
        slices = dict(entry.rsplit("/", 1) for entry in self.replays) | {replay_id: str(index + 1)}
        newest = sorted(slices.items())[-MAX_REPLAYS:]
        return replace(self, replays=tuple(f"{known}/{after}" for known, after in newest))

    def with_slice(self, slice_id: str) -> "Ledger":
        """Return the ledger with one more slice recorded, as the last one."""
        others = [known for known in self.slices if known != slice_id]
        return replace(self, slices=(*others, slice_id)[-MAX_SLICES:])

    def without(self, lost: Mapping[LogId, Intervals]) -> "Ledger":
        """Return the ledger without some offsets; a holding that loses offsets also loses its live end."""
        holdings = dict(self.holdings)
        for log_id, gone in lost.items():
            holding = holdings.get(log_id)
            if holding is None or not any(gone & held for held in holding.held.values()):
                continue
            left = {route: rest for route, held in holding.held.items() if (rest := held - gone)}
            holdings[log_id] = replace(holding, held=left, live_end=None, recovered=holding.recovered - gone)
        return replace(self, holdings=holdings)

    def cut(self, cuts: Mapping[LogId, tuple[int, Position]]) -> "Ledger":
        """Return the ledger without the offsets from each log's cut on, and without copies of positions above that log's.

        The copies below have no leader epoch any more: it is of the log before the cut.
        """
        holdings = dict(self.without({log_id: Intervals(((cut, _ALL),)) for log_id, (cut, _) in cuts.items()}).holdings)
        for log_id, (_, position) in cuts.items():
            holding = holdings.get(log_id)
            if holding is not None and holding.position is not None:
                copy = Position(position.tp, *holding.position)
                copy = position if copy.offset > position.offset else without_epoch(copy)
                holdings[log_id] = replace(holding, position=(copy.offset, copy.metadata))
        return replace(self, holdings=holdings)

    def rerouted(self, routes: Mapping[str, str]) -> "Ledger":
        """Return the ledger with route hashes renamed: a branch stores what it inherits under its own route hashes."""
        holdings = {
            log_id: replace(holding, held={routes.get(route, route): held for route, held in holding.held.items()})
            for log_id, holding in self.holdings.items()
        }
        return replace(self, holdings=holdings)

    def holding(self, holdings: Mapping[LogId, Holding]) -> "Ledger":
        """Return the ledger with these holdings instead of its own."""
        return replace(self, holdings=holdings)

    def of_cluster(self, cluster_id: str) -> "Ledger":
        """Return the same ledger for a cluster that was accepted in place of the old one."""
        return replace(self, cluster_id=cluster_id)

    def anchored(self, anchor: Anchor) -> "Ledger":
        """Return the same ledger with another snapshot as its anchor."""
        return replace(self, anchor=anchor)

    def seeded(self, positions: Mapping[LogId, tuple[int, str]], written: Collection[LogId], route: str) -> "Ledger":
        """Return the ledger after another sink wrote the partitions ``written`` up to their positions.

        The offsets between those in this ledger and the position are added under ``route``. The copies of the
        positions (offset, metadata) are kept for all partitions, for recovery.
        """
        holdings = dict(self.holdings)
        for log_id, position in positions.items():
            holding = replace(holdings.get(log_id, Holding()), position=position)
            if log_id in written:
                holding = seeded(holding, position[0], route)
            holdings[log_id] = holding
        return replace(self, holdings=holdings)
