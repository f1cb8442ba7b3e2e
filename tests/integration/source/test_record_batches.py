"""The batches that a real broker keeps are recognized by their place in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import confluent_kafka as ck
import pytest

from floe.kafka.settings import KafkaSettings
from floe_job.source.native.consumer import Consumer
from floe_job.source.native.kafka_batch import KafkaBatch
from floe_job.source.native.outline import Stretch
from stack.services.broker import Broker

WHOLE: dict[str, Any] = {"linger.ms": 500, "message.max.bytes": 50_000_000, "batch.size": 50_000_000}


def conf(broker: Broker) -> dict[str, Any]:
    source = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
    return dict(KafkaSettings(source, source, "the test").reader())


def produce(broker: Broker, topic: str, records: list[dict[str, Any]], transactional: bool, **more: Any) -> None:
    """Send records as one batch."""
    settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0, **WHOLE, **more}
    if transactional:
        settings["transactional.id"] = topic
    producer = ck.Producer(settings)
    if transactional:
        producer.init_transactions(30)
        producer.begin_transaction()
    producer.list_topics(topic, 30)  # what is produced before the partitions are known may go in a batch of its own
    for record in records:
        producer.produce(topic, **record)
    assert producer.flush(30) == 0
    if transactional:
        producer.commit_transaction(30)


def measured(broker: Broker, topic: str, large: int, most: int = 100) -> tuple[int, list[Stretch]]:
    """Read a partition to its end, some records at a time; return their bytes, and the batches as last seen."""
    batches, nbytes, found = KafkaBatch(large), 0, {}
    held = []
    for records in parts(broker, topic, most):
        held.append(records)  # what was let go may be used again
        seen = batches.measure(records)
        nbytes += seen.nbytes
        found |= {batch.offset: batch for batch in seen.batches}
    return nbytes, list(found.values())


def parts(broker: Broker, topic: str, most: int) -> Iterator[Any]:
    with closing(Consumer.open(conf(broker), most)) as consumer:
        consumer.assign(topic, 0, 0)
        while True:
            records, events = consumer.consume(0.05)
            if len(records):
                yield records
            if events:
                return


def size(record: dict[str, Any]) -> int:
    """Return the bytes of a record's key, value and headers, without what tells their lengths."""
    headers = sum(len(name) + len(value or b"") for name, value in record.get("headers", []))
    return len(record.get("key") or b"") + len(record.get("value") or b"") + headers


KINDS: dict[str, list[dict[str, Any]]] = {
    "plain": [{"value": b"v" * 50} for _ in range(250)],
    "keyed": [{"value": b"v" * 50, "key": b"k" * (i % 90)} for i in range(250)],
    "long headers": [{"value": b"v", "headers": [("h", b"x" * 150)]} for _ in range(250)],
    "longer headers": [{"value": b"v", "key": b"k", "headers": [("h", b"x" * 5_000)]} for _ in range(60)],
    "longest headers": [{"value": b"v", "headers": [("h", b"x" * 2_000_000)]} for _ in range(5)],
    "many headers": [{"value": b"v", "headers": [(f"h{i}", None) for i in range(300)]} for _ in range(60)],
    "tombstones": [{"value": None, "key": b"k" * 30, "headers": [("h", b"x" * 90)]} for _ in range(250)],
    "nothing": [{"value": None if i % 3 else b"v"} for i in range(250)],
    "headers alone": [{"value": None, "headers": [("h", b"x" * 9_000)]} for _ in range(20)],
}


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("transactional", [False, True])
def test_batches_are_told_with_their_sizes(
    broker: Broker, topic: Callable[..., str], codec: str, transactional: bool
) -> None:
    name, expected, offset, total = topic(max_message_bytes="50000000"), [], 0, 0
    for records in KINDS.values():
        produce(broker, name, records, transactional, **{"compression.type": codec})
        total += sum(map(size, records))
        first = next((i for i, record in enumerate(records) if record["value"] or record.get("key")), None)
        if first is not None:
            expected.append((offset + first, sum(map(size, records))))
        offset += len(records) + transactional
    nbytes, found = measured(broker, name, large=1)
    assert [batch.offset for batch in found] == [offset for offset, _ in expected]
    count = sum(map(len, KINDS.values()))
    assert total <= nbytes <= total + 64 * count + 300 * 8 * 60
    for batch, (_, least) in zip(found, expected, strict=True):
        assert batch.nbytes >= least - 64


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("transactional", [False, True])
@pytest.mark.parametrize("ignored", [0, 1_000_000])
def test_whether_batches_are_compressed_is_told(
    broker: Broker, topic: Callable[..., str], codec: str, transactional: bool, ignored: int
) -> None:
    name = topic(max_message_bytes="50000000")
    for kind in ("plain", "keyed", "long headers", "longer headers") * 2:
        produce(broker, name, KINDS[kind], transactional, **{"compression.type": codec})
    found: list[set[bool | None]] = []
    for _ in range(3):  # in this process other tests had batches of these offsets, and memory is used again
        batches, held = KafkaBatch(1_000_000), list(parts(broker, name, 100))
        found.append({batches.measure(records, ignored).is_compressed for records in held} - {None})
        if found[-1] == {codec != "none"}:
            return
    pytest.fail(f"three times told {found}")
