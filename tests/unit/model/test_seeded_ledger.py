"""Seeding a ledger: what another sink wrote up to its positions, and nothing that the ledger speaks of itself."""

from __future__ import annotations

import pytest

from floe.model.holding import Holding, LiveRange, LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import read_properties, write_properties
from floe.model.offsets import Intervals, OffsetRange

LOG = LogId("pizzas", "T1", 0)
OTHER = LogId("pizzas", "T1", 1)


def seeded(ledger: Ledger, end: int, *, written: bool = True) -> Holding:
    return ledger.seeded({LOG: (end, "m")}, [LOG] if written else [], "java").holdings[LOG]


def holding(held: dict[str, list[tuple[int, int]]], live_end: int | None) -> Ledger:
    spans = {route: Intervals.of(s) for route, s in held.items()}
    return Ledger("C1", {LOG: Holding(spans, live_end, (0, "old"))})


@pytest.mark.parametrize(
    ("held", "live_end", "end", "java"),
    [
        pytest.param({}, None, 100, [(0, 100)], id="a table that floe never wrote"),
        pytest.param({"java": [(0, 40)], "h": [(40, 70)]}, 70, 100, [(0, 40), (70, 100)], id="floe in between"),
        pytest.param({"h": [(40, 70)]}, 80, 100, [(80, 100)], id="floe came further than its rows"),
        pytest.param({"h": [(10, 20), (40, 70)]}, None, 100, [(70, 100)], id="nets were taken out of the ledger"),
        pytest.param({"java": [(0, 40)], "h": [(10, 20)]}, 40, 100, [(0, 100)], id="a replay over what the sink wrote"),
        pytest.param({"java": [(0, 100)]}, 100, 100, [(0, 100)], id="once more"),
        pytest.param({"h": [(0, 120)]}, 120, 100, [], id="the ledger is ahead of the position"),
        pytest.param({}, None, 0, [], id="a position at the log's beginning"),
    ],
)
def test_sink_offsets_are_between_ledger_and_position(
    held: dict[str, list[tuple[int, int]]], live_end: int | None, end: int, java: list[tuple[int, int]]
) -> None:
    before = holding(held, live_end)
    after = seeded(before, end)
    assert list(after.held.get("java", Intervals())) == java
    assert {r: s for r, s in after.held.items() if r != "java"} == {
        r: s for r, s in before.holdings[LOG].held.items() if r != "java"
    }
    assert after.live_end == max(end, live_end or 0, *(e for s in held.values() for _, e in s), 0)
    assert after.position == (end, "m")


def test_partition_not_written_by_sink_gets_position_copy_only() -> None:
    after = seeded(holding({"h": [(0, 50)]}, 50), 80, written=False)
    assert after == Holding({"h": Intervals(((0, 50),))}, 50, (80, "m"))


def test_seeding_twice_changes_nothing_and_survives_the_table() -> None:
    once = Ledger("C1").seeded({LOG: (100, "m"), OTHER: (0, "n")}, [LOG, OTHER], "java")
    assert once.seeded({LOG: (100, "m"), OTHER: (0, "n")}, [LOG, OTHER], "java") == once
    assert read_properties("floe.ledger.g.main", write_properties("floe.ledger.g.main", once)) == once


def test_offsets_written_after_takeover_are_their_own_interval() -> None:
    ledger = Ledger("C1").seeded({LOG: (100, "m")}, [LOG], "java")
    live = LiveRange(OffsetRange("pizzas", "T1", 0, 100, 150), 100, (100, "m"))
    grown = ledger.with_live([(live, "h")])
    assert {route: list(spans) for route, spans in grown.holdings[LOG].held.items()} == {
        "java": [(0, 100)],
        "h": [(100, 150)],
    }
    assert not ledger.other_routes(live.range, "h")


def test_another_incarnation_of_the_topic_is_seeded_by_itself() -> None:
    new = LogId("pizzas", "T2", 0)
    ledger = Ledger("C1").seeded({LOG: (100, "m")}, [LOG], "java").seeded({new: (7, "m")}, [new], "java")
    assert [list(h.held["java"]) for h in ledger.holdings.values()] == [[(0, 100)], [(0, 7)]]
