"""Rows 38 and 40: clocks that are wrong, and schedules that were missed."""

from __future__ import annotations

from tests.faults.harness.run import STEPS
from tests.faults.harness.sink import MakeSink, Sink


def test_row_38_clock_jump_of_an_hour_changes_nothing(sink: Sink) -> None:
    clocks = ["3600", "-3600", "0", "-3600", "3600", "-7200", "3600"]
    zones = ["Europe/Berlin", "America/New_York", "Pacific/Apia"]
    for i, clock in enumerate(clocks):
        sink.producer.produce(100)
        run = sink.new_run()
        for j, step in enumerate(STEPS):
            environment = {"FLOE_FAULTS_CLOCK": clocks[(i + j) % len(clocks)], "TZ": zones[(i + j) % len(zones)]}
            outcome = run.step(step, **environment)
            assert outcome.is_done, (clock, outcome)
    sink.assert_exactly_once()
    assert sink.snapshots() == len(clocks)


def test_row_40_fifty_missed_runs_read_contiguous_ranges(make_sink: MakeSink) -> None:
    sink = make_sink(**{"floe.max-records-per-run": 20})
    sink.producer.produce(1_000)
    read: dict[str, int] = {}
    for _ in range(50):
        run = sink.new_run()
        outcome = run.step("run")
        assert outcome.is_done, outcome
        for tp, (start, end) in outcome.facts["ranges"].items():
            assert start == read.get(tp, 0)
            read[tp] = end
    assert sum(read.values()) == 1_000
    sink.assert_exactly_once()
