"""Snapshot summaries: the sink's properties to the letter, and floe's beside them."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

import floe
from floe.control.announcement import next_offset
from floe.control.wire.events import TopicPartitionOffset
from floe.model.offsets import OffsetRange
from floe.tables.snapshot_summary import MAX_PROPERTY_LENGTH, offset_date_time, valid_through
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import GROUP, OFFSETS, TIME_MS, TOPIC, Lake
from tests.support.tables.slices import Write


def summary(lake: Lake) -> dict[str, str]:
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    return dict(snapshot.summary.additional_properties)


def test_the_summary_has_the_sinks_keys_with_the_sinks_shapes(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5), control_ends={0: 3, 1: 7})
    written.land()
    found = summary(lake)
    assert OFFSETS == "kafka.connect.offsets.control-iceberg.connect-pizzas"
    assert {name: value for name, value in found.items() if name.startswith(("kafka.", "engine-"))} == {
        OFFSETS: '{"0":9,"1":7}',
        "kafka.connect.commit-id": str(written.plan.commit_id),
        "kafka.connect.task-id": "pizzas-0",
        "kafka.connect.valid-through-ts": "2024-01-02T03:04:05.123Z",
        "engine-name": "floe",
        "engine-version": floe.__version__,
    }


def test_the_summary_has_floes_own_keys(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 3)).land()
    write((0, 0, 5), plan_id="plan-2").land()
    found = summary(lake)
    assert (found["floe.group"], found["floe.slice"], found["floe.kind"]) == (GROUP, "plan-2/0", "live")
    assert json.loads(found["floe.net"]) == {TOPIC: {"id": "T1", "ranges": [[0, 3, 5]]}}
    assert json.loads(found["floe.books"]) == {
        "ranges": [[TOPIC, 0, 0, 5, {"routed": 5}]],
        "table": {"assigned": 2, "rows": 2},
    }
    assert (found["added-records"], found["total-records"]) == ("2", "5")


def test_a_long_net_is_replaced_by_its_digest(lake: Lake, write: Write) -> None:
    lake.create()
    written = write(*((p, 10**6 * p, 10**6 * p + 1) for p in range(300)))
    written.land()
    found = summary(lake)
    for name in ("floe.net", "floe.books"):
        digest = json.loads(found[name])
        assert digest.keys() == {"sha256", "characters"}
        assert digest["characters"] > MAX_PROPERTY_LENGTH
        assert len(digest["sha256"]) == len(hashlib.sha256(b"").hexdigest())


def test_an_accepted_loss_stands_in_the_summary(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 5, 9))
    lost = (OffsetRange(TOPIC, "T1", 0, 2, 5),)
    replace(written, announcement=replace(written.announcement, lost=lost)).land()
    assert json.loads(summary(lake)["floe.lost"]) == {TOPIC: {"id": "T1", "ranges": [[0, 2, 5]]}}
    write((0, 9, 12), plan_id="plan-2").land()
    assert "floe.lost" not in summary(lake)


def test_control_offsets_are_larger_of_ours_and_ancestors(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 1), control_ends={0: 3, 1: 70, 10: 5, 2: 1}).land()
    assert summary(lake)[OFFSETS] == '{"0":9,"1":70,"2":1,"10":5}'
    append_foreign(lake, 1)
    write((0, 1, 2), plan_id="plan-2", control_ends={0: 30, 1: 4, 3: 8}).land()
    assert summary(lake)[OFFSETS] == '{"0":30,"1":70,"2":1,"3":8,"10":5}'


def test_control_offsets_of_other_groups_are_passed_over(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    rows = table.scan().to_arrow()
    table.append(rows, snapshot_properties={"kafka.connect.offsets.control-iceberg.connect-other": '{"0":999}'})
    write((0, 0, 5)).land()
    assert summary(lake)[OFFSETS] == '{"0":9}'


def test_announcement_not_read_back_counts_recorded_ends_only(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5), control_ends={0: 3})
    replace(written, announcement=replace(written.announcement, control_offset=None)).land()
    assert summary(lake)[OFFSETS] == '{"0":3}'


def test_partition_without_record_time_means_no_valid_through(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    idle = TopicPartitionOffset(TOPIC, 7)
    assignments = (*written.announcement.assignments, idle)
    replace(written, announcement=replace(written.announcement, assignments=assignments)).land()
    assert "kafka.connect.valid-through-ts" not in summary(lake)


def test_valid_through_is_the_earliest_of_all_partitions() -> None:
    early, late = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)
    assert valid_through([TopicPartitionOffset("t", 0, 1, late), TopicPartitionOffset("t", 1, 1, early)]) == early
    assert valid_through([TopicPartitionOffset("t", 0, 1, late), TopicPartitionOffset("t", 1)]) is None
    assert valid_through([]) is None


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2024, 1, 2, 3, 4, tzinfo=UTC), "2024-01-02T03:04Z"),
        (datetime(2024, 1, 2, 0, 0, tzinfo=UTC), "2024-01-02T00:00Z"),
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05Z"),
        (datetime(2024, 1, 2, 3, 4, 5, 123_000, tzinfo=UTC), "2024-01-02T03:04:05.123Z"),
        (datetime(2024, 1, 2, 3, 4, 5, 100_000, tzinfo=UTC), "2024-01-02T03:04:05.100Z"),
        (datetime(2024, 1, 2, 3, 4, 5, 1_000, tzinfo=UTC), "2024-01-02T03:04:05.001Z"),
        (datetime(2024, 1, 2, 3, 4, 5, 1, tzinfo=UTC), "2024-01-02T03:04:05.000001Z"),
        (datetime(2024, 1, 2, 3, 4, 5, 123_400, tzinfo=UTC), "2024-01-02T03:04:05.123400Z"),
        (datetime(2024, 1, 2, 3, 4, 0, 500_000, tzinfo=UTC), "2024-01-02T03:04:00.500Z"),
        (datetime(2024, 1, 2, 5, 4, tzinfo=timezone(timedelta(hours=2))), "2024-01-02T03:04Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00Z"),
    ],
)
def test_times_are_written_as_java_writes_them(moment: datetime, text: str) -> None:
    assert offset_date_time(moment) == text


def test_the_time_of_a_record_is_kept_to_the_millisecond() -> None:
    assignment = next_offset(OffsetRange("t", "T1", 3, 5, 9), TIME_MS)
    assert (assignment.topic, assignment.partition, assignment.offset) == ("t", 3, 9)
    assert assignment.timestamp is not None
    assert offset_date_time(assignment.timestamp) == "2024-01-02T03:04:05.123Z"
    assert next_offset(OffsetRange("t", "T1", 3, 5, 9), None).timestamp is None


@pytest.mark.parametrize("timestamp_ms", [TIME_MS * 1000, TIME_MS * 10**6, 2**63 - 1, -(2**63)])
def test_record_time_that_is_no_date_is_no_time(timestamp_ms: int) -> None:
    """Producers set what they like; microseconds in the place of milliseconds are common."""
    assert next_offset(OffsetRange("t", "T1", 3, 5, 9), timestamp_ms).timestamp is None
