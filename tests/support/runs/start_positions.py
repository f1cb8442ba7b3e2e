"""Where a plan begins, for offsets and logs."""

from collections.abc import Callable
from typing import Any

import pytest

from floe.exceptions import Terminal
from floe.model.decisions import Decisions
from floe.model.exceptions import PlanRefused
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.positions import Position
from floe.planning.start_positions import resolve_start_positions
from floe.planning.wanted_offsets import ResolvedPositions, StartPolicy
from tests.support.partitions import ROUTE, found, log

P0 = TopicPartition("pizzas", 0)
ALL_LOSSES = frozenset({"*"})
RECOVER = Decisions(recover=True)
ACCEPT_LOSS = Decisions(accept_loss=ALL_LOSSES)


def start_policy(contained_ids: Callable[[str], frozenset[str] | None] = lambda _: None, **over: Any) -> StartPolicy:
    """Return the rules of a connector of two topics and two tables."""
    fields: dict[str, Any] = {
        "cluster_id": "C1",
        "owner": "",
        "offset_reset": "earliest",
        "routing": {"pizzas": "R", "drinks": "R"},
        "routes": {(table, topic): ROUTE for table in ("a", "b") for topic in ("pizzas", "drinks")},
    }
    return StartPolicy(**{**fields, "contained_ids": contained_ids, **over})


def resolve(*positions: Position, logs: list[PartitionLog] | None = None, **how: Any) -> ResolvedPositions:
    """Find out where a plan begins."""
    decisions = how.pop("decisions", None)
    return resolve_start_positions(logs or [log()], found(*positions), start_policy(**how), decisions)


def refused(match: str, *positions: Position, **how: Any) -> None:
    """Check that a plan is refused for good, and why."""
    with pytest.raises(PlanRefused, match=match) as caught:
        resolve(*positions, **how)
    assert isinstance(caught.value, Terminal)
