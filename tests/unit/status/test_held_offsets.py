"""Offsets that tables contain, from the ledgers of a real catalog's tables."""

from __future__ import annotations

from typing import Any

import pytest

from floe.model.holding import Holding, LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import write_properties
from floe.model.offsets import Intervals, TopicPartition
from floe.status import record_reader as module
from floe.status.dead_letters import MAX_ROWS, size_problem
from floe.status.record import HeldOffsets
from floe.status.record_reader import MAX_SPANS, held_offsets
from floe.status.tables import TableReader
from floe.tables.table_state import Routes
from tests.support.tables.lake import CLUSTER, LEDGER, OTHER_TABLE, TABLE, TOPIC, Lake


def spans(*given: tuple[int, int]) -> Intervals:
    return Intervals.of(given)


def reader(lake: Lake, **over: object) -> TableReader:
    connector = lake.connector(**over)
    return TableReader(connector, lake.tables(), Routes(connector), 1)


def create(lake: Lake, holdings: dict[LogId, Holding] | str, name: str = TABLE) -> None:
    is_text = isinstance(holdings, str)
    properties: Any = {LEDGER: holdings} if is_text else dict(write_properties(LEDGER, Ledger(CLUSTER, holdings)))  # type: ignore[arg-type]
    lake.create(properties=properties, name=name)


def test_spans_of_all_routes_are_one(lake: Lake) -> None:
    log = LogId(TOPIC, "T1", 0)
    create(lake, {log: Holding({"r1": spans((0, 5), (8, 9)), "r2": spans((5, 7))}), LogId(TOPIC, "T1", 1): Holding()})
    one = reader(lake)
    assert held_offsets(one, one.load_all(), {TOPIC: "T1"}) == (HeldOffsets(TABLE, TOPIC, 0, spans((0, 7), (8, 9))),)


def test_offset_that_was_committed_before_the_look_up_is_beside_it(lake: Lake) -> None:
    create(lake, {LogId(TOPIC, "T1", p): Holding({"r": spans((0, 5))}) for p in range(2)})
    one = reader(lake)
    found = held_offsets(one, one.load_all(), {TOPIC: "T1"}, {TopicPartition(TOPIC, 0): 9})
    assert [(held.partition, held.committed) for held in found] == [(0, 9), (1, None)]


def test_present_topic_counts_not_the_former_one(lake: Lake) -> None:
    create(
        lake,
        {
            LogId(TOPIC, "T1", 0): Holding({"r": spans((0, 5))}),
            LogId(TOPIC, "T2", 0): Holding({"r": spans((0, 2))}),
            LogId("gone", "G1", 0): Holding({"r": spans((0, 3))}),
        },
    )
    one = reader(lake)
    found = {(held.topic, held.spans) for held in held_offsets(one, one.load_all(), {TOPIC: "T1"})}
    assert found == {(TOPIC, spans((0, 5))), ("gone", spans((0, 3)))}


def test_newest_spans_are_shown_and_the_others_counted(lake: Lake) -> None:
    create(lake, {LogId(TOPIC, "T1", 0): Holding({"r": spans(*((i * 10, i * 10 + 5) for i in range(100)))})})
    one = reader(lake)
    (held,) = held_offsets(one, one.load_all(), {})
    assert (len(held.spans.spans), held.more, held.spans.spans[-1]) == (MAX_SPANS, 100 - MAX_SPANS, (990, 995))


def test_entries_with_most_holes_are_kept(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {LogId(TOPIC, "T1", p): Holding({"r": spans((0, 5))}) for p in range(9)}
    create(lake, {**logs, LogId(TOPIC, "T1", 7): Holding({"r": spans((0, 5), (6, 9))})})
    monkeypatch.setattr(module, "MAX_ENTRIES", 2)
    one = reader(lake)
    found = held_offsets(one, one.load_all(), {})
    assert len(found) == 2 and 7 in {held.partition for held in found}


def test_broken_ledger_and_dead_letter_table_have_none(lake: Lake) -> None:
    create(lake, "no ledger")
    create(lake, {LogId(TOPIC, "T1", 0): Holding({"r": spans((0, 5))})}, OTHER_TABLE)
    one = reader(lake, **{"floe.deadletter.table": OTHER_TABLE})
    found = one.load_all()
    assert OTHER_TABLE in found
    assert held_offsets(one, found, {}) == ()


def test_dead_letter_table_that_is_too_large_is_named(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    create(lake, {})
    one = reader(lake)
    table = one.load_all()[TABLE]
    assert (
        size_problem(TABLE, table) is None and size_problem(TABLE, None) is None and size_problem(TABLE, "no") is None
    )
    summary: Any = type("Summary", (), {"additional_properties": {"total-records": str(MAX_ROWS + 1)}})
    snapshot = type("Snapshot", (), {"summary": summary})
    monkeypatch.setattr(type(table.metadata), "current_snapshot", lambda _: snapshot)  # type: ignore[union-attr]
    assert "has 200,001 rows" in str(size_problem(TABLE, table))
