"""Kafka's and Debezium's transforms, from a topic to a table: what is left out, refused, changed, replayed and redriven."""

from __future__ import annotations

import json
from typing import Any

import pytest

from floe.model.accounting import RangeCounts
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import replay

DEAD_LETTERS = "db.letters"
TOMBSTONES = {"predicates": "none", "predicates.none.type": "RecordIsTombstone"}
FILTER = {
    **TOMBSTONES,
    "transforms": "drop",
    "transforms.drop.type": "Filter",
    "transforms.drop.predicate": "none",
}
BY_HEADER = {
    "predicates": "marked",
    "predicates.marked.type": "HasHeaderKey",
    "predicates.marked.name": "mark",
}
MARKED: dict[str, Any] = {"headers": [("mark", b"1")], "key": b"no JSON"}
META = {
    "transforms.m.type": "KafkaMetadataTransform",
    "transforms.m.field_name": "k",
    "transforms.m.include_key": "true",
}


def rows(one: Pipeline, *names: str) -> list[tuple[Any, ...]]:
    found = [tuple(row[name] for name in names) for row in one.table().scan().to_arrow().to_pylist()]
    return sorted(found, key=repr)


def dead_letters(one: Pipeline) -> list[tuple[int, str | None, str, bytes]]:
    found = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    return sorted((row["offset"], row["table"], row["stage"], row["value"]) for row in found)


def counted(one: Pipeline) -> RangeCounts:
    plan = one.plan()
    (announcement,) = one.write(plan)
    one.commit(plan)
    ((_, counts),) = announcement.counts
    return counts


def test_masked_and_filtered_records_are_each_counted_once(pipeline: MakePipeline) -> None:
    chain = {
        **FILTER,
        "transforms": "drop,cast,mask,m",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "n:int8",
        "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
        "transforms.mask.fields": "secret",
        **META,
    }
    one = pipeline(**{"floe.deadletter.table": DEAD_LETTERS, **chain})
    one.produce([{"id": 0, "n": 1, "secret": "x"}])
    one.run()
    one.produce([{"id": 1, "n": 300}, None, b"no json", {"id": 2, "n": 2, "secret": "y", "more": 1}, {"id": "many"}])
    counts = counted(one)
    assert counts == RangeCounts(routed=4, filtered_by_transforms=1)
    assert rows(one, "id", "n", "secret", "more", "k_offset") == [(0, 1, "", None, 0), (2, 2, "", 1, 4)]
    assert dead_letters(one) == [
        (1, "db.t", "transform", b'{"id": 1, "n": 300}'),
        (3, "db.t", "value_converter", b"no json"),
        (5, "db.t", "coerce", b'{"id": "many"}'),
    ]
    assert one.run().slices == ()


def test_chain_changed_between_runs_redrives_and_repeats_nothing(pipeline: MakePipeline) -> None:
    cast = {"transforms": "cast", "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value"}
    one = pipeline(**{"floe.deadletter.table": DEAD_LETTERS, **cast, "transforms.cast.spec": "n:int8"})
    one.produce([{"id": 0, "n": 1}])
    one.run()
    one.produce([{"id": 1, "n": 300}, {"id": 2, "n": 3}])
    one.run()
    assert rows(one, "id", "n") == [(0, 1), (2, 3)]
    wider = one.changed(**{"transforms.cast.spec": "n:int32"})
    wider.produce([{"id": 3, "n": 300}])
    wider.run()
    replay(wider, dead_letters=True)
    assert rows(one, "id", "n") == [(0, 1), (1, 300), (2, 3), (3, 300)]


def test_range_replayed_through_a_chain_that_filters(pipeline: MakePipeline) -> None:
    headed = {
        **BY_HEADER,
        "transforms": "keep,m",
        "transforms.keep.type": "Filter",
        "transforms.keep.predicate": "marked",
        "transforms.keep.negate": "true",
    }
    one = pipeline(**{"transforms": "m", **META})
    one.produce([{"id": 0}, {"id": 1}], record=MARKED)
    one.produce([{"id": 2}, None, {"id": 3}])
    one.run()
    assert one.column("id") == [0, 1, 2, 3]
    filtering = one.changed(**headed)
    replay(filtering, tables=["db.t"], overlap="replace")
    assert one.column("id") == [0, 1]
    filtering.produce([{"id": 4}])
    filtering.run()
    assert one.column("id") == [0, 1]


def test_keys_made_of_some_values_leave_others_as_they_are(pipeline: MakePipeline) -> None:
    chain = {
        **BY_HEADER,
        "transforms": "key,m",
        "transforms.key.type": "ValueToKey",
        "transforms.key.fields": "id",
        "transforms.key.predicate": "marked",
        "transforms.key.negate": "true",
        **META,
    }
    one = pipeline(**{"floe.deadletter.table": DEAD_LETTERS, **chain})
    one.produce([{"id": 0}])
    one.produce([{"id": 1}, None], record=MARKED)
    one.produce([{"id": 2}])
    assert counted(one) == RangeCounts(routed=3, tombstones=1)
    assert rows(one, "id", "k_key") == [(0, '{"id":0}'), (1, "no JSON"), (2, '{"id":2}')]


def test_debezium_events_with_and_without_schemas(pipeline: MakePipeline) -> None:
    unwrap = {
        "value.converter.schemas.enable": "true",
        "transforms": "unwrap",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    }
    one = pipeline(**{"floe.deadletter.table": DEAD_LETTERS, **unwrap})
    row = {"type": "struct", "optional": True, "fields": [{"field": "id", "type": "int64"}]}
    fields = [{**row, "field": "before"}, {**row, "field": "after"}, {"field": "op", "type": "string"}]
    schema = {"type": "struct", "name": "x.Envelope", "fields": fields}
    events = [({"before": None, "after": {"id": 1}}, "c"), ({"before": {"id": 1}, "after": None}, "d")]
    typed = [json.dumps({"schema": schema, "payload": {**images, "op": op}}).encode() for images, op in events]
    one.produce([typed[0]])
    one.run()
    one.produce([typed[1], None, b"no json", typed[0]])
    counts = counted(one)
    assert (counts.total, counts.dead) == (4, 1)
    assert rows(one, "id", "__deleted") == [(1, "false"), (1, "false"), (1, "true")]
    assert [letter[:3] for letter in dead_letters(one)] == [(3, None, "value_converter")]


TIMES = {
    "transforms": "insert,m",
    "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.insert.timestamp.field": "at",
    "transforms.m.type": "KafkaMetadataTransform",
    "transforms.m.field_name": "k",
}


def test_record_without_a_time_has_null_and_no_day_of_1969(pipeline: MakePipeline) -> None:
    one = pipeline(**{**TIMES, "floe.deadletter.table": DEAD_LETTERS})
    one.produce([{"id": 1}, {"id": "x"}], record={"timestamp": -1})
    one.produce([{"id": 2}], record={"timestamp": 5})
    one.run()
    assert rows(one, "id", "at", "k_timestamp") == [(1, None, None), (2, 5, 5)]
    (letter,) = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    assert (letter["offset"], letter["timestamp"]) == (1, None)


def test_record_without_a_time_is_refused_by_a_router_that_needs_one(pipeline: MakePipeline) -> None:
    router = {
        "transforms": "r",
        "transforms.r.type": "org.apache.kafka.connect.transforms.TimestampRouter",
        "transforms.r.topic.format": "${topic}",
    }
    one = pipeline(**{**router, "floe.deadletter.table": DEAD_LETTERS})
    one.produce([{"id": 1}], record={"timestamp": -1})
    one.produce([{"id": 2}], record={"timestamp": 5})
    one.run()
    assert one.column("id") == [2]
    assert [(offset, stage) for offset, _, stage, _ in dead_letters(one)] == [(0, "transform")]


def test_column_of_times_is_told_when_a_table_gets_it(pipeline: MakePipeline, caplog: pytest.LogCaptureFixture) -> None:
    field = {"type": "int32", "name": "org.apache.kafka.connect.data.Time", "version": 1, "field": "at"}
    fields = [{"type": "int64", "field": "id"}, field]
    values = [{"schema": {"type": "struct", "fields": fields}, "payload": {"id": i, "at": 1000}} for i in range(3)]
    one = pipeline(**{"value.converter.schemas.enable": "true"})
    one.produce(values)
    with caplog.at_level("WARNING"):
        one.run()
    assert [record.message for record in caplog.records if "Spark reads no table with one" in record.message] != []
    caplog.clear()
    one.produce(values)
    one.run()
    assert not [record for record in caplog.records if "Spark" in record.message]
