"""Timestamps of single records: one record of each of some partitions is read, no more."""

import time
from collections.abc import Mapping
from typing import Final

import confluent_kafka as ck

from floe.kafka.client_log import ClientLog
from floe.kafka.settings import KafkaSettings
from floe.kafka.tokens import with_tokens
from floe.model.ranges import TopicPartition

_FETCH_BYTES: Final = 65_536
"""Of a partition that the client asks for; a batch that is larger is delivered when its turn comes."""

_ONE_RECORD: Final = {
    "queued.min.messages": 1,
    "fetch.message.max.bytes": _FETCH_BYTES,
    "queued.max.messages.kbytes": 4_096,
}


def record_times(
    settings: KafkaSettings, starts: Mapping[TopicPartition, int], seconds: float
) -> dict[TopicPartition, int]:
    """Return the timestamp of the first committed record at or after an offset, in epoch ms, by partition.

    Partitions are missing whose record has no timestamp, or was not delivered in ``seconds``: this waits no longer, and
    raises nothing for a broker that does not answer. Raises KafkaException for settings that the client does not take.
    """
    found: dict[TopicPartition, int] = {}
    if not starts:
        return found
    consumer = ck.Consumer({**with_tokens(settings.reader()), **_ONE_RECORD, "logger": ClientLog()})
    until = time.monotonic() + seconds
    left = set(starts)
    try:
        consumer.assign([ck.TopicPartition(tp.topic, tp.partition, offset) for tp, offset in starts.items()])
        while left and time.monotonic() < until:
            message = consumer.poll(0.1)
            if message is None:
                continue
            tp = TopicPartition(message.topic() or "", message.partition() or 0)
            if tp not in left or not _is_of_partition(message):
                continue
            left.discard(tp)
            consumer.pause([ck.TopicPartition(tp.topic, tp.partition)])
            kind, timestamp = message.timestamp()
            if message.error() is None and kind != ck.TIMESTAMP_NOT_AVAILABLE and timestamp >= 0:
                found[tp] = timestamp
    finally:
        consumer.close()
    return found


def _is_of_partition(message: ck.Message) -> bool:
    """Return whether this is a record, the end of a partition, or an error of it; not one of the whole client."""
    error = message.error()
    return error is None or not error.retriable()
