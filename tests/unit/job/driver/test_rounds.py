"""What runs again after a round, and what tables get in between: values in, values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from pyiceberg.table import Table

from floe.kafka.settings import KafkaSettings
from floe.model.accounting import TableCounts
from floe.model.ledger import Ledger
from floe.schema_registry.exceptions import UnknownSchemas
from floe.tables.exceptions import TableRefused
from floe.tables.table_state import TableState
from floe_job.contract.result import Failure, SchemaLookups, TaskResult
from floe_job.contract.task import TableResult, Task
from floe_job.driver.inputs import SliceDeadLetters, SliceInputs
from floe_job.driver.job import SliceJob
from floe_job.driver.rounds import MAX_ROUNDS, Done, Round, next_round, raise_failures, run_rounds
from floe_job.driver.slice_tables import SliceTable, SliceTables
from floe_job.driver.table_lookup import TableLookup
from floe_job.exceptions import BadRecords, SliceFailed, SliceRefused
from floe_job.schema.evolution import SchemaChanges
from floe_job.source.record_batch import RangePart
from tests.support.tables.lake import TABLE, TOPIC, Lake
from tests.support.tables.slices import make_plan

EXISTS = cast("Table", object())
NEW = "rpc.new"


@pytest.fixture
def job(lake: Lake) -> SliceJob:
    """Give the job of one live slice."""
    plan, connector = make_plan((0, 0, 100_000)), lake.connector()
    return SliceJob(plan, plan.slices[0], connector, KafkaSettings.of(connector, {"bootstrap.servers": "127.0.0.1:1"}))


def table(name: str, there: Table | None = EXISTS, problem: TableRefused | None = None) -> SliceTable:
    return SliceTable(TableState(name, there, "main", {TOPIC: "r"}, Ledger("C1"), problem))


def tables(*found: SliceTable) -> SliceTables:
    return SliceTables({one.name: one for one in found}, are_all=True)


def wrote(index: int, *names: str, rows: int = 5) -> TaskResult:
    """Return the result of a task that lacked nothing."""
    return TaskResult(index, tables={name: TableResult(TableCounts(assigned=rows, rows=rows)) for name in names})


def lacked(index: int, *names: str) -> TaskResult:
    """Return the result of a task that met tables which it was not given."""
    return TaskResult(index, unknown=names)


def test_next_round_when_nothing_lacks_is_done(job: SliceJob) -> None:
    given = tables(table(TABLE))
    results = [wrote(1, TABLE), wrote(0, TABLE)]
    assert next_round(job, Round(given, (0, 1)), results, given) == Done(given, (results[1], results[0]))


def test_next_round_runs_those_that_lacked_columns(job: SliceJob) -> None:
    given = tables(table(TABLE))
    found = next_round(job, Round(given, (0, 1)), [wrote(0, TABLE), lacked(1, NEW)], given)
    assert isinstance(found, Round)
    assert (found.parts, set(found.results)) == ((1,), {0, 1})


@pytest.mark.parametrize("later", [table(TABLE), table(TABLE, None, TableRefused("gone"))], ids=["created", "refuses"])
def test_next_round_of_created_or_refusing_table_runs_all(job: SliceJob, later: SliceTable) -> None:
    given = tables(table(TABLE, None) if later.table else table(TABLE))
    found = next_round(job, Round(given, (0, 1)), [wrote(0, TABLE), lacked(1, TABLE)], tables(later))
    assert isinstance(found, Round)
    assert found.parts == (0, 1)


def test_next_round_keeps_results_of_earlier_rounds(job: SliceJob) -> None:
    given, first = tables(table(TABLE)), wrote(0, TABLE)
    found = next_round(job, Round(given, (1,), {0: first, 1: lacked(1, NEW)}), [wrote(1, TABLE)], given)
    assert found == Done(given, (first, wrote(1, TABLE)))


def test_next_round_of_named_table_without_columns_fails(job: SliceJob) -> None:
    given = tables(table(TABLE, None))
    with pytest.raises(BadRecords, match="none of the 5 records has a field"):
        next_round(job, Round(given, (0,)), [wrote(0, TABLE)], given)


def test_next_round_drops_routed_table_without_columns(job: SliceJob, lake: Lake) -> None:
    keys = {"iceberg.tables": "", "iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "to"}
    job = replace(job, connector=lake.connector(**keys), slice=replace(job.slice, tables=()))
    given = tables(table(TABLE), table(NEW, None))
    found = next_round(job, Round(given, (0, 1)), [wrote(0, TABLE), wrote(1, TABLE, NEW)], given)
    assert isinstance(found, Round)
    assert (list(found.tables.by_name), found.parts) == ([TABLE], (1,))


def test_failures_raise_what_is_final_first() -> None:
    passing = TaskResult(0, failure=Failure("away", retryable=True))
    with pytest.raises(SliceRefused, match="never"):
        raise_failures([passing, TaskResult(1, failure=Failure("never", retryable=False))])
    with pytest.raises(SliceFailed, match="away"):
        raise_failures([passing, wrote(1)])


# -- the loop ---------------------------------------------------------------------------------------------------------


@dataclass
class Catalog:
    """Replaces the catalog: a table that records name is there once it was looked up."""

    asked: list[set[str]] = field(default_factory=list)

    def discover(self, given: SliceTables, names: set[str]) -> SliceTables:
        self.asked.append(names)
        return given.including(table(name, None) for name in names)

    def evolve(self, given: SliceTables, _: Mapping[str, SchemaChanges]) -> SliceTables:
        return given


@dataclass
class Spark:
    """Replaces Spark: gives the results of one round after the other, and keeps what was asked for."""

    rounds: list[list[TaskResult]]
    ran: list[list[int]] = field(default_factory=list)

    def run(self, tasks: Sequence[Task]) -> list[TaskResult]:
        self.ran.append([task.index for task in tasks])
        return self.rounds[min(len(self.ran), len(self.rounds)) - 1]


def inputs(job: SliceJob, catalog: Catalog) -> SliceInputs:
    (r,) = job.slice.ranges
    parts = ((RangePart(r, 0, 50_000),), (RangePart(r, 50_000, 100_000),))
    given: Any = SliceTables(are_all=True)
    return SliceInputs(job, SliceDeadLetters(), given, parts, cast("TableLookup", catalog))


def test_rounds_look_up_tables_and_run_only_what_lacked(job: SliceJob) -> None:
    catalog, spark = Catalog(), Spark([[lacked(0, NEW), wrote(1)], [wrote(0)]])
    done = run_rounds(inputs(job, catalog), spark.run)
    assert (catalog.asked, spark.ran) == ([{NEW}], [[0, 1], [0]])
    assert [result.index for result in done.results] == [0, 1]
    assert list(done.tables.by_name) == [NEW]


def test_rounds_that_never_end_fail(job: SliceJob) -> None:
    spark = Spark([[lacked(0, NEW), wrote(1)], [lacked(0, NEW)]])
    with pytest.raises(SliceFailed, match=f"after {MAX_ROUNDS} rounds.*Nothing was announced"):
        run_rounds(inputs(job, Catalog()), spark.run)
    assert len(spark.ran) == MAX_ROUNDS


def test_rounds_of_unknown_schemas_alone_fail(job: SliceJob) -> None:
    lost = SchemaLookups(False, (7,))
    spark = Spark([[replace(wrote(0), schemas=lost), replace(wrote(1), schemas=SchemaLookups(False, (3, 7)))]])
    with pytest.raises(UnknownSchemas, match=r"such as 3, 7: .*Nothing was announced"):
        run_rounds(inputs(job, Catalog()), spark.run)


def test_rounds_with_a_known_schema_in_an_earlier_one_go_on(job: SliceJob) -> None:
    lost = SchemaLookups(False, (7,))
    found = replace(wrote(1), schemas=SchemaLookups(True))
    spark = Spark([[replace(lacked(0, NEW), schemas=lost), found], [replace(wrote(0), schemas=lost)]])
    assert len(run_rounds(inputs(job, Catalog()), spark.run).results) == 2
