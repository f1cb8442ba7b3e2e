"""Topics filled once and read by every system."""

from __future__ import annotations

import statistics
import struct
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.records import Shape

PARTITIONS = 2
"""One for each core that reads: both systems get two tasks."""

BATCH, LARGE_BATCH = 16_384, 262_144
"""Bytes of a producer's batch: what Java's producers send by default, and what is recommended for throughput."""

LINGER_MS = 1_000
"""So long that batches fill before they are sent, however busy the machine is."""

_HEAD = struct.Struct(">qi")
"""What a batch starts with in a log: its first offset, and the bytes after these two."""


def fill(
    bootstrap: str, topic: str, shape: Shape, count: int, partitions: int = PARTITIONS, *, batch: int = BATCH
) -> int:
    """Create a topic with ``count`` records, spread evenly over its partitions, and return the bytes of their values."""
    create(bootstrap, topic, partitions)
    return append(bootstrap, topic, shape, 0, count, partitions, batch=batch)


def create(bootstrap: str, topic: str, partitions: int = PARTITIONS) -> None:
    """Create an empty topic."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    admin.create_topics([NewTopic(topic, num_partitions=partitions)])[topic].result(30)


def append(
    bootstrap: str,
    topic: str,
    shape: Shape,
    first: int,
    count: int,
    partitions: int = PARTITIONS,
    *,
    batch: int = BATCH,
) -> int:
    """Send records to a topic, a process for each partition, and return the bytes of their values."""
    bounds = [first + count * p // partitions for p in range(partitions + 1)]
    with ProcessPoolExecutor(partitions) as pool:
        parts = [
            pool.submit(_send, bootstrap, topic, p, shape, bounds[p], bounds[p + 1] - bounds[p], batch)
            for p in range(partitions)
        ]
        return sum(part.result() for part in parts)


def batch_bytes(logs: Path, topic: str) -> int:
    """Return the median size of the batches in a topic's logs, in the folder of a broker's data; 0 if there is none."""
    found = [size for log in logs.glob(f"{topic}-[0-9]*/*.log") for size in _batches(log)]
    return int(statistics.median(found)) if found else 0


def _batches(log: Path) -> Iterator[int]:
    with log.open("rb") as file:
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            _, nbytes = _HEAD.unpack(head)
            if nbytes <= 0:  # the rest of a segment is zeros until it is used
                return
            yield _HEAD.size + nbytes
            file.seek(nbytes, 1)


def _send(bootstrap: str, topic: str, partition: int, shape: Shape, first: int, count: int, batch: int) -> int:
    from confluent_kafka import Producer

    settings = {
        "bootstrap.servers": bootstrap,
        "batch.size": batch,
        "batch.num.messages": 1_000_000,
        "linger.ms": LINGER_MS,
        "queue.buffering.max.messages": 1_000_000,
        "log_level": 3,
    }
    producer = Producer(settings)
    nbytes = 0
    for number, value in enumerate(shape.values(first, count), first):
        nbytes += len(value)
        while True:
            try:
                producer.produce(topic, value, partition=partition, headers=shape.headers(number))
                break
            except BufferError:
                producer.poll(0.2)
    left = producer.flush(120)
    if left:
        msg = f"{left} of {count} records did not reach {topic!r}"
        raise RuntimeError(msg)
    return nbytes
