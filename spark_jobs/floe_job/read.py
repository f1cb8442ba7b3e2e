"""Reading fixed ranges of offsets from Kafka: assigned, read_committed, to the frozen end or not at all."""

import time
from collections.abc import Iterator, Mapping
from operator import ge
from typing import Any, NamedTuple

import confluent_kafka as ck

from floe.offsets.ranges import OffsetRange
from floe_job.exceptions import RangeLost, RangeStalled, ReadFailed, SliceRefused
from floe_job.records import timestamp_of

BATCH_RECORDS = 50_000
"""Records handed on at once, at most."""

BATCH_BYTES = 32 * 1024 * 1024
"""Bytes of values after which a batch is handed on."""

POLL_RECORDS, POLL_SECONDS = 10_000, 0.02
"""What one call into librdkafka gathers at most: it bounds a batch when records suddenly grow, and the wait at the end
of a range."""

STALL_SECONDS = 60.0
"""Seconds without a record or an end before a range counts as stalled."""


class Batch(NamedTuple):
    """Records of one partition in offset order; ``values`` are None for tombstones, ``timestamp`` is epoch ms."""

    offsets: list[int]
    values: list[bytes | None]
    timestamp: int | None
    messages: list[ck.Message]


class RangeReader:
    """One consumer, assigned one range after the other. It never subscribes and commits nothing."""

    def __init__(self, conf: Mapping[str, Any], stall_seconds: float = STALL_SECONDS) -> None:
        try:
            self._consumer = ck.Consumer(dict(conf))
        except ck.KafkaException as error:
            msg = f"the settings of the Kafka connection or of consumer.override.* are refused: {error.args[0].str()}"
            raise SliceRefused(msg) from error
        self._stall_seconds = stall_seconds

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def read(self, r: OffsetRange) -> Iterator[Batch]:
        """Yield all visible records of a range. Its end is known by a later offset or by the partition's end, never
        by silence.

        Raises RangeLost when the broker no longer has the offsets, RangeStalled when nothing comes, ReadFailed else.
        """
        self._consumer.assign([ck.TopicPartition(r.topic, r.partition, r.start)])
        heard = time.monotonic()
        position, after = r.start, r.start - 1
        gathered: list[ck.Message] = []
        size = 0
        ended = False
        while not ended:
            messages = self._consumer.consume(POLL_RECORDS, POLL_SECONDS)
            if not messages and time.monotonic() - heard > self._stall_seconds:
                raise RangeStalled(_stall_message(r, position, self._stall_seconds))
            good = [m for m in messages if m.error() is None]
            if len(good) < len(messages):
                ends = [_ends(r, m) for m in messages if m.error() is not None]
                ended = any(ends)
            if good:
                heard = time.monotonic()
                if (good[-1].offset() or 0) >= r.end - 1:
                    ended = True
                    good = [m for m in good if (m.offset() or 0) < r.end]
            if good:
                position = (good[-1].offset() or 0) + 1
                gathered += good
                size += sum(map(len, good)) + sum(map(len, filter(None, map(ck.Message.key, good))))
            if gathered and (ended or len(gathered) >= BATCH_RECORDS or size >= BATCH_BYTES):
                batch = _batch(gathered)
                _refuse_disorder(r, after, batch.offsets)
                after = batch.offsets[-1]
                yield batch
                gathered, size = [], 0
                heard = time.monotonic()  # what was done with the batch is no silence of the broker


def _ends(r: OffsetRange, message: ck.Message) -> bool:
    """Say whether an event of librdkafka ends the range; raise for one that makes it unreadable."""
    error = message.error()
    code = error.code() if error is not None else None
    if code == ck.KafkaError._PARTITION_EOF:
        # an end of the range read before, should one still come, says nothing of this one
        return (message.topic(), message.partition()) == r.tp and (message.offset() or 0) >= r.end
    if code in (ck.KafkaError._AUTO_OFFSET_RESET, ck.KafkaError.OFFSET_OUT_OF_RANGE):
        msg = (
            f"the broker no longer has all of {r}: retention or a deletion removed offsets since the plan was made. "
            "Nothing was announced; the next plan says what is lost."
        )
        raise RangeLost(msg)
    if error is not None and (error.retriable() or code in _PASSING):
        return False
    reason = f"{error.str()} ({error.name()})" if error is not None else "unknown"
    msg = f"{r} cannot be read: {reason}. Nothing was announced; check the topic and the ACLs, then run again."
    raise ReadFailed(msg)


_PASSING = {ck.KafkaError._TRANSPORT, ck.KafkaError._ALL_BROKERS_DOWN, ck.KafkaError._RESOLVE}


def _refuse_disorder(r: OffsetRange, after: int, offsets: list[int]) -> None:
    """Raise unless offsets rise strictly: only then are the gaps between them what the books call invisible."""
    if any(map(ge, [after, *offsets], offsets)):
        first = next(later for earlier, later in zip([after, *offsets], offsets, strict=False) if earlier >= later)
        msg = f"offset {first} of {r} came a second time or out of order; nothing was announced, run again"
        raise ReadFailed(msg)


def _batch(messages: list[ck.Message]) -> Batch:
    values: list[Any] = [m.value() for m in messages]
    offsets: list[Any] = [m.offset() for m in messages]
    return Batch(offsets, values, timestamp_of(messages[-1]), messages)


def _stall_message(r: OffsetRange, position: int, seconds: float) -> str:
    return (
        f"nothing came from {r.tp} at offset {position} for {seconds:.0f} s (range {r}): the broker is down, or the batch "
        "there is larger, once decompressed, than receive.message.max.bytes; raise it in the Kafka connection"
    )
