"""Rows 22 and 24 to 29: topics that change or disappear under the sink, and what else is in a log beside records."""

from __future__ import annotations

import pytest

from stack.progress import wait_until
from tests.faults.harness.sink import MakeSink, Sink
from tests.support.kafka.admin import LAST_OFFSET


@pytest.mark.ci
def test_row_22_control_topic_deleted_before_commit_is_reread(sink: Sink) -> None:
    sink.producer.produce(300)
    sink.run()
    sink.producer.produce(300)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    sink.admin.delete_topic(sink.control_topic)
    failed = run.step("commit")
    assert not failed.is_done
    assert "control topic" in failed.message, failed
    assert sum(sink.positions().values()) == 300
    sink.assert_exactly_once()


def test_row_22_announcements_removed_by_retention_are_reported(sink: Sink) -> None:
    sink.producer.produce(300)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    sink.admin.delete_records(sink.control_topic, {0: LAST_OFFSET})
    failed = run.step("commit")
    assert not failed.is_done
    assert "no longer has the offsets" in failed.message, failed
    sink.assert_exactly_once()


def test_row_22_a_lost_group_is_recovered_from_the_tables(sink: Sink) -> None:
    for _ in range(3):
        sink.producer.produce(200)
        sink.run()
    sink.admin.delete_group(sink.group)
    sink.admin.delete_topic(sink.control_topic)
    sink.producer.produce(200)
    assert "recover" in sink.refused().message
    sink.run(decisions={"recover": True})
    sink.assert_exactly_once()


def test_row_24_recreated_topic_is_refused_until_reset_topics(sink: Sink) -> None:
    sink.producer.produce(300)
    sink.run()
    sink.delete_topics([sink.topic])
    sink.create_topic(sink.topic, 2)
    sink.producer.produce(200)
    refused = sink.refused()
    assert "re-created" in refused.message
    assert "reset_topics" in refused.message
    sink.run(decisions={"adopt": [sink.topic]})
    sink.producer.produce(100)
    report = sink.assert_exactly_once()
    assert report.records == 600


def test_row_24_rows_written_before_a_re_creation_land(sink: Sink) -> None:
    sink.producer.produce(300)
    sink.run()
    sink.producer.produce(200)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    sink.delete_topics([sink.topic])
    sink.create_topic(sink.topic, 3)
    sink.producer.produce(100)
    assert wait_until(lambda: not any(sink.positions().values()), 30)
    for _ in range(2):
        committed = run.step("commit")
        assert committed.is_done, committed
    assert "reset_topics" in sink.refused().message
    sink.run(decisions={"adopt": [sink.topic]})
    report = sink.assert_exactly_once()
    assert report.records == 600


def test_row_25_partitions_added_after_plan_come_with_next_run(sink: Sink) -> None:
    sink.producer.produce(300)
    run = sink.new_run()
    planned = run.step("plan")
    sink.add_partitions(4)
    sink.producer.produce(200, partition=3)
    assert run.step("write").is_done
    assert run.step("commit").is_done
    assert len(planned.facts["ranges"]) == 2
    assert sink.positions().get(3, 0) == 0
    sink.assert_exactly_once()
    assert sink.positions()[3] == 200


def test_row_25_topic_recreated_with_fewer_partitions_is_refused(make_sink: MakeSink) -> None:
    sink = make_sink(partitions=3)
    sink.producer.produce(300)
    sink.run()
    sink.delete_topics([sink.topic])
    sink.create_topic(sink.topic, 1)
    assert "fewer partitions" in sink.refused().message or "re-created" in sink.refused().message


def test_row_26_position_below_log_start_needs_accepted_loss(sink: Sink) -> None:
    for partition in (0, 1):
        sink.producer.produce(200, partition=partition)
    sink.run()
    for partition in (0, 1):
        sink.producer.produce(200, partition=partition)
    sink.delete_records({0: 300})
    refused = sink.refused()
    assert "[200, 300)" in refused.message
    assert "accept_loss" in refused.message
    sink.run(decisions={"accept_loss": True})
    sink.excuse("*", sink.topic, 0, 200, 300)
    sink.producer.produce(100)
    sink.assert_exactly_once()


@pytest.mark.ci
def test_row_27_records_removed_after_plan_fail_write_and_plan(sink: Sink) -> None:
    sink.producer.produce(300, partition=0)
    sink.producer.produce(300, partition=1)
    run = sink.new_run()
    assert run.step("plan").is_done
    sink.delete_records({0: 150})
    failed = run.persist("write")
    assert not failed.is_done, failed
    assert not run.step("commit").is_done
    assert sum(sink.positions().values()) == 0
    assert sink.snapshots() == 0
    assert "[0, 150)" in sink.refused().message
    sink.run(decisions={"accept_loss": True})
    sink.excuse("*", sink.topic, 0, 0, 150)
    sink.assert_exactly_once()


def test_row_28_compacted_topic_with_tombstones_is_complete(make_sink: MakeSink) -> None:
    compacted = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "min.compaction.lag.ms": "0",
    }
    sink = make_sink(partitions=1, topic_config=compacted)
    sink.producer.keyed([f"key {i % 40}" for i in range(400)])
    sink.producer.tombstones(5, key="key 3")
    sink.producer.keyed([f"late {i}" for i in range(20)])

    def is_compacted() -> bool:
        # a segment is cleaned only after the next one was begun
        sink.producer.keyed([f"last {sink.producer.produced}"])
        return gone(sink) >= 300

    assert wait_until(is_compacted, 60, pause=0.5)
    sink.run()
    sink.forget_compacted()
    sink.producer.abort(10, partition=0)
    sink.run()
    report = sink.assert_exactly_once()
    assert report.records < sink.producer.produced - 300
    assert sink.positions()[0] > report.records


def gone(sink: Sink) -> int:
    """Return how many produced records a look at the log does not find any more."""
    from tests.faults.oracle.kafka_log import KafkaLog

    now = KafkaLog()
    now.observe(sink.bootstrap, sink.topics)
    return len(sink.producer.acks.places) - now.values


def test_row_28_a_range_of_tombstones_alone_moves_the_position(sink: Sink) -> None:
    sink.producer.produce(100)
    sink.run()
    before = sum(sink.positions().values())
    sink.producer.tombstones(30, partition=1)
    sink.run()
    assert sum(sink.positions().values()) == before + 30
    sink.assert_exactly_once()


@pytest.mark.ci
def test_row_29_aborted_records_never_appear_and_open_ones_wait(sink: Sink) -> None:
    sink.producer.abort(30, partition=0)
    sink.producer.produce(100, partition=0)
    sink.producer.abort(20, partition=0)
    release = sink.producer.hang(10, partition=1)
    sink.producer.produce(100, partition=1)
    sink.run()
    # nothing above an open transaction is stable: partition 1 waits, partition 0 does not
    assert sink.positions() == {0: 152, 1: 0}
    release()
    sink.producer.abort(5, partition=1)
    sink.assert_exactly_once()
    assert sink.positions()[1] > 100
