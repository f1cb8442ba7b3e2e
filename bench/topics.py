"""Topics filled once and read by every system."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

from bench.records import Shape

PARTITIONS = 2
"""One for each core that reads: both systems get two tasks."""


def fill(bootstrap: str, topic: str, shape: Shape, count: int, partitions: int = PARTITIONS) -> int:
    """Create a topic with ``count`` records, spread evenly over its partitions, and return the bytes of their values."""
    create(bootstrap, topic, partitions)
    return append(bootstrap, topic, shape, 0, count, partitions)


def create(bootstrap: str, topic: str, partitions: int = PARTITIONS) -> None:
    """Create an empty topic."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    admin.create_topics([NewTopic(topic, num_partitions=partitions)])[topic].result(30)


def append(bootstrap: str, topic: str, shape: Shape, first: int, count: int, partitions: int = PARTITIONS) -> int:
    """Send records to a topic, a process for each partition, and return the bytes of their values."""
    bounds = [first + count * p // partitions for p in range(partitions + 1)]
    with ProcessPoolExecutor(partitions) as pool:
        parts = [
            pool.submit(_send, bootstrap, topic, p, shape, bounds[p], bounds[p + 1] - bounds[p])
            for p in range(partitions)
        ]
        return sum(part.result() for part in parts)


def _send(bootstrap: str, topic: str, partition: int, shape: Shape, first: int, count: int) -> int:
    from confluent_kafka import Producer

    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000, "log_level": 3}
    )
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
