"""Runs on the real broker: what is read lands once, what is repeated adds nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import HourTransform, IdentityTransform, MonthTransform
from pyiceberg.types import DateType, DecimalType, LongType, NestedField, TimestamptzType

from floe.catalogs.client import CatalogClient
from floe.commit.table_commit import commit_table
from floe.control.table_work import TableWork
from floe.exceptions import FloeError
from floe.model.exceptions import Superseded
from floe.model.ledger_codec import property_name, read_properties
from floe.tables.exceptions import SliceNotWritten
from floe.tables.lake import Lake
from tests.support.runs.pipeline import MakePipeline, Pipeline


def orders(start: int, end: int) -> list[dict[str, object]]:
    return [{"id": i, "sauce": "extra", "price": i / 4} for i in range(start, end)]


def test_run_moves_every_record_once_and_next_run_only_new_ones(pipeline: MakePipeline) -> None:
    pizzas = pipeline(partitions=3)
    pizzas.produce(orders(0, 1000))
    first = pizzas.run()
    pizzas.produce(orders(1000, 1500))
    pizzas.run()
    assert pizzas.column("id") == list(range(1500))
    assert len(pizzas.table().snapshots()) == 2
    assert sum(pizzas.position().values()) == 1500
    assert first.slices[0].records == 1000


def test_run_without_new_records_makes_no_snapshot(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 10))
    pizzas.run()
    before = pizzas.position()
    assert pizzas.run().slices == ()
    assert len(pizzas.table().snapshots()) == 1
    assert pizzas.position() == before


def test_an_empty_topic_plans_nothing_and_creates_no_table(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    assert pizzas.run().slices == ()
    assert CatalogClient.of(pizzas.connector).load("db.t") is None
    assert pizzas.position() == {0: 0}


def test_limit_is_shared_so_that_busy_partition_starves_no_other(pipeline: MakePipeline) -> None:
    pizzas = pipeline(partitions=2)
    pizzas.produce(orders(0, 900), partition=0)
    pizzas.produce(orders(900, 1000), partition=1)
    plan = pizzas.run(max_records=300)
    assert {r.partition: len(r) for r in plan.slices[0].ranges} == {0: 200, 1: 100}
    pizzas.run()
    assert pizzas.column("id") == list(range(1000))


def test_a_repeated_commit_finds_everything_done(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 100))
    plan = pizzas.run()
    pizzas.produce(orders(100, 200))
    assert pizzas.commit(plan).done
    assert pizzas.column("id") == list(range(100))


def test_a_writer_that_announces_twice_adds_its_rows_once(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 100))
    plan = pizzas.plan()
    pizzas.write(plan)
    pizzas.write(plan)
    pizzas.commit(plan)
    assert pizzas.column("id") == list(range(100))


def test_zombie_announcement_after_commit_is_not_read_later(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 100))
    plan = pizzas.run()
    pizzas.write(plan)
    pizzas.produce(orders(100, 150))
    pizzas.run()
    assert pizzas.column("id") == list(range(150))


def test_run_killed_between_table_and_position_adds_once(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 100))
    plan = pizzas.plan()
    announcement = pizzas.write(plan)[0]
    commit_table(
        Lake.of(pizzas.connector, plan.cluster_id), TableWork.of(plan, announcement, announcement.files[0]), 10
    )
    assert pizzas.position() == {0: 0}

    pizzas.produce(orders(100, 130))
    again = pizzas.plan()
    assert again.slices[0].ranges[0].start == 0
    counts = pizzas.write(again)[0].tables["db.t"].counts
    pizzas.commit(again)
    assert (counts.assigned, counts.held, counts.rows) == (130, 100, 30)
    assert pizzas.column("id") == list(range(130))


def test_commit_repeated_after_kill_moves_the_position(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 100))
    plan = pizzas.plan()
    announcement = pizzas.write(plan)[0]
    first = commit_table(
        Lake.of(pizzas.connector, plan.cluster_id), TableWork.of(plan, announcement, announcement.files[0]), 10
    )
    report = pizzas.commit(plan)
    assert [(t.already, t.snapshot_id) for t in report.committed] == [(True, first.snapshot_id)]
    assert pizzas.position() == {0: 100}
    assert len(pizzas.table().snapshots()) == 1


def test_two_committers_of_the_same_announcements_land_them_once(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 500))
    plan = pizzas.plan()
    pizzas.write(plan)
    errors: list[FloeError] = []
    start = threading.Barrier(2)

    def commit() -> None:
        start.wait()
        try:
            pizzas.commit(plan)
        except FloeError as error:
            errors.append(error)

    threads = [threading.Thread(target=commit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        # one may have been fenced by the other; tried again, as Airflow would, it finds everything done
        assert pizzas.commit(plan).done, errors
    assert pizzas.column("id") == list(range(500))
    assert len(pizzas.table().snapshots()) == 1
    assert pizzas.position() == {0: 500}


def test_older_plan_is_superseded_after_its_range_was_read(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 100))
    old = pizzas.plan()
    pizzas.run(max_records=40)
    pizzas.write(old)
    with pytest.raises(Superseded, match="superseded"):
        pizzas.commit(old)
    pizzas.run()
    assert pizzas.column("id") == list(range(100))


def test_unwritten_slice_fails_commit_and_is_read_by_next_run(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 100))
    plan = pizzas.plan()
    with pytest.raises(SliceNotWritten, match=r"\[0, 100\)"):
        pizzas.committer(plan).commit([])
    assert pizzas.position() == {0: 0}
    pizzas.run()
    assert pizzas.column("id") == list(range(100))


def test_a_partition_added_between_runs_is_read_from_its_start(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 10))
    pizzas.run()
    admin.create_partitions([NewPartitions(pizzas.topic, 2)])[pizzas.topic].result(30)
    pizzas.produce(orders(10, 30), partition=1)
    pizzas.run()
    assert pizzas.column("id") == list(range(30))
    assert pizzas.position() == {0: 10, 1: 20}


def test_latest_begins_at_the_end_and_pins_that_position_at_once(pipeline: MakePipeline) -> None:
    pizzas = pipeline(**{"consumer.override.auto.offset.reset": "latest"})
    pizzas.produce(orders(0, 10))
    assert pizzas.run().slices == ()
    pizzas.produce(orders(10, 15))
    pizzas.run()
    assert pizzas.column("id") == list(range(10, 15))


def test_later_columns_are_one_update_and_old_rows_read_null(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce([{"id": 1}])
    pizzas.run()
    schemas = len(pizzas.table().schemas())
    pizzas.produce([{"id": 2, "tip": 1.5}, {"id": 3, "driver": {"name": "Ann", "shift": 2}}])
    pizzas.run()
    rows = sorted(pizzas.table().scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows[0] == {"id": 1, "tip": None, "driver": None}
    assert rows[1]["tip"] == 1.5
    assert rows[2]["driver"] == {"name": "Ann", "shift": 2}
    assert len(pizzas.table().schemas()) == schemas + 1


@pytest.mark.parametrize("partition_by", ["sauce", "bucket(id, 4)", "truncate(sauce, 2)", "sauce, bucket(id, 2)"])
def test_tables_are_partitioned_as_asked_when_they_are_created(pipeline: MakePipeline, partition_by: str) -> None:
    pizzas = pipeline(partitions=2, **{"iceberg.tables.default-partition-by": partition_by})
    pizzas.produce([{"id": i, "sauce": ["red", "white", None][i % 3]} for i in range(100)])
    pizzas.run()
    assert pizzas.column("id") == list(range(100))
    assert not pizzas.table().spec().is_unpartitioned()


def test_a_branch_gets_the_rows_and_main_stays_as_it_was(pipeline: MakePipeline) -> None:
    pizzas = pipeline(**{"iceberg.tables.default-commit-branch": "audit"})
    pizzas.produce(orders(0, 10))
    pizzas.run()
    pizzas.produce(orders(10, 20))
    pizzas.run()
    table = pizzas.table()
    head = table.metadata.refs["audit"].snapshot_id
    assert table.scan(snapshot_id=head).to_arrow().num_rows == 20
    assert table.scan().to_arrow().num_rows == 0


def test_the_ledger_is_one_interval_however_many_runs_there_were(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    for i in range(3):
        pizzas.produce(orders(i * 10, i * 10 + 10))
        pizzas.produce([None, None])
        pizzas.run()
    ledger = read_properties(property_name(pizzas.connector.group_id, "main"), pizzas.table().properties)
    assert ledger is not None
    (holding,) = ledger.holdings.values()
    (held,) = holding.held.values()
    assert list(held) == [(0, 36)]


def test_run_of_tombstones_moves_position_without_snapshot(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 5))
    pizzas.run()
    pizzas.produce([None] * 7)
    plan = pizzas.plan()
    announcement = pizzas.write(plan)[0]
    pizzas.commit(plan)
    assert announcement.counts[0][1].tombstones == 7
    assert len(pizzas.table().snapshots()) == 1
    assert pizzas.position() == {0: 12}


def test_aborted_records_are_invisible_and_counted(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.abort(orders(1000, 1010), partition=0)
    pizzas.produce(orders(0, 5))
    pizzas.abort(orders(2000, 2010), partition=0)
    plan = pizzas.plan()
    counts = pizzas.write(plan)[0].counts[0][1]
    pizzas.commit(plan)
    assert (counts.routed, counts.invisible) == (5, 22)
    assert pizzas.column("id") == list(range(5))
    assert pizzas.run().slices == ()


def test_the_last_record_before_an_aborted_tail_ends_the_range(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.abort(orders(0, 10), partition=0)
    plan = pizzas.run()
    assert len(plan.slices) == 1
    assert pizzas.position() == {0: 11}


def test_a_topic_added_to_the_connector_is_read_from_its_start(
    pipeline: MakePipeline, topic: Callable[..., str]
) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 10))
    pizzas.run()
    second = Pipeline(pizzas.bootstrap, topic(1), pizzas.connector)
    second.produce(orders(10, 30))
    both = pizzas.changed(topics=f"{pizzas.topic},{second.topic}")
    both.run()
    assert both.column("id") == list(range(30))


def test_table_made_by_hand_keeps_its_types_and_partitions(pipeline: MakePipeline) -> None:
    pizzas = pipeline(partitions=2)
    tables = CatalogClient.of(pizzas.connector)
    tables.catalog.create_namespace("db")
    schema = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "at", TimestamptzType(), required=False),
        NestedField(3, "day", DateType(), required=False),
        NestedField(4, "price", DecimalType(9, 2), required=False),
    )
    spec = PartitionSpec(
        PartitionField(2, 1000, HourTransform(), "at_hour"),
        PartitionField(3, 1001, MonthTransform(), "day_month"),
        PartitionField(4, 1002, IdentityTransform(), "price"),
    )
    tables.catalog.create_table("db.t", schema, partition_spec=spec)
    pizzas.produce(
        {"id": i, "at": f"2024-01-0{1 + i % 3}T0{i % 5}:00:00Z", "day": "2024-02-29", "price": f"{i % 2}.50"}
        for i in range(60)
    )
    pizzas.run()
    rows = pizzas.table().scan(row_filter="at >= '2024-01-02T00:00:00+00:00' and price = 0.50").to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == [i for i in range(60) if i % 3 and i % 2 == 0]
    assert {row["day"] for row in rows} == {date(2024, 2, 29)}
    partitions = {tuple(row.values()) for row in pizzas.table().inspect.partitions().column("partition").to_pylist()}
    assert len(partitions) == 30
