"""Logs that were cut and filled again: by leader epochs, without reading a record of what was cut (KIP-101, KIP-320).

After an unclean leader election other records may have offsets that were read before. An end that is at or above those
offsets shows nothing of it. The new leader knows where its log diverged from that of an older one: where that epoch ends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import confluent_kafka as ck

from floe.kafka.access import Action, Client
from floe.kafka.client_log import ClientLog
from floe.kafka.exceptions import NO_EPOCHS, NOT_ALLOWED, KafkaUnreachable
from floe.kafka.settings import REQUEST_TIMEOUT, KafkaSettings
from floe.kafka.tokens import with_tokens
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.positions import LeaderEpoch, Position, PositionMetadata

log = logging.getLogger(__name__)

_LITTLE: Final[Mapping[str, Any]] = {
    "queued.min.messages": 1,
    "fetch.message.max.bytes": 1_024,
    "queued.max.messages.kbytes": 4_096,
    # the end of the log is an answer, too, not only the last stable offset
    "isolation.level": "read_uncommitted",
}

Lookup = Mapping[TopicPartition, LeaderEpoch]


def epochs_of(
    logs: Sequence[PartitionLog], positions: Mapping[TopicPartition, Position], cluster_id: str
) -> dict[TopicPartition, LeaderEpoch]:
    """Return the leader epochs of positions that are of these logs."""
    found = {}
    for one in logs:
        position = positions.get(one.tp)
        metadata = None if position is None else PositionMetadata.decode(position.metadata)
        if metadata is None or (metadata.topic_id, metadata.cluster_id) != (one.topic_id, cluster_id):
            continue
        if metadata.epoch is not None:
            found[one.tp] = metadata.epoch
    return found


def divergences(settings: KafkaSettings, logs: Sequence[PartitionLog], asked: Lookup) -> dict[TopicPartition, int]:
    """Return, for logs that were cut below the end that they had in an earlier leader epoch, the first other offset.

    ``asked``: the epochs, with the ends. Brokers are asked only about partitions whose leader epoch is another one now. A log
    whose epoch is lower now than it was, as when a cluster is restored from a backup, counts as another from its start on.
    Nor are they asked about a log that begins at or above the end: it has no records below, and says so for a cut one, too.
    Raises KafkaUnreachable, NotPermitted, and KafkaException for settings that the client does not take.
    """
    now = {one.tp: one for one in logs}
    changed = {tp: one for tp, one in asked.items() if now[tp].epoch not in (None, one.number)}
    found = {tp: now[tp].log_start for tp, one in changed.items() if (now[tp].epoch or 0) < one.number}
    left = {tp: one for tp, one in changed.items() if tp not in found and now[tp].log_start < one.end}
    if not left:
        return found
    log.info("the leaders of %s partitions changed since they were planned: are their logs the same?", len(left))
    cut = _cut(settings, {tp: one.end for tp, one in left.items()}, left)
    # the epoch ends at or above ``low``, and below ``high``
    low = {tp: now[tp].log_start for tp in cut}
    high = {tp: left[tp].end for tp in cut}
    while open_ := [tp for tp in cut if low[tp] + 1 < high[tp]]:
        middle = {tp: (low[tp] + high[tp]) // 2 for tp in open_}
        below = _cut(settings, middle, left)
        low |= {tp: offset for tp, offset in middle.items() if tp not in below}
        high |= {tp: offset for tp, offset in middle.items() if tp in below}
    return found | low


def _cut(settings: KafkaSettings, offsets: Mapping[TopicPartition, int], epochs: Lookup) -> set[TopicPartition]:
    """Return the partitions whose epoch ends below an offset.

    A consumer that is assigned an offset with its epoch asks the leader about it before it fetches.
    """
    client = Client.of(settings.source, settings.origin)
    consumer = ck.Consumer({**with_tokens(settings.reader()), **_LITTLE, "logger": ClientLog()})
    left, cut = set(offsets), set()
    try:
        consumer.assign([ck.TopicPartition(*tp, at, leader_epoch=epochs[tp].number) for tp, at in offsets.items()])
        for message in _answers(consumer, left):
            tp = TopicPartition(message.topic() or "", message.partition() or 0)
            error = message.error()
            if error is not None and error.code() in NOT_ALLOWED and tp.topic:
                action = Action(f"read topic {tp.topic!r}", f"Describe and Read on topic {tp.topic!r}")
                raise client.not_permitted(action, f"{error.str()} ({error.name()})")
            if error is None or error.code() == ck.KafkaError._PARTITION_EOF:
                left.discard(tp)
            elif error.code() in _TRUNCATED and tp in left:
                left.discard(tp)
                if NO_EPOCHS in error.str():
                    log.warning("%s: whether its log is the one that was read cannot be verified: %s", tp, error.str())
                else:
                    cut.add(tp)
    finally:
        consumer.close()
    return cut


def _answers(consumer: ck.Consumer, left: set[TopicPartition]) -> Iterator[ck.Message]:
    until = time.monotonic() + REQUEST_TIMEOUT * 2
    while left:
        message = consumer.poll(0.1)
        if message is not None:
            yield message
        elif time.monotonic() > until:
            names = ", ".join(map(str, sorted(left)[:20]))
            msg = (
                f"the leader of {names} did not say within {REQUEST_TIMEOUT * 2:.0f} s whether its log is the one that was "
                "read before. Nothing was read. Check the brokers; then run again."
            )
            raise KafkaUnreachable(msg)


_TRUNCATED: Final = {ck.KafkaError._AUTO_OFFSET_RESET, ck.KafkaError._LOG_TRUNCATION, ck.KafkaError.OFFSET_OUT_OF_RANGE}
"""Where a validation failed. An offset that the log does not have is above its end, so it was cut, too."""
