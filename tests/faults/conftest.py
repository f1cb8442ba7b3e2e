"""One zygote for the session; a connector, its topics and its tables for each test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

from stack.services.broker import Broker
from tests.faults.harness.sink import MakeSink, Sink
from tests.faults.harness.zygote import Zygote

ROWS = (*range(1, 37), *range(38, 50))
"""The rows of the matrix that are tested here."""

ROW = re.compile(r"test_row_(\d\d)_")


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say how many rows of the matrix are green: those all of whose tests passed."""
    outcomes: dict[int, set[str]] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            row = ROW.search(getattr(report, "nodeid", ""))
            if row and (report.when == "call" or outcome != "passed"):
                outcomes.setdefault(int(row[1]), set()).add(outcome)
    if outcomes:
        green = sum(found == {"passed"} for found in outcomes.values())
        missing = sorted(set(ROWS) - outcomes.keys())
        terminalreporter.write_line(f"{green}/{len(ROWS)} rows green" + (f", not run: {missing}" if missing else ""))


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """What steps are forked from."""
    one = Zygote(tmp_path_factory.mktemp("zygote") / "zygote.log")
    yield one
    one.close()


@pytest.fixture
def make_sink(broker: Broker, zygote: Zygote, tmp_path: Path) -> Iterator[MakeSink]:
    """A factory: `make_sink(partitions=2, **keys)`."""
    made: list[Sink] = []

    def make(bootstrap: str = broker.bootstrap, **more: Any) -> Sink:
        folder = more.pop("folder", None) or tmp_path / f"sink-{len(made)}"
        folder.mkdir(exist_ok=True)
        made.append(Sink.make(zygote, bootstrap, folder, **more))
        return made[-1]

    yield make
    for sink in made:
        sink.close()


@pytest.fixture
def sink(make_sink: MakeSink) -> Sink:
    """A sink of two partitions into one table."""
    return make_sink()
