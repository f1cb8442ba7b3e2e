"""Topics that Kafka has compacted."""

from __future__ import annotations

import uuid

import confluent_kafka as ck

from stack.progress import wait_until

QUICK_CLEANER = {
    "log.cleaner.backoff.ms": "300",
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "1000",
}
"""Properties of a broker that compacts within a second or two."""

COMPACTED = {
    "cleanup_policy": "compact",
    "segment_ms": "100",
    "min_cleanable_dirty_ratio": "0.01",
    "min_compaction_lag_ms": "0",
}
"""A topic's configuration, as the factory of topics takes it."""


def compacted_batches(bootstrap: str, topic: str, batches: int) -> int:
    """Write batches of one key to an empty compacted topic and wait until they are empty; return the log's end.

    Each is the last of its producer, which is what the broker keeps an empty batch for.
    """
    for number in range(batches):
        producer = ck.Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
        producer.produce(topic, b"%d" % number, b"key")
        assert producer.flush(30) == 0
    last = ck.Producer({"bootstrap.servers": bootstrap, "log_level": 0})

    def is_compacted() -> bool:
        # a segment is cleaned only after the next one was begun
        last.produce(topic, b"last", b"key")
        assert last.flush(30) == 0
        return _first(bootstrap, topic) >= batches

    assert wait_until(is_compacted, 60, pause=0.3)
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "log_level": 0})
    _, end = consumer.get_watermark_offsets(ck.TopicPartition(topic, 0), 30)
    consumer.close()
    return int(end)


def _first(bootstrap: str, topic: str) -> int:
    """Return the offset of the first record that is left."""
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "log_level": 0})
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.error() is None
    return int(message.offset() or 0)
