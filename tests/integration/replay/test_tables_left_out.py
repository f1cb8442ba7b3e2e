"""Replays of which a table refuses: the others are replayed, and the error says exactly how to repeat the rest."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from floe.tables.exceptions import ReplayIncomplete, TableRefused
from tests.support.runs.mishaps import BAD, GOOD, break_ledger, replace_table, two_tables
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids
from tests.support.runs.replacements import META
from tests.support.runs.replays import drop, fix_table, opened, replay

LETTERS = "db.letters"


def repeat(message: str) -> list[dict[str, Any]]:
    """Return the triggers that an error names."""
    found = re.search(r"trigger this DAG with (.*?\})\.( Do not clear|$)", message)
    assert found is not None, message
    return [json.loads(one) for one in found[1].split(", then ")]


def incomplete(one: Pipeline, **params: Any) -> str:
    with pytest.raises(ReplayIncomplete) as error:
        replay(one, **params)
    assert f"table {BAD!r} got nothing of" in str(error.value)
    return str(error.value)


@pytest.fixture
def both(pipeline: MakePipeline) -> Pipeline:
    """A connector that has read 40 records of two partitions into two tables."""
    one = two_tables(pipeline, partitions=2)
    for partition in range(2):
        one.produce(ids(20 * partition, 20 * partition + 20), partition=partition)
    one.run()
    return one


def test_skip_fills_the_others_and_names_what_to_repeat(both: Pipeline) -> None:
    repair = break_ledger(both)
    drop(both, GOOD)
    before = both.position()
    message = incomplete(both, max_records=15)
    assert both.column("id", GOOD) == list(range(40))
    assert both.column("id", BAD) == list(range(40))
    assert (both.position(), both.backlogs()) == (before, {})
    assert f"was committed to {GOOD!r} (40 rows)" in message
    (again,) = repeat(message)
    assert (again["tables"], again["overlap"]) == ([BAD], "skip")
    assert again["ranges"] == {"0": [0, 20], "1": [0, 20]}
    repair()
    assert replay(both, **again).slices == ()


def test_append_is_repeated_for_what_the_table_lacks(both: Pipeline) -> None:
    repair = break_ledger(both)
    message = incomplete(both, overlap="append", ranges={"0": [0, 10]}, max_records=4)
    wanted = sorted([*range(40), *range(10)])
    assert both.column("id", GOOD) == wanted
    repair()
    for trigger in repeat(message):
        replay(both, **trigger)
    assert both.column("id", GOOD) == both.column("id", BAD) == wanted


def test_table_refusing_at_commit_gets_no_later_slice(both: Pipeline) -> None:
    plan, effective = opened(both, overlap="append", ranges={"0": [0, 12]}, max_records=4)
    effective.write(plan)
    repair = break_ledger(both)
    with pytest.raises(ReplayIncomplete) as error:
        effective.commit(plan)
    wanted = sorted([*range(40), *range(12)])
    assert both.column("id", GOOD) == wanted
    assert [one["ranges"] for one in repeat(str(error.value))] == [{"0": [0, 12]}]
    repair()
    effective.commit(plan)  # cleared in place of the repeat: what was announced is committed
    effective.commit(plan)
    assert both.column("id", GOOD) == both.column("id", BAD) == wanted


def test_replay_that_no_table_takes_is_refused_at_once(both: Pipeline) -> None:
    break_ledger(both)
    with pytest.raises(Exception, match="is not a ledger"):
        replay(both)  # the other table lacks nothing
    break_ledger(both, GOOD)
    with pytest.raises(Exception, match="is not a ledger"):
        replay(both, overlap="append", ranges={"0": [0, 5]})
    assert both.column("id", GOOD) == both.column("id", BAD) == list(range(40))


def test_replace_goes_on_unless_dead_letters_would_be_rows(pipeline: MakePipeline) -> None:
    one = two_tables(pipeline, **META, **{"floe.deadletter.table": LETTERS})
    one.produce(ids(0, 10))
    one.run()
    plan, effective = opened(one, overlap="replace", ranges={"0": [0, 10]})
    effective.write(plan)
    repair = break_ledger(one)
    with pytest.raises(ReplayIncomplete) as error:
        effective.commit(plan)
    assert one.column("id", GOOD) == one.column("id", BAD) == list(range(10))
    repair()
    (again,) = repeat(str(error.value))
    assert (again["tables"], again["overlap"]) == ([BAD], "replace")
    replay(one, **again)
    assert one.column("id", GOOD) == one.column("id", BAD) == list(range(10))

    one.produce([b"no json", {"id": 11}])
    one.run()
    plan, effective = opened(one, overlap="replace", ranges={"0": [0, 12]})
    effective.write(plan)
    replace_table(one, BAD)
    before = one.table(GOOD).metadata.current_snapshot_id
    with pytest.raises(TableRefused, match="was replaced"):
        effective.commit(plan)
    assert one.table(GOOD).metadata.current_snapshot_id == before


def test_redrive_goes_on_and_the_rest_stays_open(pipeline: MakePipeline) -> None:
    one = two_tables(pipeline, **{"floe.deadletter.table": LETTERS})
    for record in ({"id": 0, "amount": 1}, {"id": 1, "amount": "many"}):
        one.produce([record])
        one.run()
    for table in (GOOD, BAD):
        fix_table(one, table)
    repair = break_ledger(one)
    message = incomplete(one, dead_letters=True)
    assert one.column("id", GOOD) == [0, 1]
    assert one.column("id", BAD) == [0]
    repair()
    (again,) = repeat(message)
    replay(one, **again)
    assert one.column("id", GOOD) == one.column("id", BAD) == [0, 1]
    assert replay(one, dead_letters=True).slices == ()


def test_table_that_records_name_is_left_out_too(pipeline: MakePipeline) -> None:
    by_record = {"iceberg.tables": None, "iceberg.tables.dynamic-enabled": True, "iceberg.tables.route-field": "to"}
    one = pipeline(**by_record, **{"floe.deadletter.table": LETTERS})
    one.produce([{"id": i, "to": (GOOD, BAD)[i % 2]} for i in range(20)])
    one.run()
    drop(one, GOOD)
    repair = break_ledger(one)
    message = incomplete(one, max_records=5)
    assert one.column("id", GOOD) == list(range(0, 20, 2))
    assert one.column("id", BAD) == list(range(1, 20, 2))
    repair()
    (again,) = repeat(message)
    assert again["tables"] == [BAD]
    replay(one, **again)
    assert one.column("id", BAD) == list(range(1, 20, 2))
