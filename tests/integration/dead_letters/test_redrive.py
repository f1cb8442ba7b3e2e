"""Dead letters read again: their rows come once, the letters are resolved once, whatever dies in between."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from floe.catalogs.client import Tables
from floe.commit.slice_commit import SliceCommitter
from floe.commit.table_commit import commit_table
from floe.control.announcement import Announcement
from floe.control.table_work import TableWork
from floe.exceptions import FloeError
from floe.model.accounting import TableCounts
from floe.model.exceptions import PlanRefused
from floe.model.plan import Plan
from floe.planning import dead_letter_replay
from floe.planning.replay_plan import draft_replay
from floe.tables.exceptions import DeadLettersLeft, SliceStale
from tests.support.runs.mishaps import roll_back
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import drafted, drop, mend, opened, replay, trace

DEAD_LETTERS = "db.letters"
DEAD_LETTERS_KEY = "floe.deadletter.table"
REDRIVE: dict[str, Any] = {"dead_letters": True}


def order(offset: int, amount: object = 1) -> dict[str, object]:
    return {"id": offset, "amount": amount}


@pytest.fixture
def spoilt(pipeline: MakePipeline) -> Pipeline:
    """A connector that has read 20 records, 5 of them with letters."""
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS})
    one.produce([order(0)])
    one.run()
    one.produce([order(i, "many" if 5 <= i < 10 else 1) for i in range(1, 20)])
    one.run()
    assert one.column("id") == [*range(5), *range(10, 20)]
    return one


def marks(one: Pipeline) -> list[tuple[str, int, str | None]]:
    """Return kind, offset and table of the rows of the dead-letter table."""
    rows = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    return sorted(((row["kind"], row["offset"], row["table"]) for row in rows), key=str)


def states(one: Pipeline) -> dict[str, list[int]]:
    return {kind: sorted(o for k, o, _ in marks(one) if k == kind) for kind in ("dead", "resolved")}


def announced(one: Pipeline, plan: Plan) -> Announcement:
    (slice_,) = plan.slices
    return one.committer(plan).announcements([plan.slice_id(slice_)])[plan.slice_id(slice_)]


# -- the way there ----------------------------------------------------------------------------------------------------


def test_redriven_dead_letters_become_rows_and_are_resolved_once(spoilt: Pipeline) -> None:
    mend(spoilt)
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
    mend(spoilt)
    spoilt.produce([None, order(21, "x"), order(22)])
    spoilt.run()
    plan, one = opened(spoilt, ranges={"0": [6, None]}, **REDRIVE)
    (announcement,) = one.write(plan)
    ((r, counts),) = announcement.counts
    assert (r.start, r.end) == (6, 10)
    assert (counts.routed, counts.filtered) == (4, 0)
    assert announcement.tables["db.t"] == TableCounts(assigned=4, rows=4)
    one.commit(plan)
    assert states(spoilt)["resolved"] == [6, 7, 8, 9]
    assert spoilt.column("id") == [*range(5), *range(6, 20), 21, 22]


def test_records_between_letters_are_filtered_and_slices_are_cut(pipeline: MakePipeline) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS})
    one.produce([order(0)])
    one.run()
    one.produce([order(i, "many" if i % 4 == 0 else 1) for i in range(1, 30)])
    one.run()
    mend(one)
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
    mend(spoilt)
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
    mend(one)
    with caplog.at_level("INFO"):
        replay(one, **REDRIVE)
    assert "dead letters: 2 became rows, 1 failed again (1 Malformed)" in caplog.text
    assert states(one)["resolved"] == [1, 2]


def test_snapshot_records_recovered_rows_later_skip_omits_them(spoilt: Pipeline) -> None:
    mend(spoilt)
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


# -- tables and routes ------------------------------------------------------------------------------------------------


def test_each_letter_goes_to_the_table_that_it_was_meant_for(pipeline: MakePipeline) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS, "iceberg.tables": "db.a,db.b"})
    one.produce([order(0)])
    one.run()
    mend(one, "db.b")
    one.produce([order(i, "many") for i in range(1, 5)])
    one.run()
    assert (one.column("id", "db.a"), one.column("id", "db.b")) == ([0], [0, 1, 2, 3, 4])
    mend(one, "db.a")
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
    mend(one, "db.a")
    mend(one, "db.b")
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
    mended = one.changed(**{"floe.route.by": None, "floe.route.template": "by.{topic}"})
    plan = replay(mended, **REDRIVE)
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
    mend(one, "db.b")
    replay(wide, **REDRIVE)
    # for db.a it died again, now with a letter of that table's: the one of no table is dealt with
    assert one.column("id", "db.b") == [1, 2]
    assert marks(one) == [("dead", 2, "db.a"), ("dead", 2, None), ("dead", 3, "db.a"), ("resolved", 2, None)]
    mend(one, "db.a")
    replay(wide, **REDRIVE)
    assert one.column("id", "db.a") == [0, 2, 3]
    assert one.column("id", "db.b") == [1, 2]
    assert replay(wide, **REDRIVE).slices == ()


def test_branch_redrive_leaves_dead_letters_of_main(spoilt: Pipeline) -> None:
    mend(spoilt)
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


# -- once, whatever happens -------------------------------------------------------------------------------------------


def test_repeating_each_step_adds_nothing(spoilt: Pipeline) -> None:
    mend(spoilt)
    plan, one = opened(spoilt, max_records=2, **REDRIVE)
    for _ in range(2):
        one.write(plan)
    for _ in range(3):
        one.commit(plan)
    assert spoilt.column("id") == list(range(20))
    assert states(spoilt)["resolved"] == [5, 6, 7, 8, 9]


def test_between_the_rows_and_the_marks_a_run_may_die_and_go_on(
    spoilt: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    mend(spoilt)
    plan, one = opened(spoilt, **REDRIVE)
    one.write(plan)
    dies_before_the_marks(monkeypatch, one, plan)
    assert (spoilt.column("id"), states(spoilt)["resolved"]) == (list(range(20)), [])
    one.commit(plan)
    assert (spoilt.column("id"), states(spoilt)["resolved"]) == (list(range(20)), [5, 6, 7, 8, 9])


def dies_before_the_marks(monkeypatch: pytest.MonkeyPatch, one: Pipeline, plan: Plan) -> None:
    class Killed(Exception):
        """Stands for SIGKILL."""

    def kill(*_: object) -> bool:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SliceCommitter, "_mark_resolved", kill)
        one.commit(plan)


def test_redrive_abandoned_halfway_is_completed_by_another(spoilt: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    mend(spoilt)
    plan, one = opened(spoilt, **REDRIVE)
    one.write(plan)
    dies_before_the_marks(monkeypatch, one, plan)
    (message,) = drafted(spoilt, **REDRIVE).dead_letters
    assert (message.dead_letters, message.recovered) == (5, 5)
    replay(spoilt, **REDRIVE)
    assert (spoilt.column("id"), states(spoilt)["resolved"]) == (list(range(20)), [5, 6, 7, 8, 9])
    one.commit(plan)
    assert (spoilt.column("id"), states(spoilt)["resolved"]) == (list(range(20)), [5, 6, 7, 8, 9])


@pytest.mark.parametrize("written_after", [False, True], ids=["both-written", "written-after"])
def test_two_re_drives_planned_at_once_append_once(spoilt: Pipeline, *, written_after: bool) -> None:
    mend(spoilt)
    first, one = opened(spoilt, **REDRIVE)
    second, other = opened(spoilt, ranges={"0": [7, None]}, **REDRIVE)
    one.write(first)
    if not written_after:
        other.write(second)
    one.commit(first)
    if written_after:
        other.write(second)
        other.commit(second)
    else:
        with pytest.raises(SliceStale, match=r"another run wrote the rows of some of its dead letters"):
            other.commit(second)
    assert spoilt.column("id") == list(range(20))
    assert states(spoilt)["resolved"] == [5, 6, 7, 8, 9]
    assert replay(spoilt, **REDRIVE).slices == ()


def test_two_redrives_committed_crosswise_are_completed_by_third(pipeline: MakePipeline) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS, "iceberg.tables": "db.a,db.b"})
    one.produce([order(0)])
    one.run()
    one.produce([order(1, "many")])
    one.run()
    mend(one, "db.a")
    mend(one, "db.b")
    plans = [opened(one, **REDRIVE) for _ in range(2)]
    for plan, effective in plans:
        effective.write(plan)
    for (plan, effective), table in zip(plans, ("db.a", "db.b"), strict=True):
        found = announced(effective, plan)
        (table_files,) = [s for s in found.all_table_files if s.table == table]
        commit_table(Tables.of(effective.connector), TableWork.of(plan, found, table_files), 5)
    for plan, effective in plans:
        with pytest.raises(SliceStale):
            effective.commit(plan)
    assert states(one)["resolved"] == []
    replay(one, **REDRIVE)
    assert one.column("id", "db.a") == one.column("id", "db.b") == [0, 1]
    assert states(one)["resolved"] == [1, 1]


def test_dead_letter_recovered_by_other_replay_is_resolved(spoilt: Pipeline) -> None:
    drop(spoilt)
    Tables.of(spoilt.connector).create("db.t", schema_of_text())
    replay(spoilt)
    assert spoilt.column("id") == list(range(20))
    assert states(spoilt)["resolved"] == [5, 6, 7, 8, 9]
    assert replay(spoilt, **REDRIVE).slices == ()


def schema_of_text() -> Schema:
    return Schema(
        NestedField(1, "id", LongType(), required=False), NestedField(2, "amount", StringType(), required=False)
    )


def test_run_read_again_over_fixed_table_resolves_dead_letters(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS})
    one.produce([order(0)])
    one.run()
    one.produce([order(1, "many"), order(2)])
    plan = one.plan()
    one.write(plan)
    found = announced(one, plan)
    (table_files,) = [s for s in found.all_table_files if s.table == DEAD_LETTERS]
    commit_table(Tables.of(one.connector), TableWork.of(plan, found, table_files), 5)
    mend(one)
    again = one.plan()
    one.write(again)
    dies_before_the_marks(monkeypatch, one, again)
    assert (one.column("id"), states(one)) == ([0, 1, 2], {"dead": [1], "resolved": []})
    one.run()  # reads the range a third time: the table holds all of it, the mark is missing
    assert (one.column("id"), states(one)) == ([0, 1, 2], {"dead": [1], "resolved": [1]})


def test_rows_that_a_rollback_took_away_come_back_and_only_once(spoilt: Pipeline) -> None:
    mend(spoilt)
    before = spoilt.table().current_snapshot()
    assert before is not None
    replay(spoilt, **REDRIVE)
    with spoilt.table().manage_snapshots() as change:
        change.rollback_to_snapshot(before.snapshot_id)
    spoilt.run(rolled_back={"db.t": "replay"})
    while spoilt.run().slices:
        pass
    assert spoilt.column("id") == list(range(20))
    assert replay(spoilt, **REDRIVE).slices == ()
    assert replay(spoilt).slices == ()


def test_branch_set_to_redriven_snapshot_gets_no_row_twice(spoilt: Pipeline) -> None:
    mend(spoilt)
    replay(spoilt, branch="audit", **REDRIVE)
    audit = spoilt.table().snapshot_by_name("audit")
    assert audit is not None
    roll_back(spoilt, audit.snapshot_id, "db.t")
    assert spoilt.column("id") == list(range(20))
    spoilt.run(rolled_back={"db.t": "accept"})
    replay(spoilt, **REDRIVE)
    assert spoilt.column("id") == list(range(20))
    assert states(spoilt)["resolved"] == [5, 6, 7, 8, 9]


# -- what is told and refused -----------------------------------------------------------------------------------------


def test_redrive_dry_run_counts_dead_letters_and_writes_nothing(pipeline: MakePipeline) -> None:
    one = pipeline(2, **{DEAD_LETTERS_KEY: DEAD_LETTERS})
    for partition in range(2):
        one.produce([order(0)], partition=partition)
    one.run()
    one.produce([order(1, "many"), order(2, "many"), b"no json"], partition=0)
    one.produce([order(1, "many")], partition=1)
    one.run()
    before = trace(one)
    message = draft_replay(one.connector, one.settings, REDRIVE, dry_run=True).to_json()
    assert trace(one) == before
    assert [(t["table"], t["partition"], t["range"], t["letters"]) for t in message["letters"]] == [
        ("db.t", 0, [1, 4], 3),
        ("db.t", 1, [1, 2], 1),
    ]
    restricted = drafted(one, tables=["db.t"], ranges={"0": [2, 3]}, **REDRIVE).dead_letters
    assert [(t.range.partition, t.dead_letters) for t in restricted] == [(0, 1)]


def test_dead_letters_of_removed_table_are_skipped_with_warning(pipeline: MakePipeline) -> None:
    one = pipeline(**{DEAD_LETTERS_KEY: DEAD_LETTERS, "iceberg.tables": "db.a,db.b"})
    one.produce([order(0)])
    one.run()
    one.produce([order(1, "many")])
    one.run()
    less = one.changed(**{"iceberg.tables": "db.a"})
    message = drafted(less, **REDRIVE).dead_letters
    assert [(t.table, t.left_out) for t in message] == [
        ("db.a", None),
        ("db.b", "the table is none of the connector's any more"),
    ]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"overlap": "append"}, r"dead_letters and overlap=append.*Leave overlap at skip"),
        ({"dead_letters": "yes"}, r"dead_letters is 'yes': write true or false"),
        ({"ranges": {"0": [0, 99]}}, "ends past the position"),
        ({"tables": ["db.other"]}, "is not configured in this connector"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way(spoilt: Pipeline, params: dict[str, Any], words: str) -> None:
    before = trace(spoilt)
    with pytest.raises(PlanRefused, match=words):
        drafted(spoilt, **{**REDRIVE, **params})
    assert trace(spoilt) == before


def test_without_a_table_of_letters_there_is_nothing_to_drive(spoilt: Pipeline) -> None:
    for keys in ({DEAD_LETTERS_KEY: None}, {"errors.tolerance": "none"}):
        with pytest.raises(PlanRefused, match=r"keeps none in a table: set floe\.deadletter\.table"):
            drafted(spoilt.changed(**keys), **REDRIVE)


def test_too_many_letters_are_refused_with_a_range_to_begin_with(
    spoilt: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoilt.produce([order(i, "many" if i % 2 else 1) for i in range(20, 40)])
    spoilt.run()
    monkeypatch.setattr(dead_letter_replay, "MAX_SPANS", 3)
    with pytest.raises(PlanRefused, match=r'15 dead letters are open, in 11 spans.*ranges=\{"0": \[null, 24\]\}'):
        drafted(spoilt, **REDRIVE)
    with pytest.raises(DeadLettersLeft):
        replay(spoilt, ranges={"0": [None, 24]}, **REDRIVE)


def test_a_missing_table_that_may_not_be_created_is_refused(spoilt: Pipeline) -> None:
    drop(spoilt)
    strict = spoilt.changed(**{"iceberg.tables.auto-create-enabled": "false"})
    with pytest.raises(FloeError, match=r"table 'db\.t' does not exist"):
        drafted(strict, **REDRIVE)


def test_dead_letters_of_another_connector_are_not_redriven(spoilt: Pipeline, pipeline: MakePipeline) -> None:
    other = pipeline(topic=spoilt.topic, **{DEAD_LETTERS_KEY: DEAD_LETTERS, "iceberg.tables": "db.other"})
    Tables.of(other.connector).create("db.other", schema_of_text())
    other.run()
    assert drafted(other, **REDRIVE).dead_letters == ()
    assert [t.dead_letters for t in drafted(spoilt, **REDRIVE).dead_letters] == [5]
