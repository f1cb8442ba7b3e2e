"""How many requests a range takes, and how long the answers of a running client may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import confluent_kafka as ck
import pytest

from floe.kafka.reader_limits import MIB, ReaderLimits
from floe.kafka.settings import KafkaSettings
from floe.model.offsets import OffsetRange
from floe_job.source.native.consumer import Consumer
from floe_job.source.range_reader import RangeReader
from stack.services.broker import Broker
from tests.support.kafka.proxy import Api, KafkaProxy

RECORD = (
    b'{"id": 12345678, "customer": "c-4711", "pizza": "quattro formaggi", "price": 12.34, "at": "2026-01-01T12:00:00"}'
)
RECORD_BYTES = 190


def conf(proxy: KafkaProxy) -> dict[str, Any]:
    source = {"bootstrap.servers": proxy.bootstrap, "log_level": 0}
    return dict(KafkaSettings(source, source, "the test").reader())


def produce(broker: Broker, topic: str, count: int, batch: int, codec: str = "none") -> None:
    settings = {"linger.ms": 200, "batch.size": batch, "compression.type": codec, "queue.buffering.max.messages": count}
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0, **settings})
    producer.list_topics(topic, 30)  # what is produced before the partitions are known may go in a batch of its own
    for number in range(count):
        producer.produce(topic, (b"%09d" % number + RECORD).ljust(RECORD_BYTES), partition=0)
    assert producer.flush(60) == 0


@contextmanager
def answers(proxy: KafkaProxy) -> Iterator[list[int]]:
    """The bytes of each answer to a fetch request."""
    found: list[int] = []

    def note(api: int, frame: bytes) -> bytes:
        if api == Api.FETCH:
            found.append(len(frame))
        return frame

    proxy.on_frame = note
    yield found
    proxy.on_frame = None


@pytest.mark.parametrize(
    "batch", [16_384, pytest.param(65_536, marks=pytest.mark.full), pytest.param(262_144, marks=pytest.mark.full)]
)
def test_uncompressed_batches_come_a_megabyte_at_once(
    broker: Broker, proxy: KafkaProxy, topic: Callable[..., str], batch: int
) -> None:
    name = topic()
    produce(broker, name, 300_000, batch)
    with closing(RangeReader.open(conf(proxy))) as reader:
        assert sum(len(some) for some in reader.read(OffsetRange(name, "id", 0, 0, 1_000))) == 1_000  # as a warm worker
    taken = []
    for _ in range(3):  # on a busy machine small requests are on their way for longer, before the first large one
        with closing(RangeReader.open(conf(proxy))) as reader, answers(proxy) as found:
            assert sum(len(some) for some in reader.read(OffsetRange(name, "id", 0, 0, 300_000))) == 300_000
            taken.append(len(found))
        if taken[-1] <= 70:
            return
    pytest.fail(f"each of {taken} is more than 70 requests")


def test_compressed_batch_ends_long_answers(broker: Broker, proxy: KafkaProxy, topic: Callable[..., str]) -> None:
    name = topic()
    for codec, count in (("none", 30_000), ("lz4", 1_000), ("none", 30_000)):
        produce(broker, name, count, 16_384, codec)
    limits = ReaderLimits(memory=256 * MIB)
    with closing(RangeReader.open(conf(proxy), limits)) as reader, answers(proxy) as found:
        for some in reader.read(OffsetRange(name, "id", 0, 0, 61_000)):
            del some
    most = max(found)
    assert most > MIB * 9 // 10
    assert max(found[len(found) // 2 :]) < limits.long_answer_bytes + 20_000, found


def test_sizes_of_answers_are_changed_in_a_running_client(
    broker: Broker, proxy: KafkaProxy, topic: Callable[..., str]
) -> None:
    """The settings of a running client are constant by its header: this is what floe leans on."""
    name = topic()
    produce(broker, name, 30_000, 16_384)
    limits = ReaderLimits()
    sizes = {"queued.max.messages.kbytes": 1, "queued.min.messages": 1}  # it fetches no more than it is asked for
    with closing(Consumer.open(limits.many(conf(proxy)) | sizes, 10_000)) as consumer, answers(proxy) as found:
        consumer.assign(name, 0, 0)
        consumer.consume_answer(30)
        before = len(found)
        assert max(found) < limits.answer_bytes + 1_000
        consumer.take_sizes(limits.uncompressed({}, MIB))
        while len(found) < before + 4:
            consumer.consume_answer(30)
    assert max(found) > MIB * 9 // 10, found
