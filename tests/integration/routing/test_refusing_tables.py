"""Tables that records name and that refuse: their records are dead letters, each once, and become rows when it is fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.control.announcement import Announcement
from floe.model.accounting import check_range_counts
from floe.planning.replay_plan import draft_replay
from floe.tables.exceptions import DeadLettersLeft, TablesBehind
from floe_job.exceptions import SliceRefused, TooManyDeadLetters
from tests.support.runs.mishaps import BAD, GOOD, break_ledger, clear, commit_and_die, run_behind, run_to_the_end
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import replay

LETTERS = "db.letters"
BY_RECORD: dict[str, Any] = {
    "iceberg.tables": None,
    "iceberg.tables.dynamic-enabled": True,
    "iceberg.tables.route-field": "to",
    "floe.deadletter.table": LETTERS,
}
REDRIVE: dict[str, Any] = {"dead_letters": True}


def orders(start: int, end: int, *tables: str) -> list[dict[str, Any]]:
    """Make records that name the tables by turns."""
    names = tables or (GOOD, BAD)
    return [{"id": i, "to": names[i % len(names)]} for i in range(start, end)]


def forbid(one: Pipeline, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the catalog refuse to load the table, and return what permits it again."""
    load = CatalogClient.load

    def denied(tables: CatalogClient, name: str) -> Any:
        if name == BAD:
            msg = f"not allowed to load table {BAD!r}: no grant. Check the catalog's credentials and grants."
            raise CatalogMisconfigured(msg)
        return load(tables, name)

    monkeypatch.setattr(CatalogClient, "load", denied)
    return partial(monkeypatch.setattr, CatalogClient, "load", load)


def set_format(one: Pipeline, monkeypatch: pytest.MonkeyPatch | None = None) -> Callable[[], None]:
    """Give the table a file format that floe does not write, and return what takes it back."""
    with one.table(BAD).transaction() as change:
        change.set_properties({"write.format.default": "orc"})

    def undo() -> None:
        with one.table(BAD).transaction() as change:
            change.remove_properties("write.format.default")

    return undo


def spoil(one: Pipeline, monkeypatch: pytest.MonkeyPatch | None = None) -> Callable[[], None]:
    return break_ledger(one, BAD)


REFUSALS = {"forbidden": forbid, "another format": set_format, "no ledger": spoil}


def written(one: Pipeline) -> list[Announcement]:
    """Run once, and check that all counts add up."""
    plan = one.plan()
    announced = one.write(plan)
    one.commit(plan)
    for one_slice in announced:
        for r, counts in one_slice.counts:
            check_range_counts(r, counts)
        for name, one_table in one_slice.tables.items():
            counts = one_table.counts
            assert counts.assigned == counts.rows + counts.dead + counts.held + counts.backlog, name
    return announced


def letters(one: Pipeline) -> Counter[tuple[int, str]]:
    """Count the rows of the dead-letter table by offset and kind."""
    if CatalogClient.of(one.connector).load(LETTERS) is None:
        return Counter()
    rows = one.table(LETTERS).scan().to_arrow().to_pylist()
    return Counter((row["offset"], row["kind"]) for row in rows)


def dead(*offsets: int) -> Counter[tuple[int, str]]:
    return Counter((offset, "dead") for offset in offsets)


@pytest.fixture
def filled(pipeline: MakePipeline) -> Pipeline:
    """A connector whose records have filled two tables, ten rows in all."""
    one = pipeline(**BY_RECORD)
    one.produce(orders(0, 10))
    one.run()
    return one


# -- the dead letters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", REFUSALS)
def test_record_naming_refusing_table_is_dead_letter(
    filled: Pipeline, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    repair = REFUSALS[how](filled, monkeypatch)
    filled.produce(orders(10, 20))
    (announced,) = written(filled)
    assert filled.position() == {0: 20}
    assert filled.backlogs() == {}
    assert announced.refused == {}
    assert (announced.tables[BAD].counts.assigned, announced.tables[BAD].counts.dead) == (5, 5)
    assert filled.column("id", GOOD) == list(range(0, 20, 2))
    assert letters(filled) == dead(11, 13, 15, 17, 19)
    for row in filled.table(LETTERS).scan().to_arrow().to_pylist():
        assert (row["table"], row["stage"], row["error"]) == (BAD, "table", "TableRefused")
        assert BAD in row["reason"]
        assert "fix the table, then trigger the replay DAG with dead_letters" in row["reason"]

    repair()
    replay(filled, **REDRIVE)
    assert filled.column("id", BAD) == list(range(1, 20, 2))
    assert letters(filled) == dead(11, 13, 15, 17, 19) + Counter((o, "resolved") for o in (11, 13, 15, 17, 19))
    filled.produce(orders(20, 30))
    written(filled)
    assert filled.column("id", BAD) == list(range(1, 30, 2))
    assert replay(filled, tables=[BAD]).slices == ()


def test_only_refusing_tables_named_still_moves_position(filled: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(filled, monkeypatch)
    filled.produce(orders(10, 14, BAD))
    written(filled)
    assert filled.position() == {0: 14}
    assert letters(filled) == dead(10, 11, 12, 13)


def test_dead_letters_stay_open_while_table_refuses(filled: Pipeline) -> None:
    repair = set_format(filled)
    filled.produce(orders(10, 20))
    written(filled)
    with pytest.raises(Exception, match=r"cannot be written") as refused:
        replay(filled, **REDRIVE)
    assert not isinstance(refused.value, DeadLettersLeft)
    assert letters(filled) == dead(11, 13, 15, 17, 19)
    repair()
    filled.produce(orders(20, 22))
    written(filled)  # the ledger now claims the offsets between; the dead letters stay theirs
    replay(filled, **REDRIVE)
    assert filled.column("id", BAD) == list(range(1, 22, 2))


def test_new_table_that_cannot_be_created_takes_dead_letters(pipeline: MakePipeline) -> None:
    one = pipeline(**BY_RECORD, **{"iceberg.tables.default-partition-by": "day(id)"})
    one.produce([{"id": "x", "to": BAD}, {"id": "y", "to": BAD}])
    (announced,) = written(one)
    assert announced.tables[BAD].counts.dead == 2
    assert one.backlogs() == {}
    assert letters(one) == dead(0, 1)
    repaired = one.changed(**{"iceberg.tables.default-partition-by": None})
    replay(repaired, **REDRIVE)
    assert repaired.column("id", BAD) == ["x", "y"]


# -- what the connector says of them ----------------------------------------------------------------------------------


def test_table_with_settings_of_its_own_has_backlog(pipeline: MakePipeline) -> None:
    one = pipeline(**BY_RECORD, **{f"floe.table.{BAD}.sort-by": "id"})
    one.produce(orders(0, 10))
    one.run()
    repair = set_format(one)
    one.produce(orders(10, 20))
    with pytest.raises(TablesBehind, match=BAD):
        one.run()
    assert one.backlogs() == {0: {BAD: 10}}
    assert letters(one) == Counter()
    repair()
    run_to_the_end(one)
    assert one.column("id", BAD) == list(range(1, 20, 2))


def test_run_that_tolerates_nothing_fails_and_nothing_moves(pipeline: MakePipeline) -> None:
    one = pipeline(**{**BY_RECORD, "floe.deadletter.table": None})
    one.produce(orders(0, 10))
    one.run()
    repair = set_format(one)
    one.produce(orders(10, 20))
    plan = one.plan()
    with pytest.raises(SliceRefused, match=r"5 of the 10 records.*db\.bad.*TableRefused.*offset 11.*cannot be written"):
        one.write(plan)
    assert (one.position(), one.backlogs()) == ({0: 10}, {})
    assert one.column("id", GOOD) == list(range(0, 10, 2))
    repair()
    assert clear(one, plan) == []
    assert one.column("id", BAD) == list(range(1, 20, 2))


def test_share_of_dead_letters_counts_refused_records(pipeline: MakePipeline) -> None:
    one = pipeline(**BY_RECORD, **{"floe.deadletter.max-ratio": "0.2"})
    one.produce(orders(0, 10))
    one.run()
    set_format(one)
    one.produce(orders(10, 20))
    with pytest.raises(TooManyDeadLetters):
        one.write(one.plan())
    assert one.position() == {0: 10}


# -- kills and repeats ------------------------------------------------------------------------------------------------


def test_repeated_run_makes_no_second_dead_letter(filled: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    repair = set_format(filled)
    filled.produce(orders(10, 20))
    plan = filled.plan()
    filled.write(plan)
    commit_and_die(filled, plan, monkeypatch)
    assert filled.position() == {0: 10}
    filled.produce(orders(20, 24))
    written(filled)
    assert letters(filled) == dead(11, 13, 15, 17, 19, 21, 23)
    assert filled.column("id", GOOD) == list(range(0, 24, 2))
    repair()
    replay(filled, **REDRIVE)
    assert filled.column("id", BAD) == list(range(1, 24, 2))


def test_table_fixed_before_the_repeat_resolves_dead_letters(filled: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    repair = set_format(filled)
    filled.produce(orders(10, 20))
    plan = filled.plan()
    filled.write(plan)
    commit_and_die(filled, plan, monkeypatch)
    repair()
    written(filled)
    assert filled.column("id", BAD) == list(range(1, 20, 2))
    assert letters(filled) == dead(11, 13, 15, 17, 19) + Counter((o, "resolved") for o in (11, 13, 15, 17, 19))
    assert draft_replay(filled.connector, filled.settings, REDRIVE).plan.slices == ()


@pytest.mark.parametrize("how", REFUSALS)
def test_rows_of_a_killed_run_get_no_dead_letters(filled: Pipeline, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    filled.produce(orders(10, 20))
    plan = filled.plan()
    filled.write(plan)
    commit_and_die(filled, plan, monkeypatch)
    assert filled.column("id", BAD) == list(range(1, 20, 2))
    with monkeypatch.context() as patch:
        repair = REFUSALS[how](filled, patch)
        filled.produce(orders(20, 24))
        if how == "another format":  # its ledger tells
            (announced,) = written(filled)
            assert (announced.tables[BAD].counts.held, announced.tables[BAD].counts.dead) == (5, 2)
            assert letters(filled) == dead(21, 23)
        else:  # the rows may be there: it is behind
            with pytest.raises(TablesBehind, match=BAD):
                filled.run()
            assert filled.backlogs() == {0: {BAD: 10}}
            assert letters(filled) == Counter()
        repair()
    run_to_the_end(filled)
    replay(filled, **REDRIVE)
    assert filled.column("id", BAD) == list(range(1, 24, 2))
    assert filled.column("id", GOOD) == list(range(0, 24, 2))
    assert filled.backlogs() == {}


def test_table_that_refuses_at_its_commit_only_is_behind(filled: Pipeline) -> None:
    filled.produce(orders(10, 20))
    plan = filled.plan()
    filled.write(plan)
    repair = break_ledger(filled, BAD)
    with pytest.raises(TablesBehind, match=rf"{BAD}.*is not a ledger"):
        filled.commit(plan)
    assert filled.position() == {0: 20}
    assert filled.backlogs() == {0: {BAD: 10}}
    filled.produce(orders(20, 30))
    run_behind(filled)
    assert filled.column("id", GOOD) == list(range(0, 30, 2))
    repair()
    run_to_the_end(filled)
    assert filled.column("id", BAD) == list(range(1, 30, 2))
    assert letters(filled) == Counter()
