"""Bad records: kept and counted; other records are not affected."""

from __future__ import annotations

from typing import Any

import confluent_kafka as ck
import pytest

from floe.exceptions import FloeError
from floe.model.accounting import TableCounts
from floe_job.exceptions import SliceRefused, TooManyDeadLetters
from tests.support.runs.pipeline import MakePipeline, Pipeline

DEAD_LETTERS = "db.letters"
GOOD, BAD = b'{"id": 1}', [b"no json", b'{"id": "x"}', b"[1]"]


def with_dead_letters(pipeline: MakePipeline, partitions: int = 1, **keys: Any) -> Pipeline:
    one = pipeline(partitions, **{"floe.deadletter.table": DEAD_LETTERS, **keys})
    one.produce([GOOD], partition=0)
    one.run()
    return one


def dead_letters(one: Pipeline) -> list[tuple[int, str | None, str, bytes]]:
    rows = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    return sorted((row["offset"], row["table"], row["stage"], row["value"]) for row in rows)


def test_bad_records_are_kept_whole_and_their_neighbours_land(pipeline: MakePipeline) -> None:
    one = with_dead_letters(pipeline)
    one.produce([b'{"id": 2}', *BAD, b'{"id": 3}'], record={"key": b"k", "headers": [("h", b"v"), ("n", None)]})
    plan = one.plan()
    (announcement,) = one.write(plan)
    one.commit(plan)
    assert one.column("id") == [1, 2, 3]
    assert dead_letters(one) == [
        (2, "db.t", "value_converter", BAD[0]), (3, "db.t", "coerce", BAD[1]), (4, "db.t", "value_converter", BAD[2])
    ]  # fmt: skip
    row = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()[0]
    assert (row["key"], row["topic"], row["kind"], row["connector"]) == (b"k", one.topic, "dead", one.connector.name)
    assert row["headers"] == [{"key": "h", "value": b"v"}, {"key": "n", "value": None}]
    assert row["commit_id"] == str(plan.commit_id)
    assert announcement.tables["db.t"].counts == TableCounts(assigned=5, rows=2, dead=3)
    assert announcement.tables[DEAD_LETTERS].counts == TableCounts(assigned=3, rows=3)


def test_run_killed_after_dead_letters_repeats_nothing(pipeline: MakePipeline) -> None:
    one = with_dead_letters(pipeline)
    one.produce([b'{"id": 2}', *BAD])
    plan = one.plan()
    one.write(plan)
    gone = one.table()
    one.connector  # noqa: B018
    from floe.commit.table_commit import commit_table
    from floe.control.table_work import TableWork
    from floe.tables.lake import Lake

    found = one.committer(plan).announcements([plan.slice_id(plan.slices[0])])[plan.slice_id(plan.slices[0])]
    table_files = next(s for s in found.files if s.table == DEAD_LETTERS)
    first = commit_table(Lake.of(one.connector, plan.cluster_id), TableWork.of(plan, found, table_files), 5)
    again = commit_table(Lake.of(one.connector, plan.cluster_id), TableWork.of(plan, found, table_files), 5)
    assert (first.already, again.already) == (False, True)
    assert gone.current_snapshot() == one.table().current_snapshot()
    # the run is given up: the next one reads the range again, and more
    one.produce([b"worse"])
    one.run()
    assert one.column("id") == [1, 2]
    assert [offset for offset, *_ in dead_letters(one)] == [2, 3, 4, 5]


def test_without_tolerance_a_bad_record_fails_the_run(pipeline: MakePipeline) -> None:
    one = pipeline(**{"errors.tolerance": "none"})
    one.produce([GOOD, b"no json"])
    with pytest.raises(SliceRefused, match=r"1 of the 2 records.*offset 1: not JSON.*floe\.deadletter\.table"):
        one.write(one.plan())


def test_bad_records_are_counted_over_all_partitions(pipeline: MakePipeline) -> None:
    pizzas = pipeline(3, **{"tasks.max": 3})
    pizzas.produce([{"id": 0}], partition=0)
    pizzas.run()
    for partition in range(3):
        pizzas.produce([b"no json", {"id": "abc"}, {"id": 1}], partition=partition)
    with pytest.raises(SliceRefused) as caught:
        pizzas.run()
    said = str(caught.value)
    assert "6 of the 9 records just read cannot become rows of table 'db.t' (3 Malformed, 3 Unconvertible)" in said
    assert "(the first 5 are named)" in said
    assert "partition 0 offset" in said
    assert "partition 2 offset" in said
    assert "errors.tolerance=all" in said
    assert pizzas.column("id") == [0]
    assert not pizzas.backlogs()


def test_tolerated_without_a_place_they_are_counted(pipeline: MakePipeline) -> None:
    one = pipeline(**{"errors.tolerance": "all"})
    one.produce([GOOD, *BAD])
    plan = one.plan()
    (announcement,) = one.write(plan)
    one.commit(plan)
    # the types of the first records count: "x" is no number
    assert announcement.tables.keys() == {"db.t"}
    assert announcement.tables["db.t"].counts == TableCounts(assigned=4, rows=1, dead=3)


def test_too_many_fail_the_run_before_anything_is_announced(pipeline: MakePipeline) -> None:
    one = with_dead_letters(pipeline, **{"floe.deadletter.max-ratio": "0.5"})
    one.produce([b'{"id": 2}', *BAD])
    plan = one.plan()
    with pytest.raises(TooManyDeadLetters, match=r"3 of 4 records are bad.*max-ratio is 0\.5"):
        one.write(plan)
    assert one.committer(plan).announcements([]) == {}


def test_a_topic_of_letters_gets_them_with_connects_headers(pipeline: MakePipeline) -> None:
    one = pipeline()
    topic = f"{one.topic}-letters"
    one = one.changed(
        **{
            "errors.deadletterqueue.topic.name": topic,
            "errors.deadletterqueue.topic.replication.factor": 1,
            "errors.deadletterqueue.context.headers.enable": True,
        }
    )
    one.produce([GOOD, *BAD], record={"key": b"k"})
    one.run()
    consumer = ck.Consumer({"bootstrap.servers": one.bootstrap, "group.id": "letters", "auto.offset.reset": "earliest"})
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    messages = consumer.consume(3, 10)
    consumer.close()
    assert [m.value() for m in messages] == BAD
    headers: dict[str, bytes] = dict(messages[0].headers())  # type: ignore[arg-type]
    assert headers["__connect.errors.topic"] == one.topic.encode()
    assert headers["__connect.errors.offset"] == b"1"
    assert messages[0].key() == b"k"


def test_what_a_table_owed_is_judged_when_it_catches_up(pipeline: MakePipeline) -> None:
    from tests.support.runs.mishaps import BAD as BEHIND
    from tests.support.runs.mishaps import GOOD as OTHER
    from tests.support.runs.mishaps import replace_table, two_tables

    one = two_tables(pipeline).changed(**{"floe.deadletter.table": DEAD_LETTERS})
    one.produce([{"id": 0}])
    one.run()
    one.produce([b"no json", b'{"id": 1}'])
    plan = one.plan()
    one.write(plan)
    replace_table(one, BEHIND)
    with pytest.raises(FloeError, match="is behind"):
        one.commit(plan)
    while one.run(dropped_tables={BEHIND: "continue"}).slices:
        pass
    assert one.column("id", OTHER) == [0, 1]
    assert [(offset, table) for offset, table, *_ in dead_letters(one)] == [(1, BEHIND), (1, OTHER)]


def test_spelling_that_differs_by_case_only_never_becomes_a_column(pipeline: MakePipeline) -> None:
    """In the run that makes the table, between its tasks, in a later run, and inside a struct."""
    one = pipeline(3, **{"floe.deadletter.table": DEAD_LETTERS})
    one.produce([{"ID": 1, "id": 2}], partition=0)
    one.produce([{"Price": 1}], partition=1)
    one.produce([{"price": 2}, {"s": {"a": 1, "A": 2}}], partition=2)
    one.run()
    one.produce([{"PRICE": 3}, {"s": {"b": 1}}, {"s": {"B": 2}}], partition=0)
    one.run()
    names = one.table().schema().column_names
    assert len(set(map(str.lower, names))) == len(names)
    assert one.table().scan().count() + len(dead_letters(one)) == 7
    rows = one.table(DEAD_LETTERS).scan().to_arrow().to_pylist()
    reasons = [row["reason"] for row in rows]
    assert len(reasons) == 5 and all("differs by case only from" in reason for reason in reasons), reasons
    assert {row["stage"] for row in rows} == {"schema"}


def test_two_spellings_are_two_columns_where_that_is_set(pipeline: MakePipeline) -> None:
    one = pipeline(**{"floe.schema.case": "sensitive", "errors.tolerance": "none"})
    one.produce([{"ID": 1, "id": 2}])
    one.run()
    assert one.table().scan().to_arrow().to_pylist() == [{"ID": 1, "id": 2}]


def test_table_of_another_with_both_spellings_is_written_to(pipeline: MakePipeline) -> None:
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField

    from floe.catalogs.client import CatalogClient

    one = pipeline(**{"errors.tolerance": "none"})
    both = Schema(NestedField(1, "ID", LongType()), NestedField(2, "id", LongType()))
    CatalogClient.of(one.connector).create("db.t", both)
    one.produce([{"ID": 1, "id": 2, "x": 3}])
    one.run()
    assert one.table().scan().to_arrow().to_pylist() == [{"ID": 1, "id": 2, "x": 3}]


def test_column_of_a_transform_beside_one_in_another_case_is_refused_by_the_table(pipeline: MakePipeline) -> None:
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField

    from floe.catalogs.client import CatalogClient
    from floe.tables.exceptions import TableRefused

    kind = "org.apache.iceberg.connect.transforms.KafkaMetadataTransform"
    one = pipeline(**{"transforms": "meta", "transforms.meta.type": kind})
    loud = Schema(NestedField(1, "id", LongType()), NestedField(2, "_KAFKA_METADATA_OFFSET", LongType()))
    CatalogClient.of(one.connector).create("db.t", loud)
    one.produce([{"id": 1}])
    plan = one.plan()
    with pytest.raises(
        TableRefused, match=r"'_kafka_metadata_offset', which a transform adds.*'_KAFKA_METADATA_OFFSET' by case"
    ):
        one.write(plan)
