"""Backlogs when a plan is made: carried on, dropped, reopened."""

from collections.abc import Mapping
from typing import Any

import pytest

from floe.model.decisions import Decisions
from floe.model.positions import PartitionBacklog
from floe.planning.wanted_offsets import ResolvedPositions
from tests.support.partitions import ROUTE, is_behind, log, position
from tests.support.runs.start_positions import ACCEPT_LOSS, ALL_LOSSES, P0, refused, resolve


@pytest.mark.parametrize(
    ("routes", "why"),
    [({("a", "pizzas"): "r2"}, "its routing was changed"), ({}, "the connector does not write it any more")],
)
def test_a_debt_that_cannot_be_caught_up_is_refused(routes: Mapping[tuple[str, str], str], why: str) -> None:
    refused(
        rf"table 'a' is behind on pizzas-0 from 10 on, but {why}.*Restore the former configuration.*drop_backlog=\[\"a\"\]",
        position(50, backlogs=is_behind(a=10)),
        routes=routes,
        decisions=Decisions(
            recover=True, accept_loss=ALL_LOSSES, reset_topics=frozenset({"*"}), drop_backlog=frozenset({"b"})
        ),
    )


@pytest.mark.parametrize("routes", [{("a", "pizzas"): ROUTE}, {("a", "pizzas"): "r2"}, {}])
def test_dropped_backlog_is_gone_and_since_moves_over_it(routes: Mapping[tuple[str, str], str]) -> None:
    behind = position(50, backlogs=is_behind(a=10))
    resolved = resolve(behind, routes=routes, decisions=Decisions(drop_backlog=frozenset({"a"})))
    assert resolved == ResolvedPositions(
        (position(50, since=50),),
        replaced=(behind,),
        notes=("pizzas-0: the backlog [10, 50) of table 'a' was dropped",),
    )


def test_forgiving_one_table_leaves_the_others_owing() -> None:
    resolved = resolve(position(50, backlogs=is_behind(a=10, b=20)), decisions=Decisions(drop_backlog=frozenset({"a"})))
    assert resolved.positions == (position(50, since=50, backlogs=is_behind(b=20)),)


def test_a_forgiven_debt_needs_no_log() -> None:
    behind = position(50, backlogs=is_behind(a=10))
    resolved = resolve(behind, logs=[log(start=20)], decisions=Decisions(drop_backlog=frozenset({"a"})))
    assert resolved.positions == (position(50, since=50),)


def test_what_was_rolled_back_becomes_a_debt() -> None:
    before = position(50)
    resolved = resolve(before, reopened={P0: {"a": 20}})
    assert resolved == ResolvedPositions(
        (position(50, backlogs=is_behind(a=20)),),
        replaced=(before,),
        notes=("pizzas-0: table 'a' was rolled back and is behind from 20 on",),
    )


@pytest.mark.parametrize(("start", "backlog"), [(20, 20), (40, 30)])
def test_a_debt_that_is_reopened_begins_at_the_lower_offset(start: int, backlog: int) -> None:
    resolved = resolve(position(50, backlogs=is_behind(a=30, b=5)), reopened={P0: {"a": start}})
    assert resolved.positions == (position(50, backlogs=is_behind(a=backlog, b=5)),)


def test_rolled_back_offsets_above_position_are_read_anyway() -> None:
    assert resolve(position(50), reopened={P0: {"a": 50}}).positions == (position(50),)


def test_what_was_rolled_back_and_removed_by_retention_is_a_loss() -> None:
    removed: dict[str, Any] = {"reopened": {P0: {"a": 20}}, "logs": [log(start=30)]}
    refused(r"lost the offsets \[20, 30\) of the backlog of table 'a'", position(50), **removed)
    resolved = resolve(position(50), decisions=ACCEPT_LOSS, **removed)
    assert resolved.positions == (position(50, since=30, backlogs=is_behind(a=30)),)


def test_a_debt_keeps_the_routing_under_which_it_arose() -> None:
    """The connector got another table: the debt's own route is the same, only the position's routing is not."""
    resolved = resolve(position(50, backlogs=is_behind(a=10)), routing={"pizzas": "R2"})
    assert resolved.positions == (position(50, routing="R2", since=50, backlogs={"a": PartitionBacklog(10, ROUTE)}),)
