"""Replays beside each other and beside live runs: every record once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from floe.exceptions import FloeError
from tests.support.runs.pipeline import Pipeline
from tests.support.runs.records import orders
from tests.support.runs.replays import drop, opened, replay


def test_skips_whose_ranges_overlap_by_halves_lose_nothing(eaten: Pipeline) -> None:
    drop(eaten)
    first, one = opened(eaten, ranges={"0": [0, 60]})
    second, other = opened(eaten, ranges={"0": [40, 100]})
    one.write(first)
    other.write(second)
    one.commit(first)
    try:
        other.commit(second)
    except FloeError as error:
        assert "other offsets than when" in str(error)
    replay(eaten, ranges={"0": [0, 100]})
    assert eaten.column("id") == list(range(100))


def test_replays_in_threads_beside_live_runs_leave_records_once(eaten: Pipeline) -> None:
    drop(eaten)
    eaten.produce(orders(300, 400), partition=0)
    errors: list[Exception] = []

    def work(step: Callable[[], object]) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - checked after the join
            errors.append(error)

    replay(eaten, ranges={"0": [0, 1]})
    steps: list[Callable[[], object]] = [lambda: replay(eaten, max_records=50), eaten.run, lambda: replay(eaten)]
    threads = [threading.Thread(target=work, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, FloeError) for error in errors), errors
    eaten.run()
    replay(eaten)
    assert eaten.column("id") == list(range(400))


def test_live_run_planned_before_replay_commits_once_after_it(eaten: Pipeline) -> None:
    eaten.produce(orders(300, 350), partition=1)
    live = eaten.plan()
    eaten.write(live)
    drop_part = replay(eaten, ranges={"1": [0, 100]}, overlap="append")
    assert drop_part.slices
    eaten.commit(live)
    assert eaten.column("id") == sorted([*range(350), *range(100, 200)])
    assert eaten.position()[1] == 150
    assert replay(eaten).slices == ()
