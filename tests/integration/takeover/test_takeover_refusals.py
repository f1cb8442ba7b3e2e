"""What a takeover refuses: nothing is changed by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import confluent_kafka as ck
import pytest

from floe.control.wire.events import DataFile, FileContent
from floe.kafka.exceptions import GroupInUse
from floe.takeover.exceptions import TakeoverRefused
from floe.takeover.take_over import take_over
from tests.support.runs.sink_double import SinkDouble
from tests.support.runs.takeover_stage import PASTA, PIZZAS, SALADS, Stage


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
    stage.refused(r"for table 'db\.pasta' cannot be committed: .*does not exist")


def test_a_file_outside_of_the_table_is_refused(stage: Stage) -> None:
    stage.sink.announce(stage.sink.written(PASTA, stage.sink.write(PIZZAS, range(150, 155))))
    stage.refused(r"for table 'db\.pasta' cannot be committed: .*is outside")


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
    stage.refused(r"up to 10000, but that ends at .*re-created")


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
