"""A status as people read it, and the exit codes of ``status``."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from floe.cli import status as command
from floe.cli.parser import main
from floe.cli.status import MAX_PARTITIONS, status_lines
from floe.model.offsets import Intervals
from floe.status.connector_status import Backlog, CommitStatus, ConnectorStatus, PartitionStatus, TableStatus
from tests.support.connectors import MINIMAL

NOW = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
COMMIT = CommitStatus(7, NOW - timedelta(minutes=5), "live", "s/0", 1250, 2, {}, NOW - timedelta(hours=1))


def status(**over: Any) -> ConnectorStatus:
    given: dict[str, Any] = {
        "partitions": (PartitionStatus("t", 0, 10, 0, 35, 25), PartitionStatus("t", 1, None, 0, 0, 0)),
        "tables": (TableStatus("db.t", "main", True, 7, (COMMIT,), 3),),
        **over,
    }
    return ConnectorStatus("pizzas", "connect-pizzas", NOW, **given)


def test_status_shows_lag_by_partition_and_the_last_commit() -> None:
    assert list(status_lines(status())) == [
        "pizzas  (group connect-pizzas, 2024-01-02 03:04:05 UTC)",
        "  lag: 25 records in 1 of 2 partitions",
        "    partition  committed  log start  end  lag",
        "    t-0        10         0          35   25",
        "    t-1        none       0          0    0",
        "  table db.t: last commit 5 min ago; complete up to 2024-01-02 02:04:05 UTC; 3 open dead letters",
        "    2024-01-02 02:59:05 UTC  live  1,250 rows in 2 files  snapshot 7",
    ]


def test_status_shows_problems_losses_and_backlog_first() -> None:
    lost = PartitionStatus("t", 9, 10, 20, 35, 15, Intervals.of([(10, 20)]), "records are lost")
    refusing = TableStatus("db.u", "audit", False, problem="it refuses rows")
    lines = list(
        status_lines(
            status(
                partitions=(PartitionStatus("t", 0, 1, 0, 99, 98), lost),
                tables=(refusing, TableStatus("db.v", "main", True), TableStatus("db.w", "main", False)),
                backlog=(Backlog("db.u", "t", 0, 0, 50),),
                problems=("the catalog did not answer",),
            )
        )
    )
    assert lines[1] == "  problem: the catalog did not answer"
    assert lines[4].startswith("    t-9") and lines[4].endswith("lost: 10 offsets; records are lost")
    assert any("table db.u is behind by 50 records" in line for line in lines)
    assert lines[-3:] == [
        "  table db.u, branch audit: it refuses rows",
        "  table db.v: no commit of this connector",
        "  table db.w: does not exist yet",
    ]


def test_status_of_many_partitions_is_cut_and_unknown_parts_said() -> None:
    many = tuple(PartitionStatus("t", number, 0, 0, 1, 1) for number in range(MAX_PARTITIONS + 5))
    assert "    and 5 more partitions" in list(status_lines(status(partitions=many)))
    assert list(status_lines(status(partitions=None, tables=None)))[1:] == ["  lag: not known", "  tables: not known"]


@pytest.mark.parametrize(
    ("over", "code"),
    [
        ({}, 0),
        ({"problems": ("x",)}, 1),
        ({"backlog": (Backlog("db.u", "t", 0, 0, 50),)}, 1),
        ({"tables": (TableStatus("db.t", "main", True, problem="x"),)}, 1),
    ],
)
def test_status_exits_with_1_where_there_is_a_problem(
    over: dict[str, Any], code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_status", lambda *_: status(**over))
    (tmp_path / "pizzas.json").write_text(json.dumps(MINIMAL))
    assert main(["status", "pizzas", "--connectors", str(tmp_path)]) == code
    assert capsys.readouterr().out.startswith("pizzas  (group")
    assert main(["status", "--json", "--connectors", str(tmp_path)]) == code
    assert ConnectorStatus.from_json(json.loads(capsys.readouterr().out)[0]) == status(**over)


def test_status_of_a_broken_file_says_its_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pizzas.json").write_text("{")
    assert main(["status", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("pizzas: the connector file cannot be used\n  problem: ")


def test_watch_shows_it_until_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "_status", lambda *_: status())
    monkeypatch.setattr(command.time, "sleep", wait)
    (tmp_path / "pizzas.json").write_text(json.dumps(MINIMAL))
    assert main(["status", str(tmp_path), "--watch", "5"]) == 130
    assert waits == [5, 5] and capsys.readouterr().out.count("group connect-pizzas") == 2
