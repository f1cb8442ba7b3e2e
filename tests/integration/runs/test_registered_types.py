"""Converters and transforms of an extension, from a topic to a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from floe_example.steer_code import Steer

from floe.model.accounting import RangeCounts
from floe.tables.exceptions import DeadLettersLeft
from floe.tables.table_state import Routes
from floe_job.exceptions import SliceRefused
from tests.support.extensions import installed_example, listed_example
from tests.support.job import own_transforms
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import replay

DEAD_LETTERS = "db.letters"
STEER = {"transforms": "steer", "transforms.steer.type": "example.Steer"}
META = "org.apache.iceberg.connect.transforms.KafkaMetadataTransform"
GIVEN: list[Any] = [
    {"id": 1},
    {"id": 2, "do": "drop"},
    {"id": 3, "do": "refuse"},
    {"id": 4, "do": "empty"},
    None,
    b"no json",
    {"id": "many"},
    {"id": 8},
]


__all__ = ["installed_example", "listed_example"]
pytestmark = pytest.mark.usefixtures("listed_example")


def steered(pipeline: MakePipeline, keys: Mapping[str, Any] = STEER) -> Pipeline:
    """Make a connector whose table exists."""
    one = pipeline(**{"floe.deadletter.table": DEAD_LETTERS, **keys})
    one.produce([{"id": 0}])
    one.run()
    return one


def dead_letters(one: Pipeline) -> list[tuple[int, str | None, str, bytes]]:
    rows = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    return sorted((row["offset"], row["table"], row["stage"], row["value"]) for row in rows)


def test_own_converter_writes_rows_and_dead_letters(pipeline: MakePipeline) -> None:
    one = pipeline(**{"value.converter": "LineConverter", "floe.deadletter.table": DEAD_LETTERS})
    one.produce([b"id=1 sauce=hot", b"no pair", b"id=2", None, b"id=3 sauce=mild"])
    one.run()
    assert one.column("id") == ["1", "2", "3"]
    assert dead_letters(one) == [(1, "db.t", "value_converter", b"no pair")]
    assert one.run().slices == ()


def test_own_converter_reads_the_field_that_routes(pipeline: MakePipeline) -> None:
    tables = {"iceberg.tables": None, "iceberg.tables.dynamic-enabled": True, "iceberg.tables.route-field": "to"}
    one = pipeline(**{"value.converter": "LineConverter", **tables})
    one.produce([b"id=1 to=db.a", b"id=2 to=db.b", b"id=3 to=db.a"])
    one.run()
    assert (one.column("id", "db.a"), one.column("id", "db.b")) == (["1", "3"], ["2"])


def test_own_transform_accounts_for_every_record(pipeline: MakePipeline) -> None:
    one = steered(pipeline)
    one.produce(GIVEN)
    plan = one.plan()
    (announcement,) = one.write(plan)
    one.commit(plan)
    assert one.column("id") == [0, 1, 8]
    assert set(one.column("mark")) == {"seen"}
    ((_, counts),) = announcement.counts
    assert counts == RangeCounts(routed=3, dead=2, tombstones=2, filtered_by_transforms=1)
    assert dead_letters(one) == [
        (3, None, "transform", b'{"id": 3, "do": "refuse"}'),
        (6, None, "value_converter", b"no json"),
        (7, "db.t", "coerce", b'{"id": "many"}'),
    ]
    assert one.position() == {0: 9}
    assert one.run().slices == ()


def test_own_transform_that_is_killed_adds_nothing_twice(pipeline: MakePipeline) -> None:
    one = steered(pipeline)
    one.produce(GIVEN)
    plan = one.plan()
    one.write(plan)
    one.write(plan)
    one.commit(plan)
    one.commit(plan)
    one.produce([{"id": 9}])
    one.run()
    assert one.column("id") == [0, 1, 8, 9]


def test_own_transform_refusals_fail_an_intolerant_run(pipeline: MakePipeline) -> None:
    one = pipeline(**STEER)
    one.produce([{"id": 1}, {"id": 3, "do": "refuse"}])
    with pytest.raises(SliceRefused, match=r"1 of the 2 records.*are refused by a transform.*offset 1: as asked"):
        one.write(one.plan())


def test_own_transform_renames_topics_under_one_progress(pipeline: MakePipeline) -> None:
    tables = {"iceberg.tables": "db.a,db.b", "floe.table.db.a.topics": "a", "floe.table.db.b.topics": "b"}
    one = pipeline(**{**STEER, **tables})
    one.produce([{"id": i, "do": "rename", "to": "abc"[i % 3]} for i in range(9)])
    plan = one.plan()
    (announcement,) = one.write(plan)
    one.commit(plan)
    assert (one.column("id", "db.a"), one.column("id", "db.b")) == ([0, 3, 6], [1, 4, 7])
    ((_, counts),) = announcement.counts
    assert counts == RangeCounts(routed=6, filtered=3)
    assert {r.topic for r in announcement.ranges} == {one.topic}
    assert one.position() == {0: 9}


def test_own_transform_topic_names_the_table(pipeline: MakePipeline) -> None:
    one = pipeline(**{**STEER, "iceberg.tables": None, "floe.route.template": "db.t_{topic}"})
    one.produce([{"id": 1, "do": "rename", "to": "x"}, {"id": 2, "do": "rename", "to": "y"}])
    one.run()
    one.produce([{"id": 3, "do": "rename", "to": "x"}])
    one.run()
    assert (one.column("id", "db.t_x"), one.column("id", "db.t_y")) == ([1, 3], [2])


def test_own_transform_is_part_of_the_route_hash(pipeline: MakePipeline) -> None:
    plain = pipeline()
    route = Routes(plain.connector).route(plain.topic, "db.t")
    one, other = plain.changed(**STEER), plain.changed(**STEER, **{"transforms.steer.mark": "other"})
    meta = plain.changed(**{"transforms": "m", "transforms.m.type": META})
    assert Routes(meta.connector).route(plain.topic, "db.t") == route, "it changes no routing"
    assert len({Routes(p.connector).route(plain.topic, "db.t") for p in (plain, one, other)}) == 3


def test_own_transform_changed_between_runs_repeats_nothing(pipeline: MakePipeline) -> None:
    one = steered(pipeline)
    other = one.changed(**{"transforms.steer.mark": "other"})
    other.produce([{"id": 1}])
    other.run()
    plain = other.changed(**{"transforms": None, "transforms.steer.type": None, "transforms.steer.mark": None})
    plain.produce([{"id": 2, "do": "drop"}])
    plain.run()
    rows = {row["id"]: row["mark"] for row in one.table().scan().to_arrow().to_pylist()}
    assert rows == {0: "seen", 1: "other", 2: None}
    assert one.column("id") == [0, 1, 2]


def test_own_transform_in_front_of_metadata_columns(pipeline: MakePipeline) -> None:
    chain = {**STEER, "transforms": "steer,m", "transforms.m.type": META, "transforms.m.field_name": "k"}
    one = steered(pipeline, chain)
    one.produce([{"id": 1, "do": "rename", "to": "elsewhere"}, {"id": 2, "do": "drop"}, {"id": 3}])
    one.run()
    rows = sorted(one.table().scan().to_arrow().to_pylist(), key=lambda row: int(row["id"]))
    assert [(row["id"], row["k_topic"], row["k_offset"]) for row in rows] == [
        (0, one.topic, 0), (1, "elsewhere", 1), (3, one.topic, 3)
    ]  # fmt: skip


def test_own_transform_behind_metadata_fields_sees_them(pipeline: MakePipeline) -> None:
    chain = {**STEER, "transforms": "m,steer", "transforms.m.type": META, "transforms.m.field_name": "k"}
    one = steered(pipeline, chain)
    one.produce([{"id": 1}, None])
    one.run()
    assert one.column("k_offset") == [0, 1]
    assert one.column("mark") == ["seen", "seen"]


def test_own_columns_are_added_beside_the_metadata(pipeline: MakePipeline) -> None:
    chain = {"transforms": "l,m", "transforms.l.type": "example.Label", "transforms.m.type": META}
    one = steered(pipeline, chain)
    one.produce([{"id": 1, "label": "covered"}, b"no json", {"id": 2}])
    one.run()
    assert one.column("label") == ["x", "x", "x"]
    assert one.column("_kafka_metadata_offset") == [0, 1, 3]


def test_own_transform_dead_letters_are_redriven(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    one = steered(pipeline)
    one.produce(GIVEN)
    one.run()
    monkeypatch.setattr(Steer, "apply", own_transforms.Forgive.apply)
    replay(one, dead_letters=True)
    assert one.column("id") == [0, 1, 3, 8]
    with pytest.raises(DeadLettersLeft, match="all 2 dead letters"):
        replay(one, dead_letters=True)
    assert one.column("id") == [0, 1, 3, 8]
