"""Reading fixed ranges of offsets from Kafka: assigned, read_committed, to the frozen end or not at all."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import confluent_kafka as ck
import numpy as np

from floe.offsets.ranges import OffsetRange
from floe_job.consume.batch import Batch
from floe_job.consume.consumer import Consumer, Event, SettingRefused
from floe_job.consume.memory import Words
from floe_job.exceptions import RangeLost, RangeStalled, ReadFailed, SliceRefused

BATCH_RECORDS = 50_000
"""Records handed on at once, at most."""

BATCH_BYTES = 32 * 1024 * 1024
"""Bytes of values after which a batch is handed on."""

POLL_RECORDS, POLL_SECONDS = 10_000, 0.02
"""What one call into librdkafka gathers at most: it bounds a batch when records suddenly grow, and the wait at the end
of a range."""

STALL_SECONDS = 60.0
"""Seconds without a record or an end before a range counts as stalled."""


class RangeReader:
    """One consumer, assigned one range after the other. It never subscribes and commits nothing."""

    def __init__(self, conf: Mapping[str, Any], stall_seconds: float = STALL_SECONDS) -> None:
        try:
            self._consumer = Consumer(conf, POLL_RECORDS)
        except SettingRefused as error:
            msg = f"the settings of the Kafka connection or of consumer.override.* are refused: {error}"
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
        self._consumer.assign(r.topic, r.partition, r.start)
        heard = time.monotonic()
        position, after = r.start, r.start - 1
        gathered: list[Batch] = []
        records = octets = 0
        ended = False
        while not ended:
            some, events = self._consumer.consume(POLL_SECONDS)
            if not (len(some) or events) and time.monotonic() - heard > self._stall_seconds:
                raise RangeStalled(_stall_message(r, position, self._stall_seconds))
            ends = [_ends(r, event) for event in events]
            ended = any(ends)
            if len(some):
                heard = time.monotonic()
                if some.offsets[-1] >= r.end - 1:
                    ended = True
                    some = some.where(some.offsets < r.end)
            if len(some):
                position = int(some.offsets[-1]) + 1
                gathered.append(some)
                records, octets = records + len(some), octets + some.octets
            if gathered and (ended or records >= BATCH_RECORDS or octets >= BATCH_BYTES):
                del some  # what is read is the caller's alone, who may let go of it
                yield _batch(r, after, gathered)
                after, records, octets = position - 1, 0, 0
                heard = time.monotonic()  # what was done with the batch is no silence of the broker


def _batch(r: OffsetRange, after: int, gathered: list[Batch]) -> Batch:
    """Put together what was gathered, and begin to gather anew."""
    batch = Batch.joined(gathered)
    gathered.clear()
    _refuse_disorder(r, after, batch.offsets)
    return batch


def _ends(r: OffsetRange, event: Event) -> bool:
    """Say whether an event of librdkafka ends the range; raise for one that makes it unreadable."""
    error = event.error
    code = error.code()
    if code == ck.KafkaError._PARTITION_EOF:
        # an end of the range read before, should one still come, says nothing of this one
        return (event.topic, event.partition) == r.tp and event.offset >= r.end
    if code in (ck.KafkaError._AUTO_OFFSET_RESET, ck.KafkaError.OFFSET_OUT_OF_RANGE):
        msg = (
            f"the broker no longer has all of {r}: retention or a deletion removed offsets since the plan was made. "
            "Nothing was announced; the next plan says what is lost."
        )
        raise RangeLost(msg)
    if code in _PASSING:
        return False
    msg = (
        f"{r} cannot be read: {error.str()} ({error.name()}). Nothing was announced; check the topic and the ACLs, then "
        "run again."
    )
    raise ReadFailed(msg)


_PASSING = {ck.KafkaError._TRANSPORT, ck.KafkaError._ALL_BROKERS_DOWN, ck.KafkaError._RESOLVE}


def _refuse_disorder(r: OffsetRange, after: int, offsets: Words) -> None:
    """Raise unless offsets rise strictly: only then are the gaps between them what the books call invisible."""
    falls = np.flatnonzero(np.diff(offsets, prepend=after) <= 0)
    if len(falls):
        msg = f"offset {offsets[falls[0]]} of {r} came a second time or out of order; nothing was announced, run again"
        raise ReadFailed(msg)


def _stall_message(r: OffsetRange, position: int, seconds: float) -> str:
    return (
        f"nothing came from {r.tp} at offset {position} for {seconds:.0f} s (range {r}): the broker is down, or the batch "
        "there is larger, once decompressed, than receive.message.max.bytes; raise it in the Kafka connection"
    )
