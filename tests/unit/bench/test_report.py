"""The benchmark's report: ratios of medians, each against what was asked of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from bench import report
from bench.measurement import Measurement, Spread
from bench.suites import costs
from bench.targets import FLOOR, SINK, WARM, check_targets
from bench.usage import Meter


def one(system: str, seconds: float, number: int = 0, scenario: str = "backlog", **more: object) -> Measurement:
    return Measurement(scenario, system, number, 1_000_000, seconds, 2 * seconds, 1000.0, 300.0, dict(more))


def test_a_spread_is_median_least_and_most() -> None:
    assert Spread.of([3.0, 1.0, 2.0]).text() == "2.0 (1.0–3.0)"


def test_ratios_are_those_of_medians_and_judged() -> None:
    found = [one(SINK, s, i, cold_seconds=s) for i, s in enumerate((50.0, 60.0, 70.0))]
    found += [one(WARM, s, i) for i, s in enumerate((10.0, 12.0, 20.0))]
    found += [one(FLOOR, 8.0)]
    checks = {j.what: j for j in check_targets(found)}
    assert checks["last row of the backlog, floe warm vs sink"].text == "5.0 × (3.5–5.0)"
    assert not checks["last row of the backlog, floe warm vs sink"].holds
    assert checks["floe warm vs the floor"].text == "67%"
    assert not checks["floe warm vs the floor"].holds


def test_protobuf_is_compared_with_the_avro_of_the_sink() -> None:
    found = [
        one(SINK, 50.0, scenario="avro"),
        one(WARM, 10.0, scenario="protobuf"),
        one(FLOOR, 8.0, scenario="protobuf"),
    ]
    checks = {check.what: check.text for check in check_targets(found)}
    assert checks["protobuf: floe warm vs sink with avro"] == "5.0 ×"
    assert not [what for what in checks if "floor" in what], "no share of the floor is asked of it"


def test_untidy_json_is_compared_with_its_floor() -> None:
    found = [one(WARM, 10.0, scenario="untidy"), one(FLOOR, 8.1, scenario="untidy")]
    (check, *_) = check_targets(found)
    assert (check.what, check.wanted, check.text, check.holds) == (
        "untidy: floe warm vs the floor",
        "80%",
        "81%",
        True,
    )


def test_what_was_not_measured_is_not_judged() -> None:
    assert [j.what for j in check_targets([one(WARM, 10.0)])] == ["peak memory of a Python worker"]


@pytest.mark.parametrize(
    ("seconds", "text", "holds"),
    [
        ((0.5, 1.0, 2.0), "± 0% (1000.00, 1000.00 µs)", True),
        ((1.0, 2.0, 3.0), "± 14% (2000.00, 1500.00 µs)", True),
        ((1.0, 2.0, 5.0), "± 11% (2000.00, 2500.00 µs)", True),
        ((1.0, 3.0, 4.0), "± 20% (3000.00, 2000.00 µs)", False),
    ],
)
def test_sizes_are_compared_per_record(seconds: tuple[float, float, float], text: str, *, holds: bool) -> None:
    sizes = (0, 1_000, 2_000)
    found = [Measurement(f"size {n}", WARM, 0, n, s, 1.0) for n, s in zip(sizes, seconds, strict=True)]
    (checks,) = (j for j in check_targets(found) if j.what.startswith("time per record"))
    assert checks.text.startswith(text)
    assert "s of any run ±" in checks.text
    assert checks.holds is holds


def test_a_suite_may_say_itself_what_its_figure_is_to_be() -> None:
    (checks,) = check_targets(
        [Measurement("plan", "floe", 0, 0, 1.0, 0.0, more={"value": 6.0, "most": 5, "unit": "s"})]
    )
    assert (checks.wanted, checks.text, checks.holds) == ("≤ 5 s", "6.00 s", False)


MEASURED = {
    "date": "2026-11-28",
    "command": "make bench",
    "rounds": 3,
    "machine": {"cores": "2", "Java": "17"},
    "size": "full",
}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "internals").mkdir(parents=True)
    for page in (folder / "benchmarks.md", folder / "internals" / "benchmarks.md"):
        page.write_text(f"before\n{report.BEGIN}\nstale\n{report.END}\nafter\n")
    return folder


def write(folder: Path, found: Sequence[Measurement]) -> None:
    results = {**MEASURED, "measurements": [m.to_json() for m in found]}
    (folder / "results.json").write_text(json.dumps(results))
    report.write(folder)


def test_results_become_two_pages_between_their_marks(tmp_path: Path, docs: Path) -> None:
    write(tmp_path, [one(SINK, 60.0, cold_seconds=62.0), one(WARM, 10.0, write_seconds=9.0), one(FLOOR, 8.0)])
    report.publish(tmp_path, docs)
    pages = [(docs / name).read_text() for name in ("benchmarks.md", "internals/benchmarks.md")]
    for page in pages:
        assert page.startswith("before\n") and page.endswith("\nafter\n") and "stale" not in page
        assert "Measured on 2026-11-28 by `make bench`" in page
    summary, details = pages
    assert "| JSON, flat | 100 (100–100) | 6.0 × (6.0–6.0) | 6.0 × (6.0–6.0) | – | 80% (80%–80%) |" in summary
    assert "| last row of the backlog, floe warm vs sink | 6 × | 6.0 × (6.0–6.0) | yes |" in details
    assert {plot.name for plot in (docs / "images" / "bench").iterdir()} == {"throughput.svg", "cpu.svg"}


def test_the_page_for_users_says_what_a_run_and_a_connector_cost(tmp_path: Path) -> None:
    found = [
        Measurement("size 10000", WARM, 0, 10_000, 0.5, 0.4),
        Measurement(costs.IDLE, WARM, 0, 1, 0.07, 0.05),
        Measurement(costs.PARSING, "floe", 0, 1, 0.014, 0.013),
        Measurement("nothing new", "floe in Airflow", 0, 0, 0.9, 0.0),
    ]
    write(tmp_path, found)
    summary = (tmp_path / "summary.md").read_text()
    assert "| a run of 10,000 records, Spark Connect: plan, write, commit | 500 (500–500) | 400 (400–400) |" in summary
    assert "| parsing the DAG files, for each connector | 14 (14–14) | 13 (13–13) |" in summary
    assert "| in Airflow, a run that finds nothing new | 900 (900–900) | – |" in summary


def test_a_page_without_marks_leaves_all_pages_alone(tmp_path: Path, docs: Path) -> None:
    (docs / "internals" / "benchmarks.md").write_text("by hand")
    write(tmp_path, [one(WARM, 10.0)])
    with pytest.raises(ValueError, match="no marks"):
        report.publish(tmp_path, docs)
    assert "stale" in (docs / "benchmarks.md").read_text()


def test_a_meter_counts_what_is_used_while_it_is_open() -> None:
    spin = "end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
    burn = f"import time\n{spin}\nprint('done', flush=True)\ninput()"
    with Meter([]) as meter:
        command = [sys.executable, "-c", burn]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdin is not None and child.stdout is not None
            meter.add(psutil.Process(child.pid))
            child.stdout.readline()
            usage = meter.usage_now()
            child.stdin.write("\n")
    assert 0.35 < usage.cpu_seconds < 3
    assert usage.resident_mb > 5


def test_a_meter_counts_the_broker_apart_and_the_children_of_what_has_ended() -> None:
    spin = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
    child = f"{spin}\nprint('done', flush=True)\ninput()"
    parent = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {child!r}])\ninput()"
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as broker,
        Meter([], psutil.Process(broker.pid)) as meter,
        subprocess.Popen(
            [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as run,
    ):
        assert run.stdout is not None
        meter.add(psutil.Process(run.pid))
        run.stdout.readline()
        usage = meter.usage_now()
        run.communicate("\n\n")
        broker.communicate("\n")
    assert set(usage.parts) == {"broker_cpu_seconds", "other_cpu_seconds"}
    assert 0.25 < usage.parts["other_cpu_seconds"] < 2
    assert usage.parts["broker_cpu_seconds"] < 0.1
    assert usage.cpu_seconds == pytest.approx(sum(usage.parts.values()))
