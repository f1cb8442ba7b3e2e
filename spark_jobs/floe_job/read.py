"""Reading fixed ranges of offsets from Kafka: assigned, read_committed, to the frozen end or not at all."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import confluent_kafka as ck
import numpy as np

from floe.kafka.reader_limits import ReaderLimits
from floe.offsets.ranges import OffsetRange
from floe_job.consume.batch import Batch
from floe_job.consume.consumer import Consumer, Event, SettingRefused
from floe_job.consume.kafka_batch import KafkaBatch, Stretch
from floe_job.consume.memory import Words
from floe_job.exceptions import BatchTooLarge, RangeLost, RangeStalled, ReadFailed, SliceRefused

BATCH_RECORDS = 50_000
"""Records handed on at once, at most."""

POLL_RECORDS, POLL_SECONDS = 10_000, 0.02
"""What one call into librdkafka gathers at most: it bounds a batch when records suddenly grow, and the wait at the end
of a range."""

ONE_BATCH_SECONDS = 0.002
"""What one call takes at most where one batch is fetched at a time: longer, and the next one is there as well."""

STALL_SECONDS = 60.0
"""Seconds without a record or an end before a range counts as stalled."""

FIRST_FETCHES = 2
"""Batches of Kafka's that are fetched one by one before more are asked for at once."""

SMALL_BYTES = 1024 * 1024
"""Values of a fetch from which on it is worth its while to fetch batches one by one."""


class RangeReader:
    """Consumers, one of them assigned one range after the other. They never subscribe and commit nothing.

    An answer of the broker holds as many batches as fit, compressed, and the client decompresses all of them at once: a
    megabyte may become gigabytes. So a range begins with a consumer that is sent one batch at a time, and only if these are
    small the rest is read by one that is sent many.
    """

    def __init__(
        self, conf: Mapping[str, Any], limits: ReaderLimits | None = None, stall_seconds: float = STALL_SECONDS
    ) -> None:
        self._limits = limits or ReaderLimits()
        self._confs = {True: self._limits.one_by_one(dict(conf)), False: dict(conf)}
        self._consumers: dict[bool, Consumer] = {}
        self._stall_seconds = stall_seconds
        self._consumer(one_by_one=True)

    def close(self) -> None:
        """Close the consumers."""
        for consumer in self._consumers.values():
            consumer.close()

    def read(self, r: OffsetRange) -> Iterator[Batch]:
        """Yield all visible records of a range. Its end is known by a later offset or by the partition's end, never
        by silence.

        Raises RangeLost when the broker no longer has the offsets, BatchTooLarge for a batch beyond the limits,
        RangeStalled when nothing comes, ReadFailed else.
        """
        one_by_one, small_fetches = True, 0
        consumer = self._assigned(r, r.start, one_by_one=True)
        heard = time.monotonic()
        position, after = r.start, r.start - 1
        gathered = _Gathered(self._limits.batch_bytes)
        batches = KafkaBatch()
        ended = False
        while not ended:
            some, events = consumer.consume(ONE_BATCH_SECONDS if one_by_one else POLL_SECONDS)
            ends = [_ends(r, event, position) for event in events]
            ended = any(ends)
            if len(some):
                heard = time.monotonic()
                ended = ended or bool(some.offsets[-1] >= r.end - 1)
                some = some.where(some.offsets < r.end)
            elif not ended and time.monotonic() - heard > self._stall_seconds:
                raise RangeStalled(_stall_message(r, position, self._stall_seconds))
            octets = some.octets
            if len(some):
                self._refuse_large(r, batches.largest(some))
                position = int(some.offsets[-1]) + 1
                small_fetches = small_fetches + 1 if octets < SMALL_BYTES else 0
                gathered.add(some)
            del some  # what is read is the caller's alone, who may let go of it
            is_heavy = octets >= self._limits.heavy_bytes
            if not ended and (is_heavy or (one_by_one and small_fetches >= FIRST_FETCHES)):
                consumer.unassign()  # nothing is fetched ahead while what is here is handled
            if gathered and (ended or gathered.is_full or is_heavy):
                parts = gathered.take()
                while parts:
                    _refuse_disorder(r, after, parts[0].offsets)
                    after = int(parts[0].offsets[-1])
                    yield parts.pop(0)
                heard = time.monotonic()  # what was done with the batch is no silence of the broker
            if not ended and is_heavy:
                one_by_one, small_fetches = True, 0
                consumer = self._assigned(r, position, one_by_one=True)
            elif not ended and one_by_one and small_fetches >= FIRST_FETCHES:
                one_by_one = False
                consumer = self._assigned(r, position, one_by_one=False)

    def _consumer(self, *, one_by_one: bool) -> Consumer:
        if one_by_one not in self._consumers:
            try:
                self._consumers[one_by_one] = Consumer(self._confs[one_by_one], POLL_RECORDS)
            except SettingRefused as error:
                msg = f"the settings of the Kafka connection or of consumer.override.* are refused: {error}"
                raise SliceRefused(msg) from error
        return self._consumers[one_by_one]

    def _assigned(self, r: OffsetRange, position: int, *, one_by_one: bool) -> Consumer:
        consumer = self._consumer(one_by_one=one_by_one)
        consumer.assign(r.topic, r.partition, position)
        return consumer

    def _refuse_large(self, r: OffsetRange, found: Stretch | None) -> None:
        """Raise BatchTooLarge for values that lie together and are more than a batch may have."""
        if found is not None and found.octets > self._limits.largest_batch:
            raise BatchTooLarge(_too_large(r, found.offset, f"has {found.octets} bytes or more once decompressed"))


class _Gathered:
    """Records that wait to be handed on."""

    def __init__(self, octets: int) -> None:
        self._most = octets
        self._parts: list[Batch] = []
        self._records = self._octets = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def is_full(self) -> bool:
        return self._records >= BATCH_RECORDS or self._octets >= self._most

    def add(self, some: Batch) -> None:
        self._parts.append(some)
        self._records, self._octets = self._records + len(some), self._octets + some.octets

    def take(self) -> list[Batch]:
        """Return what was gathered, joined, in pieces where it is more than is handed on at once."""
        joined, is_more = Batch.joined(self._parts), self._octets > 2 * self._most
        self._parts, self._records, self._octets = [], 0, 0
        return list(joined.pieces(self._most)) if is_more else [joined]


def _ends(r: OffsetRange, event: Event, position: int) -> bool:
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
    if code in _BEYOND_RECEIVE:
        raise BatchTooLarge(_too_large(r, position, f"cannot be decompressed: {error.str()}"))
    msg = (
        f"{r} cannot be read: {error.str()} ({error.name()}). Nothing was announced; check the topic and the ACLs, then "
        "run again."
    )
    raise ReadFailed(msg)


_BEYOND_RECEIVE = {ck.KafkaError._BAD_COMPRESSION, ck.KafkaError.MSG_SIZE_TOO_LARGE}
"""Of a batch that is larger, once decompressed, than ``receive.message.max.bytes``; or that is broken."""

_PASSING = {ck.KafkaError._TRANSPORT, ck.KafkaError._ALL_BROKERS_DOWN, ck.KafkaError._RESOLVE}


def _refuse_disorder(r: OffsetRange, after: int, offsets: Words) -> None:
    """Raise unless offsets rise strictly: only then are the gaps between them what the books call invisible."""
    falls = np.flatnonzero(np.diff(offsets, prepend=after) <= 0)
    if len(falls):
        msg = f"offset {offsets[falls[0]]} of {r} came a second time or out of order; nothing was announced, run again"
        raise ReadFailed(msg)


def _too_large(r: OffsetRange, offset: int, what: str) -> str:
    return (
        f"the batch at offset {offset} of {r.tp} (range {r}) {what}. Nothing was announced and the position stays. Either "
        "raise floe.batch.max-bytes above it, the workers' memory with it, in the connector or for one run (param config), "
        "or leave the batch out: docs/how-it-works.md, 'Moving a position by hand'."
    )


def _stall_message(r: OffsetRange, position: int, seconds: float) -> str:
    return (
        f"nothing came from {r.tp} at offset {position} for {seconds:.0f} s (range {r}): the broker is down, or the batch "
        "there is larger than floe.batch.max-bytes. Nothing was announced and the position stays. Check the broker and run "
        "again; else raise floe.batch.max-bytes, or leave the batch out: docs/how-it-works.md, 'Moving a position by hand'."
    )
