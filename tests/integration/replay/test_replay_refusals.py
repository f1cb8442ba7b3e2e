"""What a replay refuses, what its dry run reports, and what neither of them touches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from confluent_kafka.cimpl import NewTopic

from floe.control.topic_reader import control_ends, read_control
from floe.exceptions import FloeError
from floe.kafka.admin import Cluster
from floe.model.exceptions import PlanRefused
from floe.model.ledger_codec import property_name, read_properties, write_properties
from floe.planning.replay_plan import draft_replay, replay_id
from floe.tables.exceptions import TablesBehind
from stack.progress import wait_until
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import orders, read_ids
from tests.support.runs.replays import drafted, drop, replay, trace


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"ranges": {"0": [20, 10]}}, "partition 0 is reversed"),
        ({"ranges": {"0": [-1, 10]}}, "offsets are not negative"),
        (
            {"ranges": {"0": [50, 101]}},
            "ends past the position 100: those records will be read by the connector's main DAG",
        ),
        ({"ranges": {"0": [10**15, 10**16]}}, "ends past the position 100"),
        ({"ranges": {"3": [0, 1]}}, "partition 3 of topic .* does not exist: it has the partitions 0 to 2"),
        ({"topic": "other-topic"}, "topic 'other-topic' is not configured in this connector"),
        ({"tables": ["db.other"]}, "table 'db.other' is not configured in this connector"),
        ({"from_time": "2999-01-01T00:00:00Z"}, "has a time"),
        ({"from_time": "2026-01-01"}, "has no time zone"),
        ({"ranges": {"0": [0, 1]}, "from_time": "2026-01-01T00:00:00Z"}, "give either"),
        ({"ranges": {"00": [0, 1]}}, "'00' is no partition"),
    ],
)
@pytest.mark.parametrize("overlap", ["skip", "append"])
def test_impossible_replay_is_refused_with_reason_and_no_write(
    eaten: Pipeline, params: dict[str, Any], words: str, overlap: str
) -> None:
    before = trace(eaten)
    with pytest.raises(PlanRefused, match=words):
        drafted(eaten, overlap=overlap, **params)
    assert trace(eaten) == before


def test_open_start_begins_at_log_start_where_offsets_are_gone(eaten: Pipeline, admin: AdminClient) -> None:
    gone = ck.TopicPartition(eaten.topic, 0, 30)
    admin.delete_records([gone])[gone].result(30)
    with pytest.raises(PlanRefused, match=r"begins below the log start 30: .*begin it at 30 at least"):
        drafted(eaten, ranges={"0": [0, 50]}, overlap="append")
    drop(eaten)
    replay(eaten, ranges={"0": [None, 50]})
    assert eaten.column("id") == list(range(30, 50))


def test_new_records_come_by_the_connectors_own_dag_only(eaten: Pipeline) -> None:
    eaten.produce(orders(300, 310), partition=2)
    with pytest.raises(PlanRefused, match=r"\[0, 110\) of .*ends past the position 100"):
        drafted(eaten, ranges={"2": [0, 110]})
    replay(eaten, overlap="append", ranges={"2": [90, None]})
    eaten.run()
    assert eaten.column("id") == sorted([*range(310), *range(290, 300)])


def test_a_connector_that_never_ran_has_nothing_to_replay(pipeline: MakePipeline) -> None:
    new = pipeline()
    new.produce(orders(0, 10))
    with pytest.raises(PlanRefused, match=r"has a position: no run of the connector has read it yet"):
        drafted(new)


def test_a_partition_that_is_new_is_left_out_and_refused_by_name(eaten: Pipeline, admin: AdminClient) -> None:
    admin.create_partitions([NewPartitions(eaten.topic, 4)])[eaten.topic].result(30)
    assert {f.range.partition for f in drafted(eaten).forecasts} == {0, 1, 2}
    with pytest.raises(PlanRefused, match=r"-3 has no position: no run has read it yet"):
        drafted(eaten, ranges={"3": [0, None]})


def test_recreated_topic_has_none_of_the_read_offsets(eaten: Pipeline, admin: AdminClient) -> None:
    admin.delete_topics([eaten.topic])[eaten.topic].result(30)
    cluster = Cluster.of_source(eaten.settings)
    assert wait_until(lambda: not cluster.topics([eaten.topic]), 30)
    admin.create_topics([NewTopic(eaten.topic, num_partitions=3)])[eaten.topic].result(30)
    assert wait_until(lambda: bool(cluster.topics([eaten.topic])), 30)
    before = eaten.table().metadata
    # the broker drops a deleted topic's positions, if not at once
    with pytest.raises(PlanRefused, match=r"was re-created|has a position: .* or the positions were lost"):
        drafted(eaten)
    assert eaten.table().metadata == before


def test_a_position_that_somebody_else_wrote_is_refused(eaten: Pipeline, admin: AdminClient) -> None:
    foreign = ck.ConsumerGroupTopicPartitions(eaten.connector.group_id, [ck.TopicPartition(eaten.topic, 0, 50)])
    admin.alter_consumer_group_offsets([foreign])[eaten.connector.group_id].result(30)
    with pytest.raises(PlanRefused, match="no metadata of floe's"):
        drafted(eaten)


def test_offsets_of_other_route_are_refused_by_skip_only(eaten: Pipeline) -> None:
    name = property_name(eaten.connector.group_id, "main")
    table = eaten.table()
    ledger = read_properties(name, table.properties)
    assert ledger is not None
    routes = {route for holding in ledger.holdings.values() for route in holding.held}
    with table.transaction() as change:
        change.set_properties(write_properties(name, ledger.rerouted(dict.fromkeys(routes, "before"))))
    before = trace(eaten)
    with pytest.raises(PlanRefused, match=r"contains the offsets \[10, 20\) .*set overlap to replace, .*or to append"):
        drafted(eaten, ranges={"0": [10, 20]})
    assert trace(eaten) == before
    replay(eaten, ranges={"0": [10, 20]}, overlap="append")
    assert eaten.column("id") == sorted([*range(300), *range(10, 20)])


def test_backlog_is_left_to_catch_up_and_other_table_is_replayed(pipeline: MakePipeline) -> None:
    both = pipeline(**{"iceberg.tables": "db.a,db.b"})
    both.produce(orders(0, 50))
    both.run()
    both.produce(orders(50, 100))
    plan = both.plan()
    both.write(plan)
    drop(both, "db.b")
    with pytest.raises(TablesBehind):
        both.commit(plan)
    with pytest.raises(PlanRefused, match=r"table 'db\.b' is behind on .*-0 from 50 on.*End the range at 50 at most"):
        drafted(both)
    replay(both, tables=["db.a"], ranges={"0": [90, 100]}, overlap="append")
    replay(both, tables=["db.b"], ranges={"0": [0, 50]})
    assert read_ids(both, "db.b") == list(range(50))
    while both.run().slices:
        pass
    assert read_ids(both, "db.b") == list(range(100))
    assert read_ids(both, "db.a") == sorted([*range(100), *range(90, 100)])
    assert drafted(both).plan.slices == ()


def test_too_many_slices_are_refused(eaten: Pipeline) -> None:
    eaten.produce(orders(300, 1500), partition=0)
    eaten.run()
    with pytest.raises(PlanRefused, match="more than 1000 slices of 1 records"):
        drafted(eaten, max_records=1, overlap="append")


def test_a_missing_table_that_may_not_be_created_is_refused(eaten: Pipeline) -> None:
    drop(eaten)
    strict = eaten.changed(**{"iceberg.tables.auto-create-enabled": "false"})
    with pytest.raises(FloeError, match=r"table 'db\.t' does not exist"):
        drafted(strict)


def test_dry_run_reports_per_table_and_partition_writes_nothing(eaten: Pipeline) -> None:
    drop(eaten)
    replay(eaten, ranges={"0": [0, 40]})
    before = trace(eaten)
    message = draft_replay(eaten.connector, eaten.settings, {"max_records": 70}, dry_run=True).to_json()
    assert trace(eaten) == before
    assert message["tables"][0] == {
        "table": "db.t",
        "partition": 0,
        "range": [0, 100],
        "read": 60,
        "held": 40,
        "write": 60,
    }
    assert (message["slices"], message["overlap"], message["branch"]) == (4, "skip", "main")
    again = {"ranges": {"0": [0, 100]}, "overlap": "append"}
    (row,) = draft_replay(eaten.connector, eaten.settings, again, dry_run=True).to_json()["tables"]
    assert (row["read"], row["held"], row["write"]) == (100, 40, 100)


def test_replay_sends_start_and_end_events_of_its_own_kind(eaten: Pipeline) -> None:
    drop(eaten)
    plan = replay(eaten)
    topic = eaten.connector.control_topic
    ends = control_ends(Cluster.of_control(eaten.settings), topic)
    found = [m.headers for m in read_control(eaten.settings, topic, plan.control_ends, ends)]
    assert {headers["floe-kind"] for headers in found} == {"skip"}
    assert {headers["floe-slice"] for headers in found} == {f"{plan.plan_id}/0"}
    assert len(found) >= 4


def test_replay_ids_are_uuids_of_version_7_that_rise() -> None:
    import time
    import uuid

    earlier = uuid.UUID(replay_id())
    time.sleep(0.002)  # ids rise by the millisecond
    later = uuid.UUID(replay_id())
    assert earlier < later
    assert (earlier.version, earlier.variant) == (7, uuid.RFC_4122)
    assert abs((earlier.int >> 80) / 1000 - time.time()) < 60


def test_an_unwritten_warehouse_is_left_alone(eaten: Pipeline, tmp_path: Path) -> None:
    files = sorted(tmp_path.rglob("*.parquet"))
    drafted(eaten, overlap="append")
    assert sorted(tmp_path.rglob("*.parquet")) == files


def test_tables_that_no_record_names_are_refused(pipeline: MakePipeline) -> None:
    one = pipeline(**{"iceberg.tables": None, "iceberg.tables.route-field": "to", "floe.route.namespace": "db"})
    one.produce([{"id": 1, "to": "t"}])
    one.run()
    for name in ("evil", "a..b", "", "db.T", "other.t", "db.\0x"):
        with pytest.raises(PlanRefused, match="is not named by records"):
            replay(one, tables=[name])
