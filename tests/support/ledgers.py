"""Ledgers and their ranges."""

from floe.model.holding import LogId
from floe.model.ledger import Anchor, Ledger
from floe.model.offsets import OffsetRange

ANCHOR = Anchor(11, 2)


def span(start: int, end: int, partition: int = 0, topic_id: str = "T1") -> OffsetRange:
    """Return a range of the topic ``pizzas``."""
    return OffsetRange("pizzas", topic_id, partition, start, end)


def held(ledger: Ledger, route: str) -> tuple[tuple[int, int], ...]:
    """Return what partition 0 has under a route."""
    return ledger.holdings[LogId("pizzas", "T1", 0)].held[route].spans
