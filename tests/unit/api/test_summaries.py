"""What the page shows of connectors, from records and the states of DAGs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from floe.api import summaries
from floe.api.dag_states import DagState, Failing, RunState
from floe.api.records import KeptStatus
from floe.status.freshness import Freshness, TableFreshness
from floe.status.metrics import metrics
from floe.status.record_codec import dump
from tests.support.api.records import HOSTILE, hostile_record, record

NOW = datetime.now(UTC)
DAG = DagState("orders", False, False, "shop.orders into shop.orders", NOW)
RIGHTS = dict.fromkeys(("run", "pause", "replay", "records"), True)


FAILING = Failing(NOW - timedelta(hours=1), 3, "scheduled__0", False)


def run(state: str) -> RunState:
    return RunState("scheduled__1", state, NOW, NOW, None)


@pytest.mark.parametrize(
    ("dag", "state"),
    [
        (DAG, "ready"),
        (replace(DAG, run=run("success")), "ready"),
        (replace(DAG, is_paused=True, run=run("success")), "paused"),
        (replace(DAG, is_paused=True, run=run("failed")), "failed"),
        (replace(DAG, run=run("queued")), "running"),
        (replace(DAG, is_broken=True, run=run("running")), "broken"),
        (replace(DAG, run=run("queued"), failing=FAILING), "failing"),
        (replace(DAG, is_paused=True, run=run("running")), "running"),
    ],
)
def test_state_says_what_needs_a_person_first(dag: DagState, state: str) -> None:
    assert summaries.state(dag) == state


@pytest.mark.parametrize(
    ("dag", "state"),
    [
        (DAG, "stalled"),
        (replace(DAG, run=run("running")), "stalled"),
        (replace(DAG, run=run("queued"), is_paused=True), "stalled"),
        (replace(DAG, is_paused=True), "paused"),
        (replace(DAG, run=run("failed")), "failed"),
        (replace(DAG, is_broken=True), "broken"),
    ],
)
def test_without_a_scheduler_nothing_is_ready_or_running(dag: DagState, state: str) -> None:
    assert summaries.state(dag, has_scheduler=False) == state


def test_line_has_the_sums_of_the_record() -> None:
    kept = record("orders", "o", "db.o", letters=True, backlog=7, problems=("p",), lag=41)
    line = summaries.line(DAG, summaries.brief(KeptStatus(kept)))["status"]
    sums = {name: line[name] for name in ("lag", "dead_letters", "backlog", "partitions", "tables", "problems")}
    assert sums == {"lag": 41, "dead_letters": 37, "backlog": 7, "partitions": 4, "tables": 2, "problems": ["p"]}


def test_valid_through_is_of_the_table_that_is_furthest_behind() -> None:
    kept = record("orders", "o", "db.o")
    (table,) = kept.status.tables or ()
    late = replace(table.commits[0], valid_through=NOW - timedelta(days=1))
    tables = (table, replace(table, name="late", commits=(late,)))
    line = summaries.line(DAG, summaries.brief(KeptStatus(replace(kept, status=replace(kept.status, tables=tables)))))
    assert line["status"]["valid_through"] == (NOW - timedelta(days=1)).isoformat()


def test_valid_through_is_unknown_if_one_table_has_none() -> None:
    kept = record("orders", "o", "db.o")
    (table,) = kept.status.tables or ()
    tables = (table, replace(table, name="new", commits=()))
    line = summaries.line(DAG, summaries.brief(KeptStatus(replace(kept, status=replace(kept.status, tables=tables)))))
    assert line["status"]["valid_through"] is None


def test_valid_through_leaves_the_dead_letter_table_out() -> None:
    kept = record("orders", "o", "db.o", letters=True)
    table, dead_letters = kept.status.tables or ()
    assert dead_letters.is_dead_letters and dead_letters.valid_through is None
    line = summaries.line(DAG, summaries.brief(KeptStatus(kept)))
    assert table.valid_through is not None and line["status"]["valid_through"] == table.valid_through.isoformat()


def test_connector_whose_table_refuses_is_not_ready() -> None:
    kept = KeptStatus(record("orders", "o", "db.o", refusal="table 'db.o' was rolled back"))
    assert summaries.whole(DAG, kept, RIGHTS)["state"] == "problems"
    assert summaries.line(DAG, summaries.brief(kept))["state"] == "problems"
    assert summaries.line(replace(DAG, run=run("running")), summaries.brief(kept))["state"] == "running"


def test_late_table_that_is_furthest_behind_is_in_the_line() -> None:
    late = tuple(TableFreshness(name, NOW - timedelta(hours=1), True) for name in ("db.a", "db.b"))
    kept = replace(record("orders", "o", "db.o"), freshness=Freshness(600_000, NOW, late, more=1))
    line = summaries.line(DAG, summaries.brief(KeptStatus(kept)))["status"]
    sums = line["late"], line["late_table"], line["late_through"]
    assert sums == (3, "db.a", (NOW - timedelta(hours=1)).isoformat())
    line = summaries.line(DAG, summaries.brief(KeptStatus(record("orders", "o", "db.o"))))["status"]
    assert (line["late"], line["late_table"], line["late_through"]) == (0, None, None)


def test_brief_measures_as_the_record_does() -> None:
    kept = record("orders", "o", "db.o", backlog=7, holes=True)
    (table,) = kept.status.tables or ()
    undated = (replace(table.commits[0], valid_through=None), *table.commits[1:])
    tables = (table, replace(table, name="undated", commits=undated), replace(table, name="none", commits=()))
    kept = replace(kept, status=replace(kept.status, tables=tables))
    measured = summaries.brief(KeptStatus(kept)).measured
    assert measured is not None and metrics([measured], NOW) == metrics([kept], NOW)
    assert len(dump(measured)) < len(dump(kept)) / 3


def test_whole_has_the_error_of_the_last_run() -> None:
    assert summaries.whole(replace(DAG, failure="write failed"), None, RIGHTS)["dag"]["failure"] == "write failed"
    assert summaries.whole(DAG, None, RIGHTS)["dag"]["failure"] is None


@pytest.mark.parametrize("kept", [None, KeptStatus(None, "this is no status record")])
def test_connector_without_a_record_says_why(kept: KeptStatus | None) -> None:
    line = summaries.line(DAG, None if kept is None else summaries.brief(kept))
    whole = summaries.whole(DAG, kept, RIGHTS)
    assert line["problem"] == whole["problem"] == (kept.problem if kept else summaries.NOTHING_KEPT)
    assert (line["status"], whole["record"]) == (None, None)


def test_bytes_of_records_need_the_right_to_see_them() -> None:
    kept = KeptStatus(record("orders", "o", "db.o", letters=True))
    seen, unseen = (summaries.whole(DAG, kept, RIGHTS | {"records": may})["record"] for may in (True, False))
    assert [len(reason["samples"]) for reason in seen["dead_letters"]] == [2, 2]
    assert [(reason["count"], reason["samples"]) for reason in unseen["dead_letters"]] == [(31, []), (6, [])]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_answered_as_json(text: str) -> None:
    kept = KeptStatus(hostile_record("orders", text))
    answer = json.loads(
        json.dumps([summaries.line(DAG, summaries.brief(kept)), summaries.whole(DAG, kept, RIGHTS)], allow_nan=False)
    )
    assert answer[1]["record"]["status"]["problems"] == [text]
