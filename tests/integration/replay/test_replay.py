"""Replays on the real broker: what a table lacks is filled, what was asked twice is there twice, nothing else moves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from confluent_kafka.cimpl import NewTopic

from floe.catalogs.client import Tables
from floe.config import Connector, restore_config
from floe.config.exceptions import ConfigError
from floe.control.topic_reader import control_ends, read_control
from floe.exceptions import FloeError
from floe.kafka.admin import Cluster
from floe.model.exceptions import PlanRefused
from floe.model.ledger_codec import property_name, read_properties, write_properties
from floe.model.plan import Plan
from floe.planning.replay_plan import draft_replay, open_replay, replay_id
from floe.tables.exceptions import SliceNotWritten, TableRefused, TablesBehind
from stack.progress import wait_until
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import orders, read_ids
from tests.support.runs.replays import drafted, drop, opened, replay, trace

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def eaten(pipeline: MakePipeline) -> Pipeline:
    """A connector that has read 300 records of three partitions."""
    pizzas = pipeline(partitions=3)
    for partition in range(3):
        pizzas.produce(orders(partition * 100, partition * 100 + 100), partition=partition)
    pizzas.run()
    return pizzas


# -- skip -------------------------------------------------------------------------------------------------------------


def test_dropped_table_is_refilled_once_and_no_position_moves(eaten: Pipeline) -> None:
    before = eaten.position()
    drop(eaten)
    plan = replay(eaten)
    assert eaten.column("id") == list(range(300))
    assert eaten.position() == before
    assert [s.kind for s in plan.slices] == ["skip"]
    assert drafted(eaten).plan.slices == ()


def test_a_skip_over_what_a_table_holds_has_nothing_to_do(eaten: Pipeline) -> None:
    before = trace(eaten)
    forecasts = drafted(eaten, ranges={"0": [10, 20], "2": [None, None]}).forecasts
    assert [(f.read, f.held, f.write) for f in forecasts] == [(0, 10, 0), (0, 100, 0)]
    assert replay(eaten, ranges={"0": [10, 20], "2": [None, None]}).slices == ()
    assert trace(eaten) == before


def test_overlapping_ranges_fill_the_table_without_duplicates(eaten: Pipeline) -> None:
    drop(eaten)
    replay(eaten, ranges={"1": [20, 50]})
    assert eaten.column("id") == list(range(120, 150))
    replay(eaten, ranges={"1": [0, 100], "0": [90, 100]})
    assert eaten.column("id") == list(range(90, 200))
    replay(eaten)
    assert eaten.column("id") == list(range(300))


def test_replay_is_cut_into_slices_with_one_snapshot_each(eaten: Pipeline) -> None:
    drop(eaten)
    plan = replay(eaten, max_records=70)
    assert [s.records for s in plan.slices] == [70, 70, 70, 70, 20]
    assert eaten.column("id") == list(range(300))
    snapshots = eaten.table().snapshots()
    assert len(snapshots) == 5
    for snapshot, slice_ in zip(snapshots, plan.slices, strict=True):
        assert snapshot.summary is not None
        found = snapshot.summary.additional_properties
        assert (found["floe.kind"], found["floe.slice"]) == ("skip", plan.slice_id(slice_))
        counts = json.loads(found["floe.books"])
        assert all(sum(found_counts.values()) == end - start for _, _, start, end, found_counts in counts["ranges"])
        assert sum(counts["table"].get(n, 0) for n in ("rows", "held", "dead", "owed")) == counts["table"]["assigned"]


def test_tombstones_and_aborts_are_counted_but_not_added(
    pipeline: MakePipeline,
) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 10))
    pizzas.abort(orders(10, 20), partition=0)
    pizzas.produce([None] * 5)
    pizzas.produce(orders(20, 30))
    pizzas.run()
    drop(pizzas)
    replay(pizzas, max_records=7)
    assert pizzas.column("id") == [*range(10), *range(20, 30)]
    assert replay(pizzas, ranges={"0": [10, 21]}, overlap="append").slices


def test_only_the_chosen_table_is_filled(pipeline: MakePipeline) -> None:
    both = pipeline(**{"iceberg.tables": "db.a,db.b"})
    both.produce(orders(0, 50))
    both.run()
    for table in ("db.a", "db.b"):
        drop(both, table)
    replay(both, tables=["db.b"])
    assert Tables.of(both.connector).load("db.a") is None
    assert read_ids(both, "db.b") == list(range(50))
    replay(both)
    assert read_ids(both, "db.a") == read_ids(both, "db.b") == list(range(50))


def test_a_replay_for_two_tables_gives_each_what_it_lacks(pipeline: MakePipeline) -> None:
    both = pipeline(**{"iceberg.tables": "db.a,db.b"})
    both.produce(orders(0, 50))
    both.run()
    drop(both, "db.a")
    replay(both, tables=["db.a"], ranges={"0": [0, 20]})
    drop(both, "db.b")
    found = drafted(both).forecasts
    assert [(f.table, f.read, f.held, f.write) for f in found] == [("db.a", 50, 20, 30), ("db.b", 50, 0, 50)]
    replay(both)
    assert read_ids(both, "db.a") == read_ids(both, "db.b") == list(range(50))


# -- append -----------------------------------------------------------------------------------------------------------


def test_append_adds_its_range_again_and_repeated_steps_nothing(eaten: Pipeline) -> None:
    plan, effective = opened(eaten, ranges={"1": [0, 10]}, overlap="append", max_records=4)
    effective.write(plan)
    effective.commit(plan)
    wanted = sorted([*range(300), *range(100, 110)])
    assert eaten.column("id") == wanted
    open_replay(plan, effective.connector, effective.settings, effective.key(plan))
    effective.commit(plan)
    assert eaten.column("id") == wanted
    effective.write(plan)
    effective.commit(plan)
    assert eaten.column("id") == wanted
    assert eaten.position() == {0: 100, 1: 100, 2: 100}


def test_two_appends_of_one_range_add_it_twice_each_once(eaten: Pipeline) -> None:
    plans = [opened(eaten, ranges={"0": [0, 10]}, overlap="append", max_records=5) for _ in range(2)]
    for plan, effective in plans:
        effective.write(plan)
    for _ in range(2):
        for plan, effective in plans:
            effective.commit(plan)
    assert eaten.column("id") == sorted([*range(300), *range(10), *range(10)])


def test_append_continues_at_its_unwritten_second_slice(eaten: Pipeline) -> None:
    plan, effective = opened(eaten, ranges={"0": [0, 12]}, overlap="append", max_records=4)
    one_slice = Plan.from_json({**plan.to_json(), "slices": plan.to_json()["slices"][:1]})
    effective.write(one_slice)
    with pytest.raises(SliceNotWritten, match="Clear the write task"):
        effective.committer(plan).commit([plan.slice_id(plan.slices[0])])
    effective.write(plan)
    effective.commit(plan)
    effective.commit(plan)
    assert eaten.column("id") == sorted([*range(300), *range(12)])


def test_append_stops_at_uncommitted_slice_and_continues_there(
    eaten: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    import floe.commit.slice_commit as landing
    from floe.tables.exceptions import TableNotCommitted

    plan, effective = opened(eaten, ranges={"0": [0, 12]}, overlap="append", max_records=4)
    effective.write(plan)
    real, calls = landing.commit_table, []

    def fails_once(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            msg = "conflicts for as long as anybody waited"
            raise TableNotCommitted(msg)
        return real(*args)

    monkeypatch.setattr(landing, "commit_table", fails_once)
    with pytest.raises(TableNotCommitted):
        effective.commit(plan)
    assert eaten.column("id") == list(range(300)), "a later slice landed before an earlier one: its id hides the gap"
    effective.commit(plan)
    assert eaten.column("id") == sorted([*range(300), *range(12)])


def test_append_into_empty_table_is_in_ledger_afterwards(eaten: Pipeline) -> None:
    drop(eaten)
    replay(eaten, ranges={"0": [0, 50]}, overlap="append")
    replay(eaten)
    assert eaten.column("id") == list(range(300))


# -- beside others ----------------------------------------------------------------------------------------------------


def test_two_skips_of_one_range_at_once_fill_it_once(eaten: Pipeline) -> None:
    drop(eaten)
    plans = [opened(eaten, max_records=60) for _ in range(2)]
    for plan, effective in plans:
        effective.write(plan)
    for plan, effective in plans:
        effective.commit(plan)
    assert eaten.column("id") == list(range(300))


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
        except Exception as error:  # noqa: BLE001 - told after the join
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


# -- branches ---------------------------------------------------------------------------------------------------------


def test_new_branch_equals_main_and_skip_into_it_adds_nothing(eaten: Pipeline) -> None:
    assert drafted(eaten, branch="audit").plan.slices == ()
    replay(eaten, branch="audit", ranges={"0": [0, 10]}, overlap="append")
    assert read_ids(eaten, branch="audit") == sorted([*range(300), *range(10)])
    assert read_ids(eaten, branch="main") == list(range(300))
    assert eaten.position() == {0: 100, 1: 100, 2: 100}


def test_branch_is_kept_in_plan_and_connector_keeps_its_own(eaten: Pipeline) -> None:
    plan = drafted(eaten, branch="audit").plan
    target: Connector = restore_config(plan.config, eaten.connector)
    assert (target.settings.default.branch, eaten.connector.settings.default.branch) == ("audit", None)


def test_a_branch_that_cannot_be_is_refused(eaten: Pipeline) -> None:
    with pytest.raises(ConfigError, match="default-commit-branch"):
        drafted(eaten, branch="a\nb")


def test_replay_does_not_write_to_main_against_connector_file(eaten: Pipeline) -> None:
    audited = eaten.changed(**{"iceberg.tables.default-commit-branch": "audit"})
    before = trace(eaten)
    with pytest.raises(PlanRefused, match=r"branch main: the connector file commits 'db.t' to another branch"):
        drafted(audited, branch="main", ranges={"0": [0, 10]}, overlap="append")
    assert trace(eaten) == before


def test_a_tag_is_no_branch(eaten: Pipeline) -> None:
    table = eaten.table()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    table.manage_snapshots().create_tag(snapshot.snapshot_id, "q1").commit()
    with pytest.raises(TableRefused, match=r"'q1'.*is a tag"):
        drafted(eaten, branch="q1")


# -- times ------------------------------------------------------------------------------------------------------------


def at(minutes: float) -> str:
    return (NOON + timedelta(minutes=minutes)).isoformat()


@pytest.fixture
def timed(pipeline: MakePipeline) -> Pipeline:
    """A connector that has read 60 records whose timestamps, in minutes, are out of order."""
    pizzas = pipeline(partitions=2)
    producer = ck.Producer({"bootstrap.servers": pizzas.bootstrap})
    for i in range(60):
        minute = i // 2 + (7 if i % 5 == 0 else 0)
        moment = int((NOON + timedelta(minutes=minute)).timestamp() * 1000)
        producer.produce(pizzas.topic, json.dumps({"id": i}).encode(), partition=i % 2, timestamp=moment)
    assert producer.flush(30) == 0
    pizzas.run()
    return pizzas


def test_adjacent_time_windows_replay_every_record_once(timed: Pipeline) -> None:
    drop(timed)
    cuts = [None, at(-10), at(0), at(3), at(3.5), at(12), at(29), at(36), at(50), None]
    for start, end in pairwise(cuts):
        try:
            replay(timed, from_time=start, to_time=end)
        except PlanRefused as error:
            assert "lies in the times" in str(error)
    assert timed.column("id") == list(range(60))


def test_a_window_begins_with_the_first_record_at_or_after_it(timed: Pipeline) -> None:
    ranges = {f.range.partition: (f.range.start, f.range.end) for f in drafted(timed, from_time=at(10)).forecasts}
    # id 10 is of minute 5 + 7: in the even partition it comes before those of minute 10
    assert ranges == {0: (5, 30), 1: (7, 30)}
    ranges = {f.range.partition: (f.range.start, f.range.end) for f in drafted(timed, to_time=at(10)).forecasts}
    assert ranges == {0: (0, 5), 1: (0, 7)}


def test_a_window_stops_at_what_was_read(timed: Pipeline) -> None:
    timed.produce([{"id": 99}], partition=0)
    assert {f.range.end for f in drafted(timed, from_time=at(10), to_time="2999-01-01T00:00:00Z").forecasts} == {30}


@pytest.mark.parametrize(
    "times",
    [
        {"from_time": "2999-01-01T00:00:00Z"},
        {"from_time": "2999-01-01T00:00:00Z", "to_time": "9999-12-31T23:59:59Z"},
        {"to_time": "1960-01-01T00:00:00Z"},
        {"from_time": "1950-01-01T00:00:00Z", "to_time": "1960-01-01T00:00:00Z"},
    ],
)
def test_a_window_in_the_future_or_before_time_is_refused(timed: Pipeline, times: dict[str, str]) -> None:
    before = trace(timed)
    with pytest.raises(PlanRefused, match=r"lies in the times|is not before"):
        drafted(timed, **times)
    assert trace(timed) == before


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"ranges": {"0": [20, 10]}}, "partition 0 is reversed"),
        ({"ranges": {"0": [-1, 10]}}, "offsets are not negative"),
        (
            {"ranges": {"0": [50, 101]}},
            "ends past the position 100: those records will be read by the connector's own DAG",
        ),
        ({"ranges": {"0": [10**15, 10**16]}}, "ends past the position 100"),
        ({"ranges": {"3": [0, 1]}}, "partition 3 of topic .* does not exist: it has the partitions 0 to 2"),
        ({"topic": "somebody-elses"}, "topic 'somebody-elses' is not configured in this connector"),
        ({"tables": ["db.other"]}, "table 'db.other' is not configured in this connector"),
        ({"from_time": "2999-01-01T00:00:00Z"}, "lies in the times"),
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
    with pytest.raises(PlanRefused, match=r"holds the offsets \[10, 20\) .*set overlap to replace, .*or to append"):
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
    with pytest.raises(PlanRefused, match=r"table 'db\.b' is behind on .*-0 from 50 on.*end the range at 50 at most"):
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


def test_a_dotted_branch_is_no_other_connectors_ledger(pipeline: MakePipeline) -> None:
    one = pipeline()
    one.produce([{"id": i} for i in range(5)])
    one.run()
    other = one.changed(name=f"{one.connector.name}.x")
    with pytest.raises(PlanRefused, match=r"branch 'x\.main' has a dot"):
        replay(one, branch="x.main", overlap="append")
    other.run()
    assert one.column("id") == sorted([*range(5), *range(5)])


def test_tables_that_no_record_names_are_refused(pipeline: MakePipeline) -> None:
    one = pipeline(**{"iceberg.tables": None, "iceberg.tables.route-field": "to", "floe.route.namespace": "db"})
    one.produce([{"id": 1, "to": "t"}])
    one.run()
    for name in ("evil", "a..b", "", "db.T", "other.t", "db.\0x"):
        with pytest.raises(PlanRefused, match="is none that records"):
            replay(one, tables=[name])
