"""Which table a record goes to: by field, header, key and topic; and what becomes of records that have none."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

from floe.catalogs.client import CatalogClient
from floe.control.announcement import Announcement
from floe.model.accounting import RangeCounts
from floe.operators.task_context import with_topics
from floe_job.exceptions import SliceRefused
from tests.support.runs.pipeline import MakePipeline, Pipeline

DYNAMIC: dict[str, Any] = {
    "iceberg.tables": None,
    "iceberg.tables.dynamic-enabled": True,
    "iceberg.tables.route-field": "kind",
}


def written(one: Pipeline) -> list[Announcement]:
    plan = one.plan()
    announcements = one.write(plan)
    one.commit(plan)
    return announcements


def counts(announcements: list[Announcement]) -> RangeCounts:
    return sum((b for one in announcements for _, b in one.counts), RangeCounts())


def orders_of(kinds: list[Any], start: int = 0) -> list[dict[str, Any]]:
    return [{"id": start + i, "kind": kind} for i, kind in enumerate(kinds)]


def test_static_tables_get_values_that_match_completely(pipeline: MakePipeline) -> None:
    one = pipeline(
        2,
        **{
            "iceberg.tables": "db.a,db.ab,db.none",
            "iceberg.tables.route-field": "to.kind",
            "iceberg.table.db.a.route-regex": "a",
            "iceberg.table.db.ab.route-regex": "a|b+",
            "floe.route.on-unroutable": "drop",
        },
    )
    kinds = ["a", "b", "bb", "ab", "A", None, 7]
    one.produce([{"id": i, "to": {"kind": kind}} for i, kind in enumerate(kinds)])
    one.produce([{"id": 90}, {"id": 91, "to": "a"}])
    found = counts(written(one))
    assert (found.routed, found.filtered, found.dropped) == (3, 3, 3)
    assert one.column("id", "db.a") == [0]
    assert one.column("id", "db.ab") == [0, 1, 2]


def test_tables_named_by_records_are_created_and_reused(pipeline: MakePipeline) -> None:
    one = pipeline(2, **DYNAMIC, **{"floe.route.on-unroutable": "drop"})
    one.produce(orders_of(["db.x", "DB.Y", "other.z", "x", "db.x"]))
    found = counts(written(one))
    assert (found.routed, found.dropped) == (4, 1)
    one.produce([{"id": 10, "kind": "db.x", "more": 1}, {"id": 11, "kind": "db.new"}])
    one.run()
    assert one.column("id", "db.x") == [0, 4, 10]
    assert [one.column("id", name) for name in ("db.y", "other.z", "db.new")] == [[1], [2], [11]]


def test_record_without_table_name_fails_run_by_default(pipeline: MakePipeline) -> None:
    one = pipeline(**DYNAMIC)
    one.produce([{"id": 1, "kind": "db.x"}, {"id": 2}])
    with pytest.raises(SliceRefused, match=r"1 of the 2 records.*offset 1: it has no route value.*on-unroutable"):
        one.write(one.plan())


def test_missing_table_without_auto_create_is_no_destination(pipeline: MakePipeline) -> None:
    one = pipeline(**DYNAMIC, **{"floe.route.on-unroutable": "drop"})
    one.produce(orders_of(["db.x"]))
    one.run()
    strict = one.changed(**{"iceberg.tables.auto-create-enabled": False})
    strict.produce(orders_of(["db.x", "db.y"], start=5))
    found = counts(written(strict))
    assert (found.routed, found.dropped) == (1, 1)
    assert one.column("id", "db.x") == [0, 5]


@pytest.mark.parametrize("on_conflict", ["dead-letter", "fail"])
def test_existing_table_is_not_changed_by_its_guessed_schema(pipeline: MakePipeline, on_conflict: str) -> None:
    keys = {**DYNAMIC, "iceberg.tables.evolve-schema-enabled": False, "floe.schema.on-conflict": on_conflict}
    one = pipeline(**keys)
    CatalogClient.of(one.connector).create("db.x", Schema(NestedField(1, "v", StringType(), required=False)))
    one.produce(
        [{"kind": "db.x", "v": 1, "unwanted": True}, {"kind": "db.x", "v": "x"}, {"kind": "db.x", "": 1, "v": 2}]
    )
    one.run()
    assert one.table("db.x").schema().column_names == ["v"]
    assert one.column("v", "db.x") == ["1", "2", "x"]


def test_new_tables_of_one_run_are_capped(pipeline: MakePipeline) -> None:
    one = pipeline(**DYNAMIC, **{"floe.route.on-unroutable": "drop", "floe.route.max-new-tables": 3})
    one.produce(orders_of([f"db.t{i}" for i in range(8)]))
    found = counts(written(one))
    assert (found.routed, found.dropped) == (3, 5)


@pytest.mark.parametrize(
    ("keys", "record", "table"),
    [
        ({"floe.route.by": "header", "floe.route.header": "to", "floe.route.namespace": "db"},
         {"headers": [("to", b"First"), ("to", b"Last")]}, "db.last"),
        ({"floe.route.by": "key", "floe.route.template": "by_key.k_{value}"}, {"key": b"42"}, "by_key.k_42"),
        ({"floe.route.template": "raw.{topic}"}, {}, None),
    ],
    ids=["header", "key", "topic"],
)  # fmt: skip
def test_header_key_and_topic_name_tables_too(
    pipeline: MakePipeline, keys: dict[str, Any], record: dict[str, Any], table: str | None
) -> None:
    one = pipeline(**{"iceberg.tables": None, **keys})
    one.produce([{"id": 1}, {"id": 2}], record=record)
    one.run()
    name = table or f"raw.{one.topic.replace('-', '_')}"
    assert one.column("id", name) == [1, 2]


def test_tables_by_topic_get_records_of_no_other(pipeline: MakePipeline) -> None:
    first = pipeline()
    second = pipeline()
    both = first.changed(
        **{
            "topics": f"{first.topic},{second.topic}",
            "iceberg.tables": "db.one,db.all",
            "floe.table.db.one.topics": first.topic,
        }
    )
    first.produce([{"id": 1}])
    second.produce([{"id": 2}])
    both.run()
    assert both.column("id", "db.one") == [1]
    assert both.column("id", "db.all") == [1, 2]


@pytest.mark.parametrize("field", ["_kafka_metadata_topic", "_kafka_metadata.topic"])
def test_kafka_metadata_routes_as_in_the_sink(pipeline: MakePipeline, field: str) -> None:
    """By the topic that the transform writes, over a field of that name that the producer wrote."""
    first, second = pipeline(), pipeline()
    both = first.changed(
        **{
            "topics": f"{first.topic},{second.topic}",
            "iceberg.tables": "db.one,db.two",
            "iceberg.tables.route-field": field,
            "iceberg.table.db.one.route-regex": first.topic,
            "iceberg.table.db.two.route-regex": second.topic,
            "transforms": "meta",
            "transforms.meta.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
            "transforms.meta.nested": str("." in field).lower(),
        }
    )
    forged = {"_kafka_metadata_topic": first.topic, "_kafka_metadata": {"topic": first.topic}}
    first.produce([{"id": 1}, None])
    second.produce([{"id": 2}, {"id": 3, **forged}])
    announced = written(both)
    assert (counts(announced).routed, counts(announced).tombstones) == (3, 1)
    assert both.column("id", "db.one") == [1]
    assert both.column("id", "db.two") == [2, 3]
    found = both.table("db.two").scan(selected_fields=(field,)).to_arrow().to_pylist()
    assert [row["_kafka_metadata"]["topic"] if "." in field else row[field] for row in found] == [second.topic] * 2


def test_topics_by_expression_are_looked_up_by_each_run(pipeline: MakePipeline, topic: Callable[..., str]) -> None:
    prefix = f"shop{uuid.uuid4().hex[:8]}"
    first = topic(name=f"{prefix}.a")
    one = pipeline(**{"topics": None, "topics.regex": rf"{prefix}\.[ab].*", "topic": first})
    resolved = Pipeline(one.bootstrap, first, with_topics(one.connector, one.settings))
    assert resolved.connector.topics == (first,)
    resolved.produce([{"id": 1}])
    resolved.run()
    second = topic(name=f"{prefix}.b")
    topic(name=f"{prefix}.c")
    again = Pipeline(one.bootstrap, second, with_topics(one.connector, one.settings))
    assert again.connector.topics == (first, second)
    again.produce([{"id": 2}])
    again.run()
    assert again.column("id") == [1, 2]
