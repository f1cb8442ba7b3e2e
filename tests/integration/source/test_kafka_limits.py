"""Kafka at the edges: many ranges on one consumer, thousands of positions, large announcements, a lost control topic."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient

from floe.catalogs.exceptions import TableUnsuitable
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import ControlTopicUnusable, Fenced
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import ControlRecord, TransactionalProducer
from floe.model.offsets import OffsetRange, TopicPartition
from floe.model.positions import Position, PositionMetadata
from floe_job.exceptions import SliceRefused
from floe_job.source.range_reader import RangeReader
from stack.services.broker import Broker
from tests.support.kafka.open_transactions import wait_for_markers
from tests.support.runs.pipeline import MakePipeline


@pytest.fixture
def settings(broker: Broker) -> KafkaSettings:
    conf = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
    return KafkaSettings(conf, conf, "the test")


def test_one_consumer_reads_range_after_range_without_waiting(pipeline: MakePipeline, settings: KafkaSettings) -> None:
    one = pipeline()
    for i in range(10):
        one.produce([{"id": n} for n in range(100)], 0, **({} if i % 2 else {"compression.type": "gzip"}))
        one.abort([{"id": -1}] * 3, 0)
    log = Cluster.of_source(settings).logs([one.topic])[0]
    reader = RangeReader.open(settings.reader())
    whole = [o for b in reader.read(OffsetRange(one.topic, log.topic_id, 0, 0, log.stable_end)) for o in b.offsets]
    assert len(whole) == 1000
    chosen = random.Random(7)
    began = time.monotonic()
    for _ in range(40):
        start = chosen.randrange(log.stable_end)
        end = min(log.stable_end, start + chosen.choice([1, 7, 110, 2000]))
        read = [o for b in reader.read(OffsetRange(one.topic, log.topic_id, 0, start, end)) for o in b.offsets]
        assert read == [o for o in whole if start <= o < end]
    # with the client's own fetch.wait.max.ms this takes 20 to 40 s
    assert time.monotonic() - began < 10
    reader.close()


@pytest.mark.full
def test_more_positions_than_one_request_move_in_one_transaction(
    topic: Callable[..., str], settings: KafkaSettings
) -> None:
    many, control = topic(2500, "many-" + "x" * 220), topic()
    cluster = Cluster.of_control(settings)
    group = f"connect-{uuid.uuid4().hex[:8]}"
    metadata = PositionMetadata("0123456789ab", 2**40, "A" * 22, "B" * 22).encode()
    positions = [Position(TopicPartition(many, p), 2**40, metadata) for p in range(2500)]
    producer = TransactionalProducer.open(settings, f"test-{group}")
    producer.send(control, group, [ControlRecord(b"moved", [])], positions, group)
    assert len(cluster.positions(group, [p.tp for p in positions])) == 2500


def test_a_record_of_several_megabytes_of_names_is_taken(topic: Callable[..., str], settings: KafkaSettings) -> None:
    control = topic()
    text = ",".join(f"a-rather-long-topic-name-of-some-department-{i}" for i in range(50_000)).encode()
    TransactionalProducer.open(settings, f"test-{control}").send(control, "k", [ControlRecord(text, [("h", text)])])
    assert wait_for_markers(Cluster.of_control(settings), control) == {0: 2}


def test_a_refused_transaction_is_aborted_at_once(topic: Callable[..., str], settings: KafkaSettings) -> None:
    control = topic()
    producer = TransactionalProducer.open(settings, f"test-{control}")
    incompressible = random.Random(1).randbytes(3_000_000)
    with pytest.raises(Exception, match="Message size too large"):
        producer.send(control, "k", [ControlRecord(b"small", []), ControlRecord(incompressible, [])])
    TransactionalProducer.open(settings, f"test-{control}-2").send(control, "k", [ControlRecord(b"next", [])])
    (end,) = wait_for_markers(Cluster.of_control(settings), control).values()
    assert end >= 4


def test_consumer_setting_checked_by_consumers_only_is_refused(pipeline: MakePipeline) -> None:
    one = pipeline(**{"consumer.override.session.timeout.ms": "3000000"})
    one.produce([{"id": 1}])
    plan = one.plan()
    with pytest.raises(SliceRefused, match=r"consumer\.override.*max\.poll\.interval\.ms"):
        one.write(plan)


def test_missing_or_cut_control_topic_is_named_and_run_rereads(pipeline: MakePipeline, admin: AdminClient) -> None:
    one = pipeline()
    control = one.connector.control_topic
    one.produce([{"id": i} for i in range(10)])
    plan = one.plan()
    one.write(plan)
    tp = ck.TopicPartition(control, 0, 3)
    admin.delete_records([tp])[tp].result(30)
    with pytest.raises(ControlTopicUnusable, match="no longer has the offsets"):
        one.commit(plan)
    one.run()
    one.produce([{"id": i} for i in range(10, 20)])
    plan = one.plan()
    one.write(plan)
    admin.delete_topics([control])[control].result(30)
    with pytest.raises(ControlTopicUnusable, match="deleted since the plan"):
        one.commit(plan)
    one.run()
    assert one.column("id") == list(range(20))


def test_write_properties_that_no_writer_takes_are_named(pipeline: MakePipeline) -> None:
    one = pipeline()
    one.produce([{"id": 1}])
    one.run()
    with one.table().transaction() as transaction:  # as another engine would
        transaction.set_properties({"write.parquet.compression-codec": "nosuch"})
    one.produce([{"id": 2}])
    plan = one.plan()
    with pytest.raises(
        TableUnsuitable, match=r"'db\.t' cannot be written: .*codec='nosuch': floe cannot write it; set one of zstd"
    ):
        one.write(plan)


def test_idle_position_rewound_meanwhile_is_not_moved(pipeline: MakePipeline, admin: AdminClient) -> None:
    one = pipeline(2)
    one.produce([{"id": 0}, {"id": 1}], 1)
    one.run()
    one.produce([{"id": 2}], 0)
    plan = one.plan()
    one.write(plan)
    group = one.connector.group_id
    old = one.positions()[TopicPartition(one.topic, 1)]
    rewound = ck.TopicPartition(one.topic, 1, 1, metadata=old.metadata)
    admin.alter_consumer_group_offsets([ck.ConsumerGroupTopicPartitions(group, [rewound])])[group].result(30)
    one.commit(plan)
    assert one.position() == {0: 1, 1: 1}
    one.run()
    assert one.position() == {0: 1, 1: 2}
    assert one.column("id") == [0, 1, 2]


@pytest.mark.parametrize("with_positions", [False, True])
def test_a_producer_that_was_fenced_meanwhile_says_so(
    topic: Callable[..., str], settings: KafkaSettings, with_positions: bool
) -> None:
    name = topic(1)
    transactional_id = f"fenced-{uuid.uuid4().hex}"
    older = TransactionalProducer.open(settings, transactional_id)
    younger = TransactionalProducer.open(settings, transactional_id)
    records = [] if with_positions else [ControlRecord(b"older", [])]
    metadata = PositionMetadata("r", 0, "t", "c").encode()
    positions = [Position(TopicPartition(name, 0), 1, metadata)] if with_positions else []
    with pytest.raises(Fenced, match=f"{transactional_id}.*another run of this connector took over"):
        older.send(name, "group", records, positions, "connect-fenced")
    younger.send(name, "group", [ControlRecord(b"younger", [])])
