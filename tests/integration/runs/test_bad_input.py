"""What comes in broken: the error names the thing and the next step, nothing is announced, the position stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogMisconfigured, CatalogUnreachable, TableMissing, TableUnsuitable
from floe.exceptions import FloeError, Terminal
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import ControlTopicUnusable, GroupInUse, KafkaMisconfigured, KafkaUnreachable, TopicMissing
from floe.kafka.settings import KafkaSettings
from floe.model.exceptions import PlanRefused
from floe.planning.live_plan import draft_plan
from stack.settings import free_port
from tests.support.runs.pipeline import MakePipeline, Pipeline


def refused(pipeline: Pipeline, error: type[FloeError], match: str) -> None:
    """Run once and see the error, no announcement, and the position where it was."""
    plan = pipeline.plan()
    before = pipeline.position()
    with pytest.raises(error, match=match):
        pipeline.write(plan)
    assert pipeline.committer(plan).announcements([]) == {}
    assert pipeline.position() == before


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'"a text"', "object"),
        (b"[1, 2]", "object"),
        (b"5", "object"),
        (b"", "."),
        (b"not json", "."),
        (b'{"id": 1', "."),
        (b'{"id": 1}{"id": 2}', "."),
        (b'{"id": "\xff\xfe"}', "(?i:utf-8)"),
        (b'{"id": NaN}', "."),
        (b'{"id": 123456789012345678901234567890}', "."),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, "."),
    ],
    ids=["text", "list", "number", "empty", "junk", "cut", "two", "utf8", "nan", "huge", "deep"],
)
def test_record_without_json_object_is_named_by_its_offset(pipeline: MakePipeline, value: bytes, reason: str) -> None:
    pizzas = pipeline(partitions=2)
    pizzas.produce([{"id": 1}, {"id": 2}], partition=1)
    pizzas.produce([value], partition=1)
    refused(pizzas, Terminal, rf"topic '{pizzas.topic}' partition 1 offset 2: .*{reason}")


def test_one_bad_record_in_100_000_is_named(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce([{"id": i} for i in range(70_001)])
    pizzas.produce([b'{"id": "oops'])
    pizzas.produce([{"id": i} for i in range(29_998)])
    refused(pizzas, Terminal, rf"topic '{pizzas.topic}' partition 0 offset 70001: ")


def test_value_unfit_for_column_is_named_and_adds_no_column(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce([{"id": 1}])
    pizzas.run()
    pizzas.produce([{"id": "many", "tip": 1}])
    refused(pizzas, Terminal, r"offset 1: .*'id'")
    assert pizzas.table().schema().column_names == ["id"]


def test_what_was_refused_lands_once_the_table_was_mended(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce([{"price": 1}])
    pizzas.run()
    pizzas.produce([{"price": 2.5}])
    refused(pizzas, Terminal, "offset 1")
    with pizzas.table().update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("price")
    pizzas.run()
    assert sorted(row["price"] or 0 for row in pizzas.table().scan().to_arrow().to_pylist()) == [0, 2.5]


def test_tombstones_are_counted_and_write_no_row(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce([None, {"id": 1}, None, None, {"id": 2}])
    plan = pizzas.plan()
    (announcement,) = pizzas.write(plan)
    pizzas.commit(plan)
    assert announcement.counts[0][1].tombstones == 3
    assert pizzas.column("id") == [1, 2]


def test_a_first_record_that_is_a_tombstone_does_no_harm(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce([None])
    pizzas.run()
    pizzas.produce([{"id": 1}])
    pizzas.run()
    assert pizzas.column("id") == [1]


def test_records_without_fields_cannot_create_table(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce([{}, {"a": None}, {"b": []}])
    refused(pizzas, Terminal, "cannot be created: none of the 3 records")
    pizzas.produce([{"id": 1}])
    pizzas.run()
    assert pizzas.table().scan().to_arrow().num_rows == 4


def test_a_text_of_50_mb_lands_whole(pipeline: MakePipeline, topic: Callable[..., str]) -> None:
    pizzas = pipeline(topic=topic(1, max_message_bytes=str(60 * 1024 * 1024)))
    text = "x" * (50 * 1024 * 1024)
    pizzas.produce([{"id": 1, "text": "short"}])
    pizzas.produce([{"id": 2, "text": text}], **{"message.max.bytes": 60 * 1024 * 1024})
    pizzas.produce([{"id": 3, "text": "short"}])
    pizzas.run()
    assert pizzas.column("id") == [1, 2, 3]
    assert [len(value) for value in pizzas.column("text")] == [5, 5, len(text)]


def test_a_topic_that_does_not_exist_is_named(pipeline: MakePipeline) -> None:
    pizzas = pipeline().changed(topics="no-such-topic")
    with pytest.raises(TopicMissing, match=r"'no-such-topic' does not exist.*Create it"):
        pizzas.plan()


def test_a_missing_control_topic_is_created_and_is_not_compacted(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.plan()
    cluster = Cluster.of_control(pizzas.settings)
    assert cluster.topics([pizzas.connector.control_topic])


def test_a_compacted_control_topic_is_refused(pipeline: MakePipeline, topic: Callable[..., str]) -> None:
    compacted = topic(1, cleanup_policy="compact")
    pizzas = pipeline().changed(**{"iceberg.control.topic": compacted})
    with pytest.raises(ControlTopicUnusable, match=rf"'{compacted}' is compacted.*cleanup.policy=delete"):
        pizzas.plan()


def test_a_control_topic_that_may_not_be_created_is_named(pipeline: MakePipeline) -> None:
    pizzas = pipeline().changed(**{"iceberg.control.topic": "__consumer_offsets"})
    with pytest.raises(ControlTopicUnusable, match="__consumer_offsets"):
        pizzas.plan()


def test_a_broker_that_is_down_is_named_with_the_connection(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("floe.kafka.admin.REQUEST_TIMEOUT", 1.0)
    pizzas = pipeline()
    address = f"127.0.0.1:{free_port()}"
    settings = KafkaSettings.of(pizzas.connector, {"bootstrap.servers": address, "log_level": 0})
    with pytest.raises(KafkaUnreachable, match=rf"{address} did not answer.*connection 'kafka_default'"):
        draft_plan(pizzas.connector, settings)


def test_connection_without_brokers_or_bad_setting_is_refused(pipeline: MakePipeline) -> None:
    connector = pipeline().connector
    with pytest.raises(KafkaMisconfigured, match=r"names no brokers.*bootstrap\.servers"):
        KafkaSettings.of(connector, {})
    settings = KafkaSettings.of(connector, {"bootstrap.servers": "localhost:1", "no.such.key": "x"})
    with pytest.raises(KafkaMisconfigured, match=r"^the Airflow connection 'kafka_default' is not.*no\.such\.key"):
        Cluster.of_source(settings)


def test_bad_connector_setting_is_not_blamed_on_connection(pipeline: MakePipeline) -> None:
    one = pipeline(**{"consumer.override.broker.address.family": "v5"})
    with pytest.raises(
        KafkaMisconfigured, match=r"with the connector's consumer\.override\.\* is not.*broker\.address\.family"
    ):
        Cluster.of_source(one.settings)


def test_a_group_with_members_is_refused(pipeline: MakePipeline) -> None:
    import confluent_kafka as ck

    pizzas = pipeline()
    pizzas.produce([{"id": 1}])
    member = ck.Consumer(
        {
            "bootstrap.servers": pizzas.bootstrap,
            "group.id": pizzas.connector.group_id,
            "enable.auto.commit": False,
        }
    )
    assigned: list[object] = []
    member.subscribe([pizzas.topic], on_assign=lambda _consumer, partitions: assigned.extend(partitions))
    while not assigned:
        member.poll(0.2)
    try:
        with pytest.raises(GroupInUse, match=rf"'{pizzas.connector.group_id}' has 1 member"):
            pizzas.plan()
    finally:
        member.close()
    pizzas.run()
    assert pizzas.column("id") == [1]


def test_a_position_that_somebody_else_wrote_is_refused(pipeline: MakePipeline) -> None:
    import confluent_kafka as ck

    pizzas = pipeline()
    pizzas.produce([{"id": 1}])
    other = ck.Consumer({"bootstrap.servers": pizzas.bootstrap, "group.id": pizzas.connector.group_id})
    other.commit(offsets=[ck.TopicPartition(pizzas.topic, 0, 1)], asynchronous=False)
    other.close()
    with pytest.raises(PlanRefused, match="was not written by floe"):
        pizzas.plan()


def test_lost_positions_with_offsets_in_table_are_refused(pipeline: MakePipeline, broker: object) -> None:
    pizzas = pipeline()
    pizzas.produce([{"id": 1}])
    pizzas.run()
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": pizzas.bootstrap})
    admin.delete_consumer_groups([pizzas.connector.group_id])[pizzas.connector.group_id].result(30)
    with pytest.raises(PlanRefused, match="positions were lost"):
        pizzas.plan()


def test_a_topic_created_again_is_refused(pipeline: MakePipeline) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    pizzas = pipeline()
    pizzas.produce([{"id": 1}])
    pizzas.run()
    admin = AdminClient({"bootstrap.servers": pizzas.bootstrap})
    admin.delete_topics([pizzas.topic])[pizzas.topic].result(30)
    created = False
    while not created:
        try:
            admin.create_topics([NewTopic(pizzas.topic, 1)])[pizzas.topic].result(30)
            created = True
        except Exception as error:  # noqa: BLE001 - the deletion is still under way
            assert "exists" in str(error) or "deletion" in str(error), error
    pizzas.produce([{"id": 2}])
    with pytest.raises(PlanRefused):
        pizzas.plan()


def test_offsets_that_retention_took_are_refused_as_a_loss(pipeline: MakePipeline) -> None:
    import confluent_kafka as ck
    from confluent_kafka.admin import AdminClient

    pizzas = pipeline()
    pizzas.produce([{"id": 1}])
    pizzas.run()
    pizzas.produce([{"id": 2}, {"id": 3}])
    admin = AdminClient({"bootstrap.servers": pizzas.bootstrap})
    for future in admin.delete_records([ck.TopicPartition(pizzas.topic, 0, 2)]).values():
        future.result(30)
    with pytest.raises(PlanRefused, match=r"lost the offsets \[1, 2\)"):
        pizzas.plan()


def test_offsets_deleted_between_plan_and_read_fail_the_slice(pipeline: MakePipeline) -> None:
    import confluent_kafka as ck
    from confluent_kafka.admin import AdminClient

    pizzas = pipeline()
    pizzas.produce([{"id": i} for i in range(10)])
    plan = pizzas.plan()
    admin = AdminClient({"bootstrap.servers": pizzas.bootstrap})
    for future in admin.delete_records([ck.TopicPartition(pizzas.topic, 0, 4)]).values():
        future.result(30)
    with pytest.raises(FloeError, match=r"\[0, 10\)"):
        pizzas.write(plan)
    assert pizzas.committer(plan).announcements([]) == {}


def test_a_missing_table_without_auto_create_is_named(pipeline: MakePipeline) -> None:
    pizzas = pipeline(**{"iceberg.tables.auto-create-enabled": False})
    pizzas.produce([{"id": 1}])
    with pytest.raises(TableMissing, match=r"'db\.t' does not exist.*auto-create-enabled"):
        pizzas.plan()


def test_a_catalog_that_is_not_there_is_named(pipeline: MakePipeline) -> None:
    port = free_port()
    keys = {"iceberg.catalog.type": "rest", "iceberg.catalog.uri": f"http://127.0.0.1:{port}"}
    pizzas = pipeline(**keys)
    pizzas.produce([{"id": 1}])
    with pytest.raises(CatalogUnreachable, match="'test'"):
        pizzas.plan()


def test_a_warehouse_that_cannot_be_written_is_named(pipeline: MakePipeline, tmp_path: Path) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("not a folder")
    pizzas = pipeline(**{"iceberg.catalog.warehouse": f"file://{blocked}"})
    pizzas.produce([{"id": 1}])
    plan = pizzas.plan()
    with pytest.raises((CatalogUnreachable, CatalogMisconfigured), match=r"db\.t"):
        pizzas.write(plan)
    assert pizzas.position() == {0: 0}


def test_data_files_that_cannot_be_written_are_named(pipeline: MakePipeline, tmp_path: Path) -> None:
    pizzas = pipeline()
    pizzas.produce([{"id": 1}])
    pizzas.run()
    data = tmp_path / "warehouse" / "db" / "t" / "data"
    if not data.exists():
        (data,) = (path for path in (tmp_path / "warehouse").rglob("data"))
    data.rename(data.with_name("moved"))
    data.write_text("not a folder")
    pizzas.produce([{"id": 2}])
    refused(pizzas, FloeError, r"'db\.t'.*could not be written")


def test_missing_or_unsuitable_partition_column_is_an_error(pipeline: MakePipeline) -> None:
    for term, reason in [("nothing", "no such field"), ("day(sauce)", "day.*sauce.*string")]:
        pizzas = pipeline(**{"iceberg.tables.default-partition-by": term, "iceberg.tables": f"db.t{len(term)}"})
        pizzas.produce([{"sauce": "red"}])
        refused(pizzas, TableUnsuitable, reason)
        assert CatalogClient.of(pizzas.connector).load(pizzas.connector.tables[0]) is None


def test_no_secret_shows_in_what_is_printed_or_kept(pipeline: MakePipeline) -> None:
    canary = "canary-4711"
    pizzas = pipeline(**{"iceberg.catalog.token": canary, "iceberg.kafka.sasl.password": canary})
    pizzas.produce([{"id": 1}])
    plan = pizzas.plan()
    (announcement,) = pizzas.write(plan)
    pizzas.commit(plan)
    kept = [json.dumps(plan.to_json()), repr(plan), repr(pizzas.connector), repr(pizzas.settings), repr(announcement)]
    kept += [str(pizzas.table().properties), *(str(s.summary) for s in pizzas.table().snapshots())]
    assert not [text for text in kept if canary in text]
