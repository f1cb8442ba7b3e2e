"""The read model: its JSON, its bounds, and what it says of partitions, whatever Kafka and positions hold."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from floe.commit.run_commit import CommitReport
from floe.config import Connector, parse_connector
from floe.config.secrets.mask import learn
from floe.model.accounting import TableCounts
from floe.model.offsets import Intervals, OffsetRange, PartitionLog, TopicPartition
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.positions import PartitionBacklog, Position, PositionMetadata
from floe.status.connector_status import Backlog, CommitStatus, ConnectorStatus, PartitionStatus, TableStatus
from floe.status.kafka_state import backlogs, partition_statuses
from floe.status.reader import latest
from floe.status.reports import RunReport, plan_lines
from floe.status.summary import MAX_SHOWN, WIDTH, backlog_lines, lag_json, lag_lines
from floe.status.tables import problem_of
from tests.support.tables.foreign_changes import append_foreign, roll_back
from tests.support.tables.lake import GROUP, OTHER_TABLE, TABLE
from tests.support.tables.old_snapshots import AgingLake

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TOPIC, TOPIC_ID = "pizzas", "T1"
METADATA = PositionMetadata("routing", 0, TOPIC_ID, "C1", owner="one")
MAX_CHARACTERS = 10_000
"""Of what a task returns: it is a row in Airflow's database."""

CONNECTOR = parse_connector(
    {
        "name": "one",
        "topics": TOPIC,
        "iceberg.tables": "db.t",
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": "sqlite:////tmp/none.db",
        "iceberg.catalog.warehouse": "file:///tmp/none",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
)


def log(start: int, end: int, topic_id: str = TOPIC_ID) -> PartitionLog:
    return PartitionLog(TopicPartition(TOPIC, 0), topic_id, start, end)


def of(one: PartitionLog, committed: int | None, metadata: str, connector: Connector = CONNECTOR) -> PartitionStatus:
    positions = {} if committed is None else {one.tp: Position(one.tp, committed, metadata)}
    (found,) = partition_statuses(connector, [one], positions)
    return found


def many(count: int, topic: str = TOPIC) -> tuple[PartitionStatus, ...]:
    """Return partitions of which each lags by its number."""
    return tuple(PartitionStatus(topic, p, 10, 0, 10 + p, p) for p in range(count))


def status_of(partitions: tuple[PartitionStatus, ...], backlog: tuple[Backlog, ...] = ()) -> ConnectorStatus:
    return ConnectorStatus("one", "connect-one", NOW, partitions, backlog)


def plan_of(*slices: Slice, positions: tuple[Position, ...] = ()) -> Plan:
    return Plan("p" * 32, "one", "connect-one", "C1", {"floe.deadletter.table": "db.dead"}, "c", {}, positions, slices)


def committed(*tables: str, rows: int = 3) -> CommitReport:
    committed: Any = tuple(
        SimpleNamespace(
            table_files=SimpleNamespace(table=name, file_count=1),
            counts=TableCounts(rows, rows),
            snapshot_id=2**62,
            already=False,
        )
        for name in tables
    )
    return CommitReport(False, committed)


# -- values ------------------------------------------------------------------------------------------------------------


def test_status_survives_json() -> None:
    commit = CommitStatus(2**62, NOW, "live", "p/0", 5, 1, {"rows": 5}, NOW)
    status = ConnectorStatus(
        "one",
        "connect-one",
        NOW,
        partitions=(PartitionStatus(TOPIC, 0, None, 3, 9, 6, Intervals(((0, 3),)), "why"),),
        backlog=(Backlog("db.t", TOPIC, 0, 2, 4),),
        tables=(TableStatus("db.t", "main", True, 2**62, (commit,), 7, None), TableStatus("db.u", "main", False)),
        problems=("topic 'x' does not exist",),
    )
    text = json.dumps(status.to_json())
    assert ConnectorStatus.from_json(json.loads(text)) == status
    assert str(2**62) in text and f": {2**62}" not in text, "JavaScript reads no such number"


def test_status_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="has format 99, floe reads 1"):
        ConnectorStatus.from_json({**status_of(()).to_json(), "floe": 99})


# -- partitions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("committed", "start", "end", "lag", "lost", "problem"),
    [
        (None, 3, 9, 6, (), None),
        (9, 0, 9, 0, (), None),
        (5, 0, 9, 4, (), None),
        (2, 5, 9, 4, ((2, 5),), "offsets 2 to 5 were deleted before they were read"),
        (12, 0, 9, 0, (), "the committed offset 12 is above the log end 9"),
    ],
)
def test_partition_lag_and_loss(
    committed: int | None, start: int, end: int, lag: int, lost: tuple[tuple[int, int], ...], problem: str | None
) -> None:
    found = of(log(start, end), committed, METADATA.encode())
    assert (found.committed, found.lag, found.lost.spans, found.problem) == (committed, lag, lost, problem)


@pytest.mark.parametrize(
    ("topic_id", "metadata", "problem", "lag"),
    [
        ("T2", METADATA.encode(), "was deleted and created again", 9),
        (TOPIC_ID, "of a sink", "was written by another program: its metadata is 'of a sink'", 4),
        (TOPIC_ID, PositionMetadata("r", 0, TOPIC_ID, "C1", owner="two").encode(), "belongs to connector 'two'", 4),
    ],
)
def test_partition_problem_is_named(topic_id: str, metadata: str, problem: str, lag: int) -> None:
    found = of(log(0, 9, topic_id), 5, metadata)
    assert problem in str(found.problem) and found.lag == lag


def test_partition_problem_is_short_and_hides_secrets() -> None:
    learn({"sasl.password": "h1dden-from-all-eyes"})
    problem = str(of(log(0, 9), 5, "h1dden-from-all-eyes" + "x" * 5_000).problem)
    assert "h1dden" not in problem and len(problem) < 200
    assert "h1dden" not in problem_of(OSError("to h1dden-from-all-eyes\n" + "x" * 5_000))


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", ["pizzas", "t" * 249])
def test_two_thousand_partitions_are_told_in_short(topic: str) -> None:
    status = status_of(many(2_000, topic))
    lines = list(lag_lines(status))
    assert lines[0] == "lag: 1,999,000 records in 1,999 of 2,000 partitions"
    assert len(lines) == MAX_SHOWN + 2 and max(map(len, lines)) <= WIDTH
    assert lines[-1] == f"  and 1,979 more partitions with {sum(range(1_980)):,} records"
    found: Any = lag_json(status)
    assert [one["lag"] for one in found["worst"]] == list(range(1_999, 1_979, -1))
    assert sum(one["lag"] for one in found["worst"]) + sum(range(1_980)) == found["records"] == status.lag
    assert (found["partitions"], found["behind"], found["more"]) == (2_000, 1_999, 1_979)
    assert len(json.dumps(found)) < MAX_CHARACTERS + MAX_SHOWN * len(topic)


def test_status_of_two_thousand_partitions_is_small() -> None:
    assert len(json.dumps(status_of(many(2_000)).to_json())) < 250_000


def test_thousands_of_tables_behind_are_told_in_short() -> None:
    backlog = tuple(Backlog(f"db.t{t}", TOPIC, p, 0, t) for t in range(1, 1_001) for p in range(30))
    lines = list(backlog_lines(backlog))
    assert len(lines) == MAX_SHOWN + 1 and max(map(len, lines)) <= WIDTH
    assert lines[0].startswith("table db.t1000 is behind by 30,000 records of 30 partitions: pizzas-0[0, 1000), ")
    assert lines[-1] == "and 980 more tables are behind"


def test_run_report_of_many_tables_is_small_and_adds_up() -> None:
    names = [f"db.t{i}" for i in range(1_500)]
    report = RunReport(
        plan_of(),
        committed("db.dead", *names),
        {f"Error{i}": 1 for i in range(1_000)},
        status_of(many(2_000), tuple(Backlog(name, TOPIC, 0, 0, 1) for name in names)),
    )
    message = report.to_json()
    assert (message["rows"], message["files"], len(message["tables"]), message["more_tables"]) == (
        4_500,
        1_500,
        20,
        1_480,
    )
    assert message["dead_letters"] == {
        "records": 1_000,
        "reasons": {f"Error{i}": 1 for i in range(MAX_SHOWN)},
        "more": 980,
    }
    assert (message["backlog"]["records"], message["backlog"]["more"]) == (1_500, 1_480)
    assert len(json.dumps(message)) < MAX_CHARACTERS
    texts = [line.text for line in report.lines()]
    assert texts[0] == "in all: 4,500 rows in 1,500 files of 1,500 tables"
    assert texts[1].startswith("dead letters: 1,000 records: 1 Error0, ")
    assert len(texts) == MAX_SHOWN + 4 and max(map(len, texts)) <= WIDTH


def test_run_report_of_one_table_repeats_nothing() -> None:
    message = RunReport(plan_of(), committed("db.t"), {}, status_of(many(1)))
    assert [line.text for line in message.lines()] == ["lag: 0 records in 1 partition"]


def test_run_report_adds_up_slices_of_one_table() -> None:
    message = RunReport(plan_of(), committed("db.t", "db.t")).to_json()
    assert (message["rows"], message["tables"]["db.t"]["rows"], message["lag"]) == (6, 6, None)


# -- plans -------------------------------------------------------------------------------------------------------------


def test_plan_log_says_what_is_read_and_the_lag() -> None:
    ranges = tuple(OffsetRange(TOPIC, TOPIC_ID, p, 0, 1_000) for p in range(2))
    status = status_of(tuple(PartitionStatus(TOPIC, p, 0, 0, 1_500, 1_500) for p in range(3)))
    plan = plan_of(Slice(0, SliceKind.LIVE, ranges, ("db.t",)))
    assert [line.text for line in plan_lines(plan, status)] == [
        f"plan {'p' * 32}, commit id {plan.commit_id}, group connect-one",
        "slice 0 (live): 2,000 offsets for db.t",
        "  pizzas-0[0, 1000): 1,000 offsets, log end 1500, lag after this run 500",
        "  pizzas-1[0, 1000): 1,000 offsets, log end 1500, lag after this run 500",
        "lag: 4,500 records in 3 of 3 partitions; this run reads 2,000 offsets of them",
    ]
    assert len(list(plan_lines(plan, None))) == 4


def test_plan_log_of_an_idle_run_says_so_once() -> None:
    positions = tuple(Position(TopicPartition(TOPIC, p), 7, METADATA.encode()) for p in range(25))
    texts = [line.text for line in plan_lines(plan_of(positions=positions), status_of(()))]
    assert texts[1] == "  pizzas-0: nothing new above 7" and texts[-1] == "  and 5 more partitions"


def test_plan_log_warns_of_tables_behind() -> None:
    metadata = METADATA.behind({"db.bad": PartitionBacklog(4, "r")}).encode()
    positions = tuple(Position(TopicPartition(TOPIC, p), 10, metadata) for p in range(2))
    assert backlogs(positions) == tuple(Backlog("db.bad", TOPIC, p, 4, 10) for p in range(2))
    (warning,) = [line for line in plan_lines(plan_of(positions=positions), None) if line.level == logging.WARNING]
    assert warning.text == "table db.bad is behind by 12 records of 2 partitions: pizzas-0[4, 10), pizzas-1[4, 10)"


def test_plan_log_of_two_thousand_partitions_is_short() -> None:
    ranges = tuple(OffsetRange(TOPIC, TOPIC_ID, p, 0, 10) for p in range(2_000))
    slices = tuple(Slice(i, SliceKind.CATCH_UP, ranges, (f"db.{'t' * 200}{i}",)) for i in range(50))
    texts = [line.text for line in plan_lines(plan_of(*slices), status_of(many(2_000)))]
    assert len(texts) < 500 and max(map(len, texts)) <= WIDTH
    assert "and 30 more slices with 600,000 offsets" in texts


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def aging(tmp_path: Path) -> Iterator[AgingLake]:
    """Give a lake with two tables of three commits."""
    (tmp_path / "warehouse").mkdir()
    with closing(AgingLake(tmp_path)) as made:
        made.create()
        made.create(name=OTHER_TABLE)
        made.commit(0, 1, 2)
        yield made


def test_latest_reads_the_commits_of_its_own_group(aging: AgingLake) -> None:
    aging.commit(0, group="connect-others", partition=1)
    append_foreign(aging, 0)
    (table,) = latest(aging.connector(), commits=2).tables or ()
    assert [(one.kind, one.slice_id, one.rows, one.files) for one in table.commits] == [
        ("live", f"{GROUP}-main-{run}/0", 1, 1) for run in (2, 1)
    ]
    assert table.valid_through == datetime(2024, 1, 2, 3, 4, 5, 123_000, UTC)
    assert (table.snapshot_id, table.problem) == (aging.kept()[-1], None), "the head is another's"


def test_latest_names_a_table_that_was_rolled_back(aging: AgingLake) -> None:
    first = aging.kept()[0]
    roll_back(aging, first)
    (table,) = latest(aging.connector()).tables or ()
    assert "was rolled back" in str(table.problem) and table.snapshot_id == first


def test_latest_broken_table_hides_no_other(aging: AgingLake) -> None:
    Path(urlsplit(aging.load(OTHER_TABLE).metadata_location).path).unlink()
    both = aging.connector(**{"iceberg.tables": f"{TABLE},{OTHER_TABLE}"})
    tables = {one.name: one for one in latest(both).tables or ()}
    assert (tables[TABLE].problem, tables[TABLE].commits[0].rows) == (None, 1)
    assert "could not load table" in str(tables[OTHER_TABLE].problem) and tables[OTHER_TABLE].exists


def test_latest_finds_the_tables_that_records_name(aging: AgingLake) -> None:
    keys = {**aging.connector().properties, "iceberg.tables.route-field": "to", "floe.route.namespace": "rpc"}
    named = parse_connector({name: value for name, value in keys.items() if name != "iceberg.tables"})
    assert [one.name for one in latest(named).tables or ()] == [TABLE], "the other one has no ledger of it"
    Path(urlsplit(aging.load(OTHER_TABLE).metadata_location).path).unlink()
    assert {one.name: one.problem is None for one in latest(named).tables or ()} == {TABLE: True, OTHER_TABLE: False}


def test_latest_without_catalog_says_why(tmp_path: Path) -> None:
    with closing(AgingLake(tmp_path / "nowhere" / "at" / "all")) as lake:
        status = latest(lake.connector())
    assert status.tables is None and len(status.problems) == 1
