"""The status record of a connector on a real broker: what was committed, what is unread and since when."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import confluent_kafka as ck
import pytest

from floe.model.offsets import Intervals
from floe.status import dead_letters
from floe.status.metrics import metrics
from floe.status.record import StatusRecord
from floe.status.record_codec import dump, parse
from floe.status.record_reader import collect_record, record_after_run
from tests.support.runs.pipeline import MakePipeline, Pipeline

DAY_MS = 86_400_000


def record_of(pizzas: Pipeline, former: StatusRecord | None = None) -> StatusRecord:
    """Collect the record of a connector, through its text."""
    return parse(dump(collect_record(pizzas.connector, pizzas.settings, former)))


def send(pizzas: Pipeline, age_ms: int, partition: int = 0) -> None:
    """Send one record of an age."""
    producer = ck.Producer({"bootstrap.servers": pizzas.bootstrap})
    at = int(time.time() * 1000) - age_ms
    producer.produce(pizzas.topic, b'{"id": 1}', partition=partition, timestamp=at)
    assert producer.flush(30) == 0


def poison(pizzas: Pipeline) -> None:
    """Send records to the control topic that no sink sends, under the connector's key and under others."""
    producer = ck.Producer({"bootstrap.servers": pizzas.bootstrap})
    for key in (pizzas.connector.group_id, "connect-another", None):
        for value in (b"", b"\xc2\x01\xff\xff{", b"\x00" * 1_000, None, b"x" * 600_000):
            headers = [("floe-slice", "x" * 10_000), ("floe-part", None)]
            producer.produce(pizzas.connector.control_topic, value, key, headers=headers)
    assert producer.flush(30) == 0


def test_record_says_what_was_committed_and_what_is_unread(pipeline: MakePipeline, topic: Any) -> None:
    pizzas = pipeline(2, topic=topic(2, retention_ms=str(7 * DAY_MS)), **{"floe.deadletter.table": "db.dead"})
    pizzas.produce([{"id": i} for i in range(10)], 0)
    pizzas.run()
    first = record_of(pizzas)
    assert (first.status.problems, first.status.lag, first.lag_seconds) == ((), 0, None)
    pizzas.produce([{"id": 10}, b"no json", None, b"\xff" * 300], 0)
    plan = pizzas.run()
    send(pizzas, DAY_MS, partition=1)
    send(pizzas, 1_000, partition=1)
    poison(pizzas)
    record = record_of(pizzas, replace(first, dead_letters_at=None))

    assert (record.status.problems, record.status.lag) == ((), 2)
    assert record.held[0] == replace(record.held[0], table="db.t", partition=0, spans=Intervals(((0, 14),)), more=0)
    tables = {one.name: one for one in record.status.tables or ()}
    snapshot = pizzas.table("db.t").current_snapshot()
    assert snapshot is not None and tables["db.t"].commits[0].snapshot_id == snapshot.snapshot_id
    assert [one.rows for one in tables["db.t"].commits] == [1, 10]
    assert [point.rows for point in record.history] == [1] and record.rows == 1

    files = {task.file.file_path for task in pizzas.table("db.t").scan().plan_files()}
    announced = {file.path for event in record.events for file in event.files if file.table == "db.t"}
    assert announced == files
    kinds = {event.kind for event in record.events if event.commit_id == str(plan.commit_id)}
    assert {"DATA_WRITTEN", "DATA_COMPLETE", "COMMIT_TO_TABLE", "COMMIT_COMPLETE"} <= kinds
    assert [event.offset for event in record.events] == sorted(event.offset for event in record.events)

    assert record.lag_seconds == pytest.approx(86_400, abs=120)
    assert record.seconds_until_lost == pytest.approx(6 * 86_400, abs=120)

    assert record.dead_letters is not None
    assert sum(one.count for one in record.dead_letters) == 2
    samples = {one.offset: one for reason in record.dead_letters for one in reason.samples}
    assert (samples[11].value, samples[11].size) == (b"no json".hex(), 7)
    assert (samples[13].value, samples[13].size) == ("ff" * 256, 300)
    assert samples[11].message and all(one.table == "db.t" and one.stage for one in record.dead_letters)
    assert (tables["db.t"].open_dead_letters, tables["db.dead"].open_dead_letters) == (2, 2)

    text = metrics([record], datetime.now(UTC))
    assert f'floe_lag_records{{connector="{pizzas.connector.name}",topic="{pizzas.topic}",partition="1"}} 2\n' in text
    assert f'floe_dead_letters_open{{connector="{pizzas.connector.name}",table="db.t"}} 2\n' in text


@pytest.mark.full
def test_later_records_read_what_is_new_only(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pizzas = pipeline(1, **{"floe.deadletter.table": "db.dead"})
    pizzas.produce([{"id": 1}, b"no json"])
    pizzas.run()
    first = record_of(pizzas)
    monkeypatch.setattr(dead_letters, "rows_filter", None)  # not read: looked up a moment ago
    pizzas.produce([{"id": 2}])
    pizzas.run()
    second = record_of(pizzas, first)
    assert second.status.problems == () and second.dead_letters == first.dead_letters
    assert second.events[: len(first.events)] == first.events and len(second.events) > len(first.events)
    assert second.rows == 1
    after = record_after_run(second.status, second, {}, "db.dead")
    assert replace(after, history=second.history) == replace(second, lag_seconds=None, seconds_until_lost=None)


@pytest.mark.full
def test_deleted_control_topic_leaves_no_events(pipeline: MakePipeline, admin: Any) -> None:
    pizzas = pipeline(1)
    pizzas.produce([{"id": 1}])
    pizzas.run()
    first = record_of(pizzas)
    admin.delete_topics([pizzas.connector.control_topic])[pizzas.connector.control_topic].result(30)
    second = record_of(pizzas, first)
    assert (second.events, second.status.problems) == ((), ())
