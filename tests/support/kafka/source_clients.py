"""Both consumers of the source: what they are given, and what they read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import confluent_kafka as ck
import confluent_kafka.cimpl
import pytest

from floe.kafka.reader_limits import ReaderLimits
from floe_job.source.batch import FetchedBatch
from floe_job.source.native.consumer import ConsumerEvent
from floe_job.source.range_reader import Client, open_client

MAX = 100


FAST_ONLY = pytest.mark.parametrize("client", ["fast"], indirect=True)
"""For what is said of librdkafka's memory."""


def produce(conf: dict[str, Any], topic: str, records: list[dict[str, Any]], **more: Any) -> None:
    """Send records, those of a batch's size as one batch, however busy the machine is: the flush waits for none."""
    whole = {"linger.ms": 5_000, "log_level": 0}
    producer = ck.Producer({"bootstrap.servers": conf["bootstrap.servers"], **whole, **more})
    producer.list_topics(topic, 30)  # what is produced before the partitions are known may go in a batch of its own
    for record in records:
        producer.produce(topic, **record)
    assert producer.flush(30) == 0


@contextmanager
def reading(conf: dict[str, Any], topic: str) -> Iterator[Client]:
    with closing(open_client(conf, MAX, ReaderLimits())) as consumer:
        consumer.assign(topic, 0, 0)
        yield consumer


def to_end(consumer: Client) -> tuple[FetchedBatch, list[ConsumerEvent]]:
    """Read to the end of the partition."""
    parts, events = [], []
    while not events:
        part, events = consumer.consume(0.05)
        parts.append(part)
    return FetchedBatch.joined(parts), events


RECORDS: list[dict[str, Any]] = [
    {"value": b"plain"},
    {"value": None, "key": b"tombstone"},
    {"value": b"", "key": b""},
    {"value": b"x" * 200_000, "key": b"k" * 5_000},
    {"value": b"named", "headers": [("a", b"1"), ("b", None), ("a", b""), ("", b"2"), ("\u00fc", b"\x00\xff")]},
    {"value": b"early", "timestamp": 1},
    *({"value": b"%d" % n, "key": b"%d" % (n % 7)} for n in range(300)),
]
