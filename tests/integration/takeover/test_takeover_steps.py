"""The takeover step by step: what it finds, what it refuses, where it may be killed. The sink is a double."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient

from floe.config import parse_connector
from floe.control.wire.events import DataFile, FileContent
from floe.crash_points import VARIABLE, CrashPoint
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import GroupInUse
from floe.kafka.settings import KafkaSettings
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.positions import PartitionBacklog, PositionMetadata
from floe.model.ranges import TopicPartition
from floe.takeover.exceptions import HandBackRefused, TakeoverBlocked, TakeoverRefused
from floe.takeover.hand_back import hand_back
from floe.takeover.take_over import TakeoverReport, take_over
from tests.support.kafka.open_transactions import wait_for_markers
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.sink_double import SinkDouble

PIZZAS, PASTA, SALADS = "db.pizzas", "db.pasta", "db.salads"
TABLES = f"{PIZZAS},{PASTA},{SALADS}"
GONE = -signal.SIGKILL


class Stage:
    """A connector of three tables whose sink was stopped in the middle of a commit.

    It committed ids 0 to 99 of both tables that exist; another 50 of each are announced, and the position is 150.
    """

    def __init__(self, pizzas: Pipeline, admin: AdminClient) -> None:
        self.pipeline = pizzas
        self.admin = admin
        self.connector, self.settings = pizzas.connector, pizzas.settings
        self.sink = SinkDouble(pizzas.bootstrap, pizzas.topic, pizzas.connector, pizzas.connector.sink_group_id)

    def play(self) -> None:
        self.produce(0, 150)
        for name in (PIZZAS, PASTA):
            self.sink.create(name)
            self.sink.announce(self.written(name, 0, 100), positions={0: 100})
        for name in (PIZZAS, PASTA):
            self.sink.commit(name, range(100), self.control_ends())
        self.sink.set_positions(self.control_ends(), f"{self.sink.group}-coord", self.connector.control_topic)
        self.sink.announce(self.written(PIZZAS, 100, 130))
        self.sink.announce(self.written(PASTA, 100, 150), self.written(PIZZAS, 130, 150), positions={0: 150})

    def written(self, name: str, start: int, end: int, **changes: Any) -> Any:
        return self.sink.written(name, self.sink.write(name, range(start, end)), **changes)

    def produce(self, start: int, end: int) -> None:
        self.pipeline.produce({"id": i} for i in range(start, end))

    def take_over(self) -> TakeoverReport:
        return take_over(self.connector, self.settings)

    def control_ends(self) -> dict[int, int]:
        return wait_for_markers(Cluster.of_control(self.settings), self.connector.control_topic)

    def rows(self, name: str, branch: str | None = None) -> list[int]:
        table = self.sink.load(name)
        scan = table.scan().use_ref(branch) if branch else table.scan()
        return sorted(scan.to_arrow().column("id").to_pylist())

    def ledger(self, name: str) -> Ledger | None:
        branch = self.connector.settings.default.branch or "main"
        return read_properties(property_name(self.connector.group_id, branch), self.sink.load(name).properties)

    def held(self, name: str) -> dict[str, list[tuple[int, int]]]:
        ledger = self.ledger(name)
        assert ledger is not None
        (holding,) = ledger.holdings.values()
        return {route if route == "java" else "floe": list(spans) for route, spans in holding.held.items()}

    def message(self, name: str) -> dict[int, int]:
        """Return the control offsets in the summary of a table's last snapshot."""
        summary = self.sink.load(name).snapshots()[-1].summary
        assert summary is not None
        text = summary.additional_properties[
            f"kafka.connect.offsets.{self.connector.control_topic}.{self.connector.group_id}"
        ]
        return {int(partition): offset for partition, offset in json.loads(text).items()}

    def state(self) -> dict[str, Any]:
        """Return all that a refusal must leave as it was."""
        tables = {name: self.sink.tables.load(name) for name in (PIZZAS, PASTA, SALADS)}
        return {
            "tables": {name: table.metadata_location if table else None for name, table in tables.items()},
            "positions": Cluster.of_control(self.settings).positions(self.connector.group_id),
            "control": self.control_ends(),
        }

    def refused(self, match: str, error: type[Exception] = TakeoverRefused) -> None:
        before = self.state()
        with pytest.raises(error, match=match):
            self.take_over()
        assert self.state() == before

    def assert_taken(self, end: int = 150) -> None:
        """Check that floe has the connector, and every record is there once."""
        for name in (PIZZAS, PASTA):
            assert self.rows(name) == list(range(end))
            assert self.held(name) == {"java": [(0, end)]}
        (position,) = Cluster.of_control(self.settings).positions(self.connector.group_id).values()
        facts = PositionMetadata.decode(position.metadata)
        assert (position.offset, facts and facts.since) == (end, end)

    def assert_goes_on(self, start: int = 150) -> None:
        """Let floe read what is new."""
        self.produce(start, start + 20)
        self.pipeline.run()
        for name in (PIZZAS, PASTA):
            assert self.rows(name) == list(range(start + 20))
        assert self.rows(SALADS) == list(range(start, start + 20))


@pytest.fixture
def make_stage(pipeline: MakePipeline, admin: AdminClient, topic: Callable[..., str]) -> Callable[..., Stage]:
    def make(**keys: Any) -> Stage:
        control = keys.pop("control", None) or topic(name="control")
        more = {"iceberg.tables": TABLES, "iceberg.control.topic": control, **keys}
        return Stage(pipeline(**more), admin)

    return make


@pytest.fixture
def stage(make_stage: Callable[..., Stage]) -> Stage:
    one = make_stage()
    one.play()
    return one


# -- what it does -----------------------------------------------------------------------------------------------------


def test_pending_files_and_ledger_are_one_snapshot_per_table(stage: Stage) -> None:
    ends = stage.control_ends()
    report = stage.take_over()
    assert {t.table: (t.files, t.rows) for t in report.tables} == {PIZZAS: (2, 50), PASTA: (1, 50), SALADS: (0, 0)}
    for name in (PIZZAS, PASTA):
        assert len(stage.sink.load(name).snapshots()) == 2
        assert stage.message(name) == ends
    stage.assert_taken()
    stage.assert_goes_on()


def test_tables_named_by_records_are_found_by_sink_snapshots(make_stage: Callable[..., Stage]) -> None:
    named = {"iceberg.tables": None, "iceberg.tables.dynamic-enabled": True, "iceberg.tables.route-field": "to"}
    one = make_stage(**named)
    one.sink.create("db.other")
    one.play()
    report = one.take_over()
    assert sorted(taken.table for taken in report.tables) == sorted([PIZZAS, PASTA])
    one.assert_taken()
    one.pipeline.produce([{"id": 150, "to": PIZZAS}, {"id": 151, "to": "db.new"}])
    one.pipeline.run()
    assert one.rows(PIZZAS) == list(range(151))
    assert one.rows("db.new") == [151]
    assert one.ledger("db.other") is None


def test_taking_over_again_changes_nothing(stage: Stage) -> None:
    stage.take_over()
    before = stage.state()
    assert stage.take_over().already
    assert stage.state() == before
    stage.assert_goes_on()
    assert stage.take_over().already


def test_tables_with_nothing_pending_get_the_seed_too(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage()
    stage.produce(0, 10)
    stage.sink.create(PIZZAS)
    stage.sink.create(PASTA)
    stage.sink.set_positions({0: 10})
    assert [t.files for t in stage.take_over().tables] == [0, 0, 0]
    assert stage.held(PIZZAS) == stage.held(PASTA) == {"java": [(0, 10)]}
    assert stage.rows(PIZZAS) == []


def test_file_announced_twice_or_present_is_committed_once(stage: Stage) -> None:
    files = stage.sink.write(PIZZAS, range(150, 160))
    event = stage.sink.written(PIZZAS, files)
    stage.produce(150, 160)
    stage.sink.announce(event, complete=False)
    stage.sink.announce(event, positions={0: 160})
    stage.sink.announce(stage.written(PASTA, 150, 160))
    stage.take_over()
    stage.assert_taken(160)


def test_an_aborted_announcement_does_not_count(stage: Stage) -> None:
    producer = stage.sink.open([stage.written(PIZZAS, 500, 600)])
    producer.abort_transaction(30)
    stage.take_over()
    stage.assert_taken()


def test_what_lies_behind_an_open_transaction_is_waited_for(stage: Stage) -> None:
    hanging = stage.sink.open([stage.written(PIZZAS, 500, 600)])
    stage.produce(150, 170)
    stage.sink.announce(stage.written(PIZZAS, 150, 170), stage.written(PASTA, 150, 170), positions={0: 170})
    ended = threading.Timer(2, lambda: hanging.abort_transaction(30))
    ended.start()
    began = time.monotonic()
    stage.take_over()
    ended.join()
    assert time.monotonic() - began > 1.5
    stage.assert_taken(170)


def test_an_open_transaction_that_does_not_end_blocks_it(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("floe.takeover.sink_state.TRANSACTION_TIMEOUT", -14.5)
    hanging = stage.sink.open([stage.written(PIZZAS, 500, 600)])
    with pytest.raises(TakeoverBlocked, match=r"an open transaction hides \["):
        stage.take_over()
    hanging.abort_transaction(30)
    stage.take_over()
    stage.assert_taken()


def test_a_branch_is_taken_over_as_a_branch(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(**{"iceberg.tables.default-commit-branch": "audit", "iceberg.tables": PIZZAS})
    stage.produce(0, 30)
    stage.sink.create(PIZZAS)
    stage.sink.announce(stage.written(PIZZAS, 0, 30), positions={0: 30})
    stage.take_over()
    assert stage.rows(PIZZAS, "audit") == list(range(30))
    assert stage.rows(PIZZAS) == []
    assert stage.held(PIZZAS) == {"java": [(0, 30)]}


def test_positions_of_other_topics_are_kept_as_they_are(stage: Stage, topic: Callable[..., str]) -> None:
    other = topic(1)
    stage.sink.set_positions({0: 7}, topic=other)
    stage.take_over()
    found = Cluster.of_control(stage.settings).positions(stage.connector.group_id)
    assert (found[TopicPartition(other, 0)].offset, found[TopicPartition(other, 0)].metadata) == (7, "")
    assert len(found) == 2


def test_tabular_group_is_read_for_positions_and_returned_to(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(**{"connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector"})
    group = f"cg-control-{stage.connector.name}"
    assert stage.sink.group == stage.connector.sink_group_id == group
    stage.play()
    # its second transaction, to the group of Kafka Connect, was not made any more
    stage.sink.set_positions({0: 100}, stage.connector.group_id)
    stage.take_over()
    stage.assert_taken()
    stage.assert_goes_on()
    assert stage.take_over().already
    hand_back(stage.connector, stage.settings)
    found = Cluster.of_control(stage.settings).positions(group)
    assert {tp.partition: p.offset for tp, p in found.items()} == {0: 170}
    stage.produce(170, 180)
    stage.sink.announce(stage.written(PIZZAS, 170, 180), stage.written(PASTA, 170, 180), positions={0: 180})
    assert not stage.take_over().already
    assert stage.rows(PIZZAS) == stage.rows(PASTA) == list(range(180))


def test_second_takeover_skips_what_floe_announced(stage: Stage) -> None:
    stage.take_over()
    stage.produce(150, 170)
    stage.pipeline.write(stage.pipeline.plan())  # and never committed
    hand_back(stage.connector, stage.settings)
    stage.sink.announce(stage.written(PIZZAS, 150, 170), stage.written(PASTA, 150, 170), positions={0: 170})
    stage.take_over()
    assert stage.rows(PIZZAS) == stage.rows(PASTA) == list(range(170))
    assert stage.held(PIZZAS) == {"java": [(0, 170)]}


# -- kills ------------------------------------------------------------------------------------------------------------

POINTS = (
    f"{CrashPoint.TAKEOVER_TABLE}@1",
    f"{CrashPoint.TAKEOVER_TABLE_LANDED}@1",
    f"{CrashPoint.TAKEOVER_TABLE}@2",
    f"{CrashPoint.TAKEOVER_TABLE_LANDED}@2",
    f"{CrashPoint.TAKEOVER_GROUP}",
    f"{CrashPoint.TAKEOVER_GROUP_DELETED}",
    f"{CrashPoint.TRANSACTION_SENT}",
    f"{CrashPoint.TRANSACTION_COMMITTED}",
)


def _take_over_and_die(keys: dict[str, str], bootstrap: str, point: str) -> None:
    os.environ[VARIABLE] = point
    connector = parse_connector(keys)
    take_over(connector, KafkaSettings.of(connector, {"bootstrap.servers": bootstrap}))


def killed_at(stage: Stage, point: str) -> None:
    """Take over in a process of its own, and see it die."""
    context = multiprocessing.get_context("spawn")
    arguments = (dict(stage.connector.properties), stage.pipeline.bootstrap, point)
    process = context.Process(target=_take_over_and_die, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == GONE, point


@pytest.mark.parametrize("point", POINTS)
def test_a_takeover_killed_at_any_step_is_finished_by_the_next(stage: Stage, point: str) -> None:
    killed_at(stage, point)
    again = stage.take_over()
    assert again.already == (point == CrashPoint.TRANSACTION_COMMITTED)
    stage.assert_taken()
    for name in (PIZZAS, PASTA):
        assert len(stage.sink.load(name).snapshots()) == 2
    assert stage.take_over().already
    stage.assert_goes_on()


@pytest.mark.parametrize("point", [CrashPoint.TAKEOVER_TABLE_LANDED, CrashPoint.TAKEOVER_GROUP])
def test_sink_can_start_again_after_a_killed_takeover(stage: Stage, point: str) -> None:
    killed_at(stage, point)
    # it commits nothing of what is in the tables that were taken over: their control offsets tell
    stage.produce(150, 160)
    stage.sink.announce(stage.written(PIZZAS, 150, 160), stage.written(PASTA, 150, 160), positions={0: 160})
    stage.take_over()
    stage.assert_taken(160)
    stage.assert_goes_on(160)


def test_sink_restarted_during_takeover_keeps_its_positions(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from floe.takeover import take_over as takeover

    land = takeover.commit_takeover

    def land_and_meet_the_sink(*args: Any) -> Any:
        committed = land(*args)
        stage.sink.set_positions({0: 120})
        return committed

    monkeypatch.setattr(takeover, "commit_takeover", land_and_meet_the_sink)
    with pytest.raises(TakeoverBlocked, match="went from 150 to 120 while it was taken over"):
        stage.take_over()
    assert stage.pipeline.position() == {0: 120}


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_a_group_with_members_is_refused(stage: Stage) -> None:
    member = ck.Consumer(
        {"bootstrap.servers": stage.pipeline.bootstrap, "group.id": f"{stage.connector.group_id}-coord"}
    )
    member.subscribe([stage.connector.control_topic])
    while not member.assignment():
        member.poll(0.1)
    try:
        stage.refused(r"-coord' has 1 member", GroupInUse)
    finally:
        member.close()


def test_a_group_without_positions_is_refused(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage()
    stage.sink.create(PIZZAS)
    stage.refused(r"has no positions of .*never committed, or has been stopped for longer")


def test_events_of_tables_not_configured_are_refused(stage: Stage) -> None:
    stage.sink.create("db.routed")
    stage.sink.announce(stage.written("db.routed", 0, 5), positions={0: 150})
    stage.refused(r"1 announced file.*'db\.routed', which is not in iceberg\.tables")


def test_committed_events_of_other_tables_are_ignored(stage: Stage) -> None:
    stage.sink.create("db.former")
    stage.sink.announce(stage.written("db.former", 0, 5), positions={0: 150})
    stage.sink.commit("db.former", range(5), stage.control_ends())
    stage.take_over()
    stage.assert_taken()


def test_events_of_a_table_that_does_not_exist_are_refused(stage: Stage) -> None:
    files = stage.sink.write(PIZZAS, range(3))
    stage.sink.announce(stage.sink.written(SALADS, files))
    stage.refused(r"'db\.salads', which does not exist")


def test_events_of_replaced_table_wait_until_sink_drops_them(stage: Stage) -> None:
    stage.sink.tables.catalog.drop_table(PASTA)
    stage.sink.create(PASTA)
    stage.refused(r"'db\.pasta', which was replaced since")
    stage.sink.set_positions(stage.control_ends(), f"{stage.sink.group}-coord", stage.connector.control_topic)
    stage.take_over()
    assert stage.rows(PIZZAS) == list(range(150))
    assert stage.rows(PASTA) == []


def test_delete_files_are_refused(stage: Stage) -> None:
    delete = DataFile(
        content=FileContent.EQUALITY_DELETES, file_path="file:///d", spec_id=0, record_count=1, file_size_in_bytes=1
    )
    stage.sink.announce(stage.written(PIZZAS, 150, 155, delete_files=[delete]))
    stage.refused(r"1 delete file\(s\) for table 'db\.pizzas'")


def test_a_file_that_is_gone_is_refused(stage: Stage) -> None:
    files = stage.sink.write(PASTA, range(150, 155))
    Path(files[0].file_path.removeprefix("file://")).unlink()
    stage.sink.announce(stage.sink.written(PASTA, files))
    stage.refused(r"for table 'db\.pasta' cannot be committed: .*is not there")


def test_a_file_outside_of_the_table_is_refused(stage: Stage) -> None:
    stage.sink.announce(stage.sink.written(PASTA, stage.sink.write(PIZZAS, range(150, 155))))
    stage.refused(r"for table 'db\.pasta' cannot be committed: .*lies outside")


def test_a_file_of_an_unknown_partition_spec_is_refused(stage: Stage) -> None:
    (file,) = stage.sink.write(PASTA, range(150, 155))
    stage.sink.announce(stage.sink.written(PASTA, [replace(file, spec_id=3)]))
    stage.refused(r"partition spec 3")


def test_a_message_that_cannot_be_read_is_refused(stage: Stage) -> None:
    producer = ck.Producer({"bootstrap.servers": stage.pipeline.bootstrap})
    producer.produce(stage.connector.control_topic, b"no event")
    producer.flush(30)
    stage.refused(r"of the control topic cannot be read")


def test_truncated_control_topic_is_refused_unless_read_past(stage: Stage) -> None:
    end = max(stage.control_ends().values())
    tp = ck.TopicPartition(stage.connector.control_topic, 0, end)
    stage.admin.delete_records([tp])[tp].result(30)
    stage.refused(rf"starts at offset {end}, but table 'db\.pizzas' is committed only up to")
    stage.sink.set_positions({0: end}, f"{stage.sink.group}-coord", stage.connector.control_topic)
    stage.take_over()
    assert stage.rows(PIZZAS) == list(range(100))


def test_recreated_or_other_control_topic_is_refused(stage: Stage, topic: Callable[..., str]) -> None:
    other = topic(name="control")
    renamed = stage.pipeline.changed(**{"iceberg.control.topic": other})
    foreign = SinkDouble(stage.pipeline.bootstrap, stage.pipeline.topic, renamed.connector)
    foreign.announce()
    before = stage.state()
    with pytest.raises(TakeoverRefused, match=rf"the sink used the control topic {stage.connector.control_topic!r}"):
        take_over(renamed.connector, renamed.settings)
    missing = stage.pipeline.changed(**{"iceberg.control.topic": "control-nowhere"})
    with pytest.raises(TakeoverRefused, match="'control-nowhere' does not exist: set iceberg"):
        take_over(missing.connector, missing.settings)
    assert stage.state() == before
    stage.sink.commit(PASTA, (), {0: 10_000})
    stage.refused(r"up to 10000, but that ends at .*created again")


def test_empty_control_topic_omits_announcements_of_old_one(stage: Stage, topic: Callable[..., str]) -> None:
    empty = stage.pipeline.changed(**{"iceberg.control.topic": topic(name="control")})
    take_over(empty.connector, empty.settings)
    assert stage.rows(PIZZAS) == list(range(100))
    assert stage.held(PIZZAS) == {"java": [(0, 150)]}


def test_a_position_past_the_log_s_end_is_refused(stage: Stage) -> None:
    stage.sink.set_positions({0: 151})
    stage.refused(r"the sink's position 151 of .* is past the log's end 150")


def test_a_position_below_the_log_s_start_is_taken_and_told(stage: Stage) -> None:
    stage.produce(150, 200)
    tp = ck.TopicPartition(stage.pipeline.topic, 0, 170)
    stage.admin.delete_records([tp])[tp].result(30)
    assert any("removed [150, 170)" in note for note in stage.take_over().notes)
    stage.assert_taken()


# -- the way back -----------------------------------------------------------------------------------------------------


def not_handed_back(stage: Stage, match: str) -> None:
    before = stage.state()
    with pytest.raises(HandBackRefused, match=match):
        hand_back(stage.connector, stage.settings)
    assert stage.state() == before


def test_a_hand_back_tells_every_table_and_moves_nothing(stage: Stage) -> None:
    stage.take_over()
    before = stage.state()
    report = hand_back(stage.connector, stage.settings)
    after = stage.state()
    assert {name: snapshot is not None for name, snapshot in report.tables.items()} == {PIZZAS: True, PASTA: True}
    assert after["positions"] == before["positions"]
    coordinator = Cluster.of_control(stage.settings).positions(f"{stage.connector.group_id}-coord")
    assert stage.message(PIZZAS) == stage.message(PASTA) == before["control"]
    assert {tp.partition: p.offset for tp, p in coordinator.items()} == before["control"]


def test_a_connector_that_floe_does_not_have_is_not_handed_back(stage: Stage, make_stage: Callable[..., Stage]) -> None:
    not_handed_back(stage, r"is not floe's: the sink has run since")
    not_handed_back(make_stage(), r"has no positions: floe never ran here")


def test_a_ledger_above_the_position_is_not_handed_back(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.take_over()
    stage.produce(150, 170)
    plan = stage.pipeline.plan()
    stage.pipeline.write(plan)
    with monkeypatch.context() as dying:

        def die(*_args: object) -> None:
            raise KeyboardInterrupt

        dying.setattr("floe.commit.run_commit.move_positions", die)
        with pytest.raises(KeyboardInterrupt):
            stage.pipeline.commit(plan)
    not_handed_back(stage, r"up to 170, but the position is 150: a run died between the two")
    stage.pipeline.run()
    hand_back(stage.connector, stage.settings)


def test_a_debt_is_not_handed_back(stage: Stage) -> None:
    stage.take_over()
    (position,) = Cluster.of_control(stage.settings).positions(stage.connector.group_id).values()
    behind = position.metadata_fields.behind({PASTA: PartitionBacklog(100, "r")}).encode()
    producer = ck.Producer({"bootstrap.servers": stage.pipeline.bootstrap, "transactional.id": "debtor"})
    producer.init_transactions(30)
    producer.begin_transaction()
    lender = ck.Consumer({"bootstrap.servers": stage.pipeline.bootstrap, "group.id": stage.connector.group_id})
    tp = ck.TopicPartition(stage.pipeline.topic, 0, position.offset, metadata=behind)
    producer.send_offsets_to_transaction([tp], lender.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    lender.close()
    not_handed_back(stage, r"table 'db\.pasta' is behind on .* from 100 on")
