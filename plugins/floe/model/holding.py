"""What a table contains of one partition."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from floe.model.offsets import Intervals, OffsetRange


class LogId(NamedTuple):
    """One partition of one incarnation of a topic."""

    topic: str
    topic_id: str
    partition: int

    @classmethod
    def of(cls, r: OffsetRange) -> "LogId":
        return cls(r.topic, r.topic_id, r.partition)


@dataclass(frozen=True, slots=True)
class Holding:
    """What a table contains of one partition.

    ``held``: offsets by route hash. ``live_end``: where the next live range is expected to start. ``position``: a
    copy of the position (offset, metadata) that the last plan started from, for recovery. ``recovered``: of ``held``, the
    dead letters that are rows now: a ledger contains the offsets of dead letters, too.
    """

    held: Mapping[str, Intervals] = field(default_factory=dict)
    live_end: int | None = None
    position: tuple[int, str] | None = None
    recovered: Intervals = field(default_factory=Intervals)


class LiveRange(NamedTuple):
    """One range of a live commit, with what decides whether the ledger's last interval is extended over it."""

    range: OffsetRange
    since: int
    position: tuple[int, str]


def extended(holding: Holding, live: LiveRange, route: str) -> Holding:
    """Extend the interval that ends at the live end to the range's end; else add an interval for the range.

    The extension includes the runs in between, in which the table got no row. It must not include offsets that were
    read under another routing. Therefore it depends on *since* and the route hash.
    """
    held = holding.held.get(route, Intervals())
    r, live_end = live.range, holding.live_end
    start = r.start
    if live_end is not None and live.since <= live_end and any(end == live_end for _, end in held):
        start = min(start, live_end)
    extended = dict(holding.held) | {route: held | Intervals(((start, r.end),))}
    return replace(holding, held=extended, live_end=max(r.end, live_end or 0), position=live.position)


def seeded(holding: Holding, end: int, route: str) -> Holding:
    """Add to ``route`` the offsets below ``end`` and above the holding's live end, or above its last offset without one."""
    spoken = [stop for spans in holding.held.values() for _, stop in spans]
    start = holding.live_end if holding.live_end is not None else max(spoken, default=0)
    others = Intervals.of(span for other, spans in holding.held.items() if other != route for span in spans)
    seed = holding.held.get(route, Intervals()) | (Intervals.of([(start, end)]) - others)
    held = {name: spans for name, spans in ({**holding.held, route: seed}).items() if spans}
    return replace(holding, held=held, live_end=max(end, start))
