"""Which letters a slice deals with, from what became of their records."""

from __future__ import annotations

import pytest

from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange
from floe_job.contract.dead_letter import DeadLetterOutcomes, OutcomeRecorder
from floe_job.driver import slice_job as module
from floe_job.driver.slice_job import ResolvedDeadLetters, resolve_dead_letters
from floe_job.exceptions import SliceRefused

LOG = LogId("pizzas", "T1", 0)
OPEN = DeadLetterOffsets.of([("db.a", LOG, Intervals(((1, 4),))), (None, LOG, Intervals(((6, 9),)))])


def at(*offsets: int) -> dict[LogId, Intervals]:
    return {LOG: Intervals.of((o, o + 1) for o in offsets)} if offsets else {}


def listed(dead_letters: DeadLetterOffsets) -> list[tuple[str | None, tuple[tuple[int, int], ...]]]:
    return [(table, offsets.spans) for table, _, offsets in dead_letters]


def test_dead_letter_of_table_is_resolved_by_row_not_by_failing() -> None:
    recovered, resolved = resolve_dead_letters(
        OPEN, {"db.a": [DeadLetterOutcomes(at(1), at(2), at(3))]}, {}, is_whole=True
    )
    assert listed(recovered) == listed(resolved) == [("db.a", ((1, 2),))]


def test_tasks_add_up() -> None:
    outcomes = {"db.a": [DeadLetterOutcomes(at(1)), DeadLetterOutcomes(at(2)), DeadLetterOutcomes()]}
    assert listed(resolve_dead_letters(OPEN, outcomes, {}, is_whole=True).resolved) == [("db.a", ((1, 3),))]


def test_row_of_earlier_run_without_marker_is_marked_now() -> None:
    outcomes = {"db.a": [DeadLetterOutcomes(passed=at(2, 3))]}
    recovered, resolved = resolve_dead_letters(OPEN, outcomes, {"db.a": at(2)}, is_whole=True)
    assert (listed(recovered), listed(resolved)) == ([], [("db.a", ((2, 3),))])


def test_dead_letter_of_no_table_needs_an_outcome_in_every_table() -> None:
    outcomes = {"db.a": [DeadLetterOutcomes(at(6, 7), at(8))], "db.b": [DeadLetterOutcomes(at(8), passed=at(7))]}
    recovered, resolved = resolve_dead_letters(OPEN, outcomes, {}, is_whole=True)
    assert listed(recovered) == [("db.a", ((6, 8),)), ("db.b", ((8, 9),))]
    assert listed(resolved) == [(None, ((6, 7), (8, 9)))]
    assert listed(resolve_dead_letters(OPEN, outcomes, {"db.b": at(7)}, is_whole=True).resolved) == [(None, ((6, 9),))]


def test_slice_for_some_tables_ignores_dead_letters_of_none() -> None:
    outcomes = {"db.a": [DeadLetterOutcomes(at(1, 6))]}
    recovered, resolved = resolve_dead_letters(OPEN, outcomes, {}, is_whole=False)
    assert listed(recovered) == [("db.a", ((1, 2), (6, 7)))]
    assert listed(resolved) == [("db.a", ((1, 2),))]


def test_what_no_table_saw_stays_open() -> None:
    assert (
        resolve_dead_letters(OPEN, {"db.a": [DeadLetterOutcomes()], "db.b": []}, {}, is_whole=True)
        == ResolvedDeadLetters()
    )


def test_more_than_an_announcement_can_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SPANS", 1)
    with pytest.raises(SliceRefused, match=r"2 records with open dead letters.*smaller max_records"):
        resolve_dead_letters(OPEN, {"db.a": [DeadLetterOutcomes(at(1, 3))]}, {}, is_whole=True)


def test_only_watched_records_are_noted() -> None:
    r = OffsetRange(*LOG, 0, 10)
    watch = OutcomeRecorder({r: Intervals(((1, 4),))})
    watch.written(r, [0, 1, 9])
    watch.refused(r, [2])
    watch.passed(r, [3, 4])
    watch.written(OffsetRange("pizzas", "T1", 1, 0, 10), [2])
    assert watch.outcomes() == DeadLetterOutcomes(at(1), at(2), at(3))
