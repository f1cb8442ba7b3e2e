"""Dead letters read again: their rows come once, in the tables that they were meant for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from floe.model.accounting import TableCounts
from floe.tables.exceptions import DeadLettersLeft
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.redrive import DEAD_LETTERS, DEAD_LETTERS_KEY, REDRIVE, marks, order, states
from tests.support.runs.replays import fix_table, opened, replay, trace


def test_redriven_dead_letters_become_rows_and_are_resolved_once(spoilt: Pipeline) -> None:
    fix_table(spoilt)
    plan = replay(spoilt, **REDRIVE)
    assert [s.kind for s in plan.slices] == ["redrive"]
    assert spoilt.column("id") == list(range(20))
    assert states(spoilt) == {"dead": [5, 6, 7, 8, 9], "resolved": [5, 6, 7, 8, 9]}
    resolved = [row for row in spoilt.table(DEAD_LETTERS).scan().to_arrow().to_pylist() if row["kind"] == "resolved"]
    assert {(r["table"], r["key"], r["value"], r["connector"], r["commit_id"]) for r in resolved} == {
        ("db.t", None, None, spoilt.connector.name, str(plan.commit_id))
    }
    assert not any(row["headers"] for row in resolved)
    before = trace(spoilt)
    assert replay(spoilt, **REDRIVE).slices == ()
    assert trace(spoilt) == before
    spoilt.produce([order(20)])
    spoilt.run()
    assert spoilt.column("id") == list(range(21))


def test_redrive_counts_add_up_and_unread_records_are_filtered(spoilt: Pipeline) -> None:
    fix_table(spoilt)
    spoilt.produce([None, order(21, "x"), order(22)])
    spoilt.run()
    plan, one = opened(spoilt, ranges={"0": [6, None]}, **REDRIVE)
    (announcement,) = one.write(plan)
    ((r, counts),) = announcement.counts
    assert (r.start, r.end) == (6, 10)
    assert (counts.routed, counts.filtered) == (4, 0)
    assert announcement.tables["db.t"].counts == TableCounts(assigned=4, rows=4)
    one.commit(plan)
    assert states(spoilt)["resolved"] == [6, 7, 8, 9]
    assert spoilt.column("id") == [*range(5), *range(6, 20), 21, 22]


def test_records_between_letters_are_filtered_and_slices_are_cut(pipeline: MakePipeline) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS})
    one.produce([order(0)])
    one.run()
    one.produce([order(i, "many" if i % 4 == 0 else 1) for i in range(1, 30)])
    one.run()
    fix_table(one)
    plan, effective = opened(one, max_records=10, **REDRIVE)
    assert [[(r.start, r.end) for r in s.ranges] for s in plan.slices] == [[(4, 13)], [(16, 25)], [(28, 29)]]
    announcements = effective.write(plan)
    assert [[(b.routed, b.filtered) for _, b in a.counts] for a in announcements] == [[(3, 6)], [(3, 6)], [(1, 0)]]
    effective.commit(plan)
    assert one.column("id") == list(range(30))
    assert states(one)["resolved"] == [4, 8, 12, 16, 20, 24, 28]


def test_what_dies_again_stays_open_and_gets_no_second_letter(spoilt: Pipeline) -> None:
    with pytest.raises(DeadLettersLeft, match=r"all 5 dead letters .* failed again \(5 Unconvertible\)"):
        replay(spoilt, **REDRIVE)
    assert states(spoilt) == {"dead": [5, 6, 7, 8, 9], "resolved": []}
    assert spoilt.column("id") == [*range(5), *range(10, 20)]
    fix_table(spoilt)
    replay(spoilt, **REDRIVE)
    assert states(spoilt)["resolved"] == [5, 6, 7, 8, 9]
    assert spoilt.column("id") == list(range(20))


def test_re_drive_of_which_some_become_rows_says_both_numbers(
    pipeline: MakePipeline, caplog: pytest.LogCaptureFixture
) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS})
    one.produce([order(0)])
    one.run()
    one.produce([order(1, "many"), order(2, "x"), b"no json"])
    one.run()
    fix_table(one)
    with caplog.at_level("INFO"):
        replay(one, **REDRIVE)
    assert "dead letters: 2 became rows, 1 failed again (1 Malformed)" in caplog.text
    assert states(one)["resolved"] == [1, 2]


def test_snapshot_records_recovered_rows_later_skip_omits_them(spoilt: Pipeline) -> None:
    fix_table(spoilt)
    replay(spoilt, **REDRIVE)
    snapshot = spoilt.table().current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    found = snapshot.summary.additional_properties
    assert found["floe.kind"] == "redrive"
    ranges = {"ranges": [[0, 5, 10]]}
    assert json.loads(found["floe.revived"])[spoilt.topic].items() >= ranges.items()
    assert json.loads(found["floe.net"])[spoilt.topic].items() >= ranges.items()
    assert replay(spoilt).slices == ()


def test_each_letter_goes_to_the_table_that_it_was_meant_for(pipeline: MakePipeline) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS, "iceberg.tables": "db.a,db.b"})
    one.produce([order(0)])
    one.run()
    fix_table(one, "db.b")
    one.produce([order(i, "many") for i in range(1, 5)])
    one.run()
    assert (one.column("id", "db.a"), one.column("id", "db.b")) == ([0], [0, 1, 2, 3, 4])
    fix_table(one, "db.a")
    head = one.table("db.b").current_snapshot()
    replay(one, **REDRIVE)
    assert one.column("id", "db.a") == [0, 1, 2, 3, 4]
    assert one.table("db.b").current_snapshot() == head


def test_chosen_tables_only_and_letters_of_none_wait(pipeline: MakePipeline) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS, "iceberg.tables": "db.a,db.b"})
    one.produce([order(0)])
    one.run()
    one.produce([order(1, "many"), b"no json"])
    one.run()
    fix_table(one, "db.a")
    fix_table(one, "db.b")
    replay(one, tables=["db.b"], **REDRIVE)
    assert (one.column("id", "db.a"), one.column("id", "db.b")) == ([0], [0, 1])
    assert [m for m in marks(one) if m[0] == "resolved"] == [("resolved", 1, "db.b")]


ROUTED: dict[str, Any] = {
    DEAD_LETTERS_KEY: DEAD_LETTERS,
    "iceberg.tables": "db.a,db.b",
    "iceberg.tables.route-field": "kind",
    "iceberg.table.db.a.route-regex": "a",
    "iceberg.table.db.b.route-regex": "b",
}


def test_record_refused_before_routing_is_routed_after_fix(pipeline: MakePipeline) -> None:
    dynamic = {k: v for k, v in ROUTED.items() if not k.startswith("iceberg.table")}
    one = pipeline(**dynamic, **{
        "iceberg.tables": None, "floe.route.by": "key", "floe.route.template": "by.k_{value}"
    })  # fmt: skip
    one.produce([{"id": 0}], record={"key": b"a"})
    one.run()
    one.produce([{"id": 1}, {"id": 2}], record={"key": b"no-name"})
    one.produce([{"id": 3}])
    one.run()
    assert marks(one) == [("dead", 1, None), ("dead", 2, None), ("dead", 3, None)]
    # the key as it is makes no name: now a header, which the records lack; then the topic names the table
    changed = one.changed(**{"floe.route.by": None, "floe.route.template": "by.{topic}"})
    plan = replay(changed, **REDRIVE)
    assert plan.slices[0].tables == ()
    name = f"by.{one.topic.replace('-', '_')}"
    assert one.column("id", name) == [1, 2, 3]
    assert one.column("id", "by.k_a") == [0]
    assert states(one)["resolved"] == [1, 2, 3]


def test_a_record_with_two_ways_comes_once_to_each_table(pipeline: MakePipeline) -> None:
    one = pipeline(**ROUTED, **{"floe.route.on-unroutable": "dead-letter"})
    one.produce([{"id": 0, "kind": "a", "amount": 1}, {"id": 1, "kind": "b", "amount": 1}])
    one.run()
    one.produce([{"id": 2, "amount": "many"}, {"id": 3, "kind": "a", "amount": "many"}])
    one.run()
    assert marks(one) == [("dead", 2, None), ("dead", 3, "db.a")]
    wide = one.changed(
        **{"iceberg.tables.route-field": None} | {f"iceberg.table.db.{t}.route-regex": None for t in "ab"}
    )
    fix_table(one, "db.b")
    replay(wide, **REDRIVE)
    # for db.a it died again, now with a letter of that table's: the one of no table is dealt with
    assert one.column("id", "db.b") == [1, 2]
    assert marks(one) == [("dead", 2, "db.a"), ("dead", 2, None), ("dead", 3, "db.a"), ("resolved", 2, None)]
    fix_table(one, "db.a")
    replay(wide, **REDRIVE)
    assert one.column("id", "db.a") == [0, 2, 3]
    assert one.column("id", "db.b") == [1, 2]
    assert replay(wide, **REDRIVE).slices == ()


def test_branch_redrive_leaves_dead_letters_of_main(spoilt: Pipeline) -> None:
    fix_table(spoilt)
    replay(spoilt, branch="audit", **REDRIVE)
    audit = spoilt.table().snapshot_by_name("audit")
    assert audit is not None
    found = spoilt.table().scan(snapshot_id=audit.snapshot_id).to_arrow().column("id").to_pylist()
    assert sorted(found) == list(range(20))
    assert spoilt.column("id") == [*range(5), *range(10, 20)]
    assert states(spoilt)["resolved"] == []
    assert replay(spoilt, branch="audit", **REDRIVE).slices == ()
    replay(spoilt, **REDRIVE)
    assert spoilt.column("id") == list(range(20))
