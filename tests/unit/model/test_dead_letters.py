"""Offsets of dead letters: by table and log, in a plan and in a header, and what a ledger remembers of them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import Holding, LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import read_properties, write_properties
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import Plan, Slice, SliceKind

LOG, OTHER = LogId("pizzas", "T1", 0), LogId("pizzas", "T1", 1)
RANGE = OffsetRange(*LOG, 0, 100)
ROUTE = "R"


def spans(*pairs: tuple[int, int]) -> Intervals:
    return Intervals.of(pairs)


SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4).map(Intervals.of)
DEAD_LETTERS = st.lists(st.tuples(st.sampled_from([None, "db.a", "db.b"]), st.sampled_from([LOG, OTHER]), SPANS)).map(
    DeadLetterOffsets.of
)


def as_set(dead_letters: DeadLetterOffsets) -> set[tuple[str | None, LogId, int]]:
    return {
        (table, log, o) for table, log, offsets in dead_letters for start, end in offsets for o in range(start, end)
    }


@given(DEAD_LETTERS, DEAD_LETTERS)
def test_they_are_sets_of_table_log_and_offset(a: DeadLetterOffsets, b: DeadLetterOffsets) -> None:
    assert as_set(a | b) == as_set(a) | as_set(b)
    assert as_set(a & b) == as_set(a) & as_set(b)
    assert as_set(a - b) == as_set(a) - as_set(b)
    assert a.count == len(as_set(a))
    assert bool(a) == bool(as_set(a))
    cut = OffsetRange(*LOG, 5, 20)
    assert as_set(a.within([cut])) == {(t, log, o) for t, log, o in as_set(a) if log == LOG and 5 <= o < 20}
    assert DeadLetterOffsets.from_json(json.loads(json.dumps(a.to_json()))) == a


def test_record_reaches_table_by_its_own_or_a_general_letter() -> None:
    dead_letters = DeadLetterOffsets.of(
        [(None, LOG, spans((1, 2))), ("db.a", LOG, spans((5, 7))), ("db.b", LOG, spans((8, 9)))]
    )
    assert dead_letters.reaching("db.a", OffsetRange(*LOG, 0, 6)) == spans((1, 2), (5, 6))
    assert dead_letters.tables == ("db.a", "db.b")


def test_slice_keeps_dead_letters_in_plan_and_old_form_without() -> None:
    dead_letters = DeadLetterOffsets.of([(None, LOG, spans((1, 2))), ("db.a", LOG, spans((5, 7)))])
    redrive = Slice(0, SliceKind.REDRIVE, (RANGE,), ("db.a",), dead_letters)
    plain = Slice(1, SliceKind.SKIP, (RANGE,), ("db.a",))
    plan = Plan("p", "c", "g", "C", {}, "control", {}, (), (redrive, plain))
    fields = json.loads(json.dumps(plan.to_json()))
    assert Plan.from_json(fields).slices == (redrive, plain)
    assert len(fields["slices"][1]) == 4
    assert hash(redrive) == hash(Plan.from_json(fields).slices[0])


def test_offset_without_row_is_recovered_and_stays_in_ledger() -> None:
    before = Ledger("C", {LOG: Holding({"old": spans((0, 50))}, live_end=50)})
    after = before.with_redriven([(RANGE, ROUTE, spans((10, 12), (60, 61)))]).with_recovered({LOG: spans((10, 12))})
    assert after.holdings[LOG] == Holding(
        {"old": spans((0, 50)), ROUTE: spans((60, 61))}, live_end=50, recovered=spans((10, 12))
    )
    assert after.recovered(OffsetRange(*LOG, 11, 100)) == spans((11, 12))


def test_what_is_lost_is_not_revived_any_more() -> None:
    ledger = Ledger("C", {LOG: Holding({ROUTE: spans((0, 50))}, recovered=spans((10, 20)))})
    assert ledger.without({LOG: spans((15, 30))}).holdings[LOG].recovered == spans((10, 15))


@given(SPANS)
def test_property_keeps_recovered_offsets_and_is_absent_without(recovered: Intervals) -> None:
    ledger = Ledger("C", {LOG: Holding({ROUTE: spans((0, 50))}, recovered=recovered)})
    properties = write_properties("floe.ledger.g.main", ledger)
    assert read_properties("floe.ledger.g.main", properties) == ledger
    assert len(json.loads(properties["floe.ledger.g.main"])["logs"][0]) == (7 if recovered else 6)


def test_many_spans_are_met_in_one_pass() -> None:
    import time

    many = Intervals.of((i, i + 1) for i in range(0, 200_000, 2))
    some = Intervals.of((i, i + 1) for i in range(0, 200_000, 3))
    begun = time.monotonic()
    assert (many & some).offsets + (many - some).offsets == many.offsets
    assert time.monotonic() - begun < 5
