"""Replacing, once: repeated, killed, answered with nothing, beside others, rolled back."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from floe.exceptions import FloeError
from floe.tables import lake
from floe.tables.snapshot_commit import Committed
from tests.support.runs.pipeline import MakePipeline
from tests.support.runs.records import orders
from tests.support.runs.replacements import REPLACE, append_foreign, eaten
from tests.support.runs.replays import opened, replay


def test_a_lost_answer_is_looked_at_again(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    one = eaten(pipeline)
    plan, effective = opened(one, ranges={"0": [10, 60]}, **REPLACE)
    effective.write(plan)
    perform = lake.commit_change
    answers: list[Committed] = []

    def lossy(*given: Any) -> Committed:
        answers.append(perform(*given))
        msg = "reset"
        raise ConnectionError(msg)

    monkeypatch.setattr(lake, "commit_change", lossy)
    effective.commit(plan)
    assert len(answers) == 1
    assert one.column("id") == list(range(200))


def test_a_foreign_append_in_between_is_kept(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    one = eaten(pipeline)
    plan, effective = opened(one, ranges={"0": [10, 60]}, **REPLACE)
    effective.write(plan)
    perform = lake.commit_change
    calls: list[int] = []

    def late(*given: Any) -> Committed:
        calls.append(1)
        if len(calls) == 1:
            append_foreign(one)
        return perform(*given)

    monkeypatch.setattr(lake, "commit_change", late)
    effective.commit(plan)
    assert len(calls) == 2
    assert one.column("id") == [*range(200), 999]


def test_two_replaces_beside_live_run_leave_every_record_once(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    one.produce(orders(200, 250), partition=0)
    errors: list[Exception] = []

    def work(step: Any) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - checked after the join
            errors.append(error)

    steps = [
        lambda: replay(one, ranges={"0": [0, 70]}, **REPLACE),
        lambda: replay(one, ranges={"0": [40, 100]}, **REPLACE),
    ]
    threads = [threading.Thread(target=work, args=(step,)) for step in [*steps, one.run]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, FloeError) for error in errors), errors
    one.run()
    assert one.column("id") == list(range(250))


def test_rolled_back_replace_restores_rows_and_rereads_nothing(pipeline: MakePipeline) -> None:
    one = eaten(pipeline)
    before = one.table().current_snapshot()
    assert before is not None
    replay(one, ranges={"0": [10, 60]}, **REPLACE)
    with one.table().manage_snapshots() as change:
        change.rollback_to_snapshot(before.snapshot_id)
    one.run(rolled_back={"db.t": "replay"})
    while one.run().slices:
        pass
    assert one.column("id") == list(range(200))
