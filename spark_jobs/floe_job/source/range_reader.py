"""Reading fixed ranges of offsets from Kafka: assigned, read_committed, to the fixed end or with an error."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from ctypes import sizeof
from dataclasses import replace
from enum import Enum
from typing import Any, Self

import confluent_kafka as ck
import numpy as np

from floe.kafka.access import login_of
from floe.kafka.exceptions import NO_EPOCHS
from floe.kafka.reader_limits import SMALL_BATCH, TINY_BATCH, ReaderLimits
from floe.kafka.tokens import with_tokens
from floe.model.offsets import OffsetRange
from floe_job.exceptions import (
    BatchCorrupt,
    BatchTooLarge,
    JobError,
    RangeLost,
    RangeStalled,
    ReadFailed,
    ReadNotPermitted,
    SliceRefused,
)
from floe_job.memory_tuning import destroy_messages
from floe_job.source.batch import FetchedBatch
from floe_job.source.native import librdkafka
from floe_job.source.native.consumer import AUTHENTICATION, Consumer, ConsumerEvent, LayoutUnknown, SettingRefused
from floe_job.source.native.kafka_batch import Measured
from floe_job.source.native.memory import Words
from floe_job.source.portable import PortableConsumer

# The progress of reading a range, and how its next records are requested.


BATCH_RECORDS = 50_000
"""Maximum records handed on at once."""

POLL_RECORDS, POLL_SECONDS = 10_000, 0.02
"""Maximum records and seconds of one call into librdkafka. They limit a batch when records suddenly grow, and the wait at
the end of a range."""

FIRST_POLL_SECONDS = 0.001
"""Maximum seconds of the first call of a range, doubled with each call: so a short range does not wait."""

SMALL_ANSWERS = 16
"""Consecutive small batches before many are requested at once again."""

TINY_NBYTES = 2 * 1024 * 1024
"""Bytes of consecutive tiny batches before longer answers are requested."""

GROWTH = 4
"""How many times all answers before it an answer may be of batches that are not compressed."""

CHANGES = 3
"""How often a range switches to longer answers: each large batch among tiny ones costs a connection."""

TELLING_NBYTES = 4 * TINY_BATCH
"""Bytes up to which batches count as tiny, as those that are close in memory may be measured as one."""


class Mode(Enum):
    """How many batches an answer of the broker contains."""

    UNCOMPRESSED = "uncompressed"
    VERY_MANY = "very many"
    MANY = "many"
    ONE = "one"


def settings_of(mode: Mode, limits: ReaderLimits, conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reader's settings with those of a mode."""
    settings = {
        Mode.UNCOMPRESSED: limits.uncompressed,
        Mode.VERY_MANY: limits.very_many,
        Mode.MANY: limits.many,
        Mode.ONE: limits.one_by_one,
    }
    return settings[mode](dict(conf))


class RangeProgress:
    """The progress of reading a range, and its records that wait to be handed on."""

    def __init__(
        self, r: OffsetRange, limits: ReaderLimits, login: str = "the Kafka client", epoch: int | None = None
    ) -> None:
        """``login``: who reads, for messages. ``epoch``: the leader epoch in which the range was planned."""
        self._range = r
        self._login = login
        self._limits = limits
        self._silence = Silence(limits.stall_seconds)
        self._gathered = _Gathered(limits.batch_bytes)
        self._mode = Mode.MANY
        self._small = self._tiny = 0
        self._changes = CHANGES
        self._was_compressed = False
        self._read = 0
        self._answer, self._is_growing = limits.answer_bytes, False
        self.position = r.start
        self.epoch = epoch
        """What the broker is asked to verify; None once it turned out to keep no epochs."""
        self.next_mode = Mode.MANY
        self.is_ended = False
        self.is_over = False
        """Whether the consumer has to be assigned again, or the range has ended."""

    @property
    def is_interrupted(self) -> bool:
        """Whether the consumer is to fetch nothing more of what it was assigned."""
        return self.is_over and not (self.is_ended and self.next_mode is self._mode is not Mode.ONE)

    @property
    def has_batch(self) -> bool:
        """Whether records can be handed on now."""
        return bool(self._gathered) and (self.is_over or self._gathered.is_full)

    def begin(self, mode: Mode, client: Client) -> None:
        """Start to read at the position."""
        self._client = client
        self._batches = client.batches(self._limits, one=mode is Mode.ONE)
        self._set_mode(mode)
        self._wait, self.is_over = FIRST_POLL_SECONDS, False
        self._end = self._range.end
        self._silence.end()

    def take(self, consumer: Client) -> None:
        """Take what a consumer has, after a short wait; decide how to continue."""
        if self._mode is Mode.ONE or not self._read or self._is_growing:  # an answer decides on the next ones
            some, events = consumer.consume_answer(POLL_SECONDS)
        else:
            some, events = consumer.consume(self._wait)
            self._wait = min(2 * self._wait, POLL_SECONDS)
        for event in events:
            if not self.is_ended:  # what comes after the range is ignored
                self._take_event(event)
        if len(some):
            self._silence.end()
            self.is_ended = self.is_ended or bool(self._end == self._range.end <= some.offsets[-1] + 1)
            self._take_records(some if some.offsets[-1] < self._end else some.where(some.offsets < self._end))
        elif not self.is_ended and self._mode is not Mode.ONE and consumer.is_beyond_receive:
            self._go_on(Mode.ONE)
        elif not self.is_ended:
            check_progress(self._range, self.position, self._silence, consumer)
        self.is_over = self.is_over or self.is_ended

    def parts(self) -> list[FetchedBatch]:
        """Return what waits, in batches that are handed on one by one."""
        return self._gathered.take()

    def handled(self) -> None:
        """Note that what was handed on is processed: the time that it took does not count as silence of the broker."""
        self._silence.end()

    def _take_event(self, event: ConsumerEvent) -> None:
        if self._mode is not Mode.ONE and event.error.code() == ck.KafkaError._BAD_COMPRESSION:
            self._was_compressed = True
            self._go_on(Mode.ONE)  # which shows whether the batch is too large, or corrupt
            if (event.topic, event.partition) == self._range.tp and event.offset >= self.position:
                self._end = min(self._end, event.offset)  # nothing after the batch counts as read before the batch does
        elif self.epoch is not None and has_no_epochs(event):
            log.warning("%s: whether its log is the planned one cannot be verified: %s", self._range, event.error.str())
            self.epoch = None
            self._go_on(self._mode)
        elif is_end(self._range, event, self._login):
            self.is_ended = True

    def _take_records(self, some: FetchedBatch) -> None:
        if not len(some):
            return
        measured = self._batches.measure(some, self._ignored)
        if measured.is_unsure:
            self.is_ended = False
            self._go_on(Mode.ONE)
            return
        largest = measured.largest
        if largest is not None and largest.nbytes > self._limits.largest_batch:
            what = f"has {largest.nbytes} bytes or more once decompressed"
            raise BatchTooLarge(too_large(self._range, largest.offset, what))
        self.position = int(some.offsets[-1]) + 1
        self._gathered.add(some, measured.nbytes)
        self._read += measured.nbytes
        self._was_compressed = self._was_compressed or measured.is_compressed is True
        is_heavy = measured.nbytes >= 2 * self._limits.queue_bytes or (
            largest is not None and largest.nbytes >= self._limits.heavy_bytes
        )
        if is_heavy:
            self._go_on(Mode.ONE)
        elif self._mode is Mode.ONE:
            self._small = self._small + 1 if measured.nbytes <= SMALL_BATCH else 0
            if self._small >= SMALL_ANSWERS:
                self._go_on(Mode.MANY)
        elif not self.is_over:
            self._choose_answers(measured)

    def _choose_answers(self, measured: Measured) -> None:
        """Request longer answers where batches are tiny or not compressed, the shortest once one was."""
        if self._limits.has_short_answers:
            return
        largest = measured.largest.nbytes if measured.largest is not None else 0
        if self._mode is Mode.UNCOMPRESSED and self._was_compressed:
            self._change(Mode.MANY)
        elif self._mode is Mode.UNCOMPRESSED:
            self._lengthen_answers()
        elif self._mode is Mode.MANY and self._changes:
            self._tiny = self._tiny + measured.nbytes if largest <= TELLING_NBYTES else 0
            is_stored = measured.is_compressed is False and not self._was_compressed
            if is_stored and largest <= self._limits.uncompressed_answer_bytes:
                self._changes -= 1
                self._change(Mode.UNCOMPRESSED)
                self._lengthen_answers()
            elif self._tiny >= TINY_NBYTES:
                self._changes -= 1
                self._change(Mode.VERY_MANY)

    def _lengthen_answers(self) -> None:
        """Let an answer be four times as long as all before it, of which none was compressed, and not beyond the range."""
        rest = self._read * (self._range.end - self.position) // (self.position - self._range.start)
        longest = min(self._limits.uncompressed_answer_bytes, rest)
        wanted = min(GROWTH * self._read, longest)
        self._is_growing = GROWTH * self._read < longest
        if wanted >= 2 * self._answer or self._answer < longest <= wanted:
            self._answer = wanted
            self._client.take_sizes(self._limits.uncompressed({}, wanted))

    def _change(self, mode: Mode) -> None:
        """Continue in another mode, with what was fetched already where the client can."""
        if self._client.take_sizes(settings_of(mode, self._limits, {})):
            self._set_mode(mode)
        else:
            self._go_on(mode)

    def _set_mode(self, mode: Mode) -> None:
        self._mode = self.next_mode = mode
        self._small = self._tiny = 0
        self._answer, self._is_growing = self._limits.answer_bytes, False
        is_long = mode in (Mode.UNCOMPRESSED, Mode.VERY_MANY)
        self._ignored = self._limits.unsure_bytes if is_long else TELLING_NBYTES

    def _go_on(self, mode: Mode) -> None:
        self.next_mode, self.is_over = mode, True


class _Gathered:
    """Records that wait to be handed on."""

    def __init__(self, nbytes: int) -> None:
        self._most = nbytes
        self._parts: list[FetchedBatch] = []
        self._records = self._nbytes = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def is_full(self) -> bool:
        return self._records >= BATCH_RECORDS or self._nbytes >= self._most

    def add(self, some: FetchedBatch, nbytes: int) -> None:
        self._parts.append(some)
        self._records, self._nbytes = self._records + len(some), self._nbytes + nbytes

    def take(self) -> list[FetchedBatch]:
        """Return what was gathered, joined, in several batches where it is more than is handed on at once."""
        joined, is_more = FetchedBatch.joined(self._parts), self._nbytes > 2 * self._most
        self._parts, self._records, self._nbytes = [], 0, 0
        return list(joined.split(self._most)) if is_more else [joined]


log = logging.getLogger(__name__)

FIRST_MODE = Mode.MANY
"""How a range is read until its batches turn out to be small or large."""


class RangeReader:
    """A consumer that is assigned one range after the other. It never subscribes and commits nothing.

    The client decompresses all batches of an answer at once. It requests many where they are small, very many after some
    that were tiny, a megabyte after some that were not compressed, and one at a time from a batch on that it refuses to
    decompress or that turns out to be large. The last mode has a consumer of its own, created when it is needed, and each
    of the others where the first consumer cannot change its answers (see ``Mode``).
    """

    def __init__(self, confs: Mapping[Mode, Mapping[str, Any]], limits: ReaderLimits, first: Client) -> None:
        """``confs``: the settings of each mode's consumer. ``first``: that of ``FIRST_MODE``, which :meth:`open` makes."""
        self._confs = confs
        self._limits = limits
        self._consumers = {FIRST_MODE: first}
        self._mode = FIRST_MODE

    @classmethod
    def open(cls, conf: Mapping[str, Any], limits: ReaderLimits | None = None) -> Self:
        """Open the consumer that a range is read with first. Raises SliceRefused for settings that it does not take."""
        limits = limits or ReaderLimits()
        given = limits.reporting(with_tokens(conf))
        confs = {mode: settings_of(mode, limits, given) for mode in Mode}
        warn_of_portable(given, limits)
        return cls(confs, limits, _open_client(confs[FIRST_MODE], limits))

    def close(self) -> None:
        """Close the consumers."""
        for consumer in self._consumers.values():
            consumer.close()

    def read(self, r: OffsetRange, epoch: int | None = None) -> Iterator[FetchedBatch]:
        """Yield all visible records of a range. Its end is known by a later offset or by the partition's end, never
        by silence.

        ``epoch``: the leader epoch in which the range was planned; a record of a later one shows that the log was truncated.

        Raises RangeLost when the broker no longer has the offsets or has other records there, BatchTooLarge for a batch
        beyond the limits, BatchCorrupt for one that is broken, RangeStalled without progress, ReadFailed else.
        """
        after = r.start - 1
        reading = RangeProgress(r, self._limits, login_of(self._confs[FIRST_MODE]), epoch)
        while not reading.is_ended:
            consumer = self._consumer(self._mode)
            consumer.assign(r.topic, r.partition, reading.position, reading.epoch)
            reading.begin(self._mode, consumer)
            while not reading.is_over:
                try:
                    reading.take(consumer)
                except LayoutUnknown as error:
                    self._read_portably(error)
                    break
                if reading.is_interrupted:
                    consumer.unassign()  # nothing is fetched ahead while these records are processed
                    destroy_messages()  # else memory used for decompression and processing would be kept besides the batch
                if reading.has_batch:
                    parts = reading.parts()
                    while parts:
                        check_order(r, after, parts[0].offsets)
                        check_epoch(r, epoch, parts[0].last_epoch, is_known=reading.epoch == epoch)
                        after = int(parts[0].offsets[-1])
                        yield parts.pop(0)
                        if reading.is_interrupted:
                            destroy_messages()
                    reading.handled()
            self._mode = reading.next_mode
        if self._mode is Mode.UNCOMPRESSED:
            self._mode = FIRST_MODE  # other partitions may have compressed batches

    def _read_portably(self, reason: Exception) -> None:
        log.warning("records are read by the portable consumer from here on: %s", reason)
        self.close()
        self._consumers.clear()
        self._limits = replace(self._limits, is_portable=True)

    def _consumer(self, mode: Mode) -> Client:
        first = self._consumers.get(FIRST_MODE)
        if first is not None and mode is not Mode.ONE and first.take_sizes(settings_of(mode, self._limits, {})):
            return first
        if mode not in self._consumers:
            self._consumers[mode] = _open_client(self._confs[mode], self._limits)
        return self._consumers[mode]


def _open_client(conf: Mapping[str, Any], limits: ReaderLimits) -> Client:
    try:
        return open_client(conf, POLL_RECORDS, limits)
    except SettingRefused as error:
        msg = f"the settings of the Kafka connection or of consumer.override.* are refused: {error}"
        raise SliceRefused(msg) from error


# What ends a range, and the errors of one that cannot be read.


class Silence:
    """The time since the last progress: a record, or an offset from which the client fetches next.

    Aborted or compacted offsets yield no records until the client has passed them.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.next_offset: int | None = None
        self._since = time.monotonic()

    def end(self) -> None:
        """Note progress."""
        self._since = time.monotonic()

    def is_stalled(self, next_offset: int | None) -> bool:
        """Return whether it has lasted too long, given the offset that is fetched from next."""
        if next_offset != self.next_offset:
            self.next_offset = next_offset
            self.end()
        return time.monotonic() - self._since > self.seconds


def is_end(r: OffsetRange, event: ConsumerEvent, login: str = "the Kafka client") -> bool:
    """Return whether an event of librdkafka ends the range; raise for one that makes it unreadable.

    ``login``: who reads, for messages.
    """
    error = event.error
    code = error.code()
    if code == ck.KafkaError._PARTITION_EOF:
        # a late end of the range read before does not end this one
        return (event.topic, event.partition) == r.tp and event.offset >= r.end
    if code in _NO_SUCH_OFFSET:
        if code == ck.KafkaError._LOG_TRUNCATION or "truncation" in error.str():
            raise RangeLost(_truncated(r, error.str()))
        msg = (
            f"the broker no longer has all of {r}: retention or a deletion removed offsets since the plan was made. "
            "Nothing was announced; the next plan says what is lost."
        )
        raise RangeLost(msg)
    if code in _PASSING:
        return False
    if code in _OF_BATCHES:
        if (event.topic, event.partition) != r.tp:
            return False  # of a request that failed with its connection
        if event.offset >= r.end:
            return True  # everything before it was received
        raise _refused_batch(r, event.offset, error)
    if code == ck.KafkaError.TOPIC_AUTHORIZATION_FAILED:
        msg = (
            f"{login} may not read topic {r.topic!r} (range {r}): {error.str()} ({error.name()}). Nothing was announced; "
            "grant it Read on the topic, then run again."
        )
        raise ReadNotPermitted(msg)
    msg = (
        f"{r} cannot be read: {error.str()} ({error.name()}). Nothing was announced; check the topic and the ACLs, then "
        "run again."
    )
    raise ReadFailed(msg)


def has_no_epochs(event: ConsumerEvent) -> bool:
    """Return whether an event says that the broker knows no leader epoch up to the planned one, as of logs of old formats."""
    return event.error.code() in _NO_SUCH_OFFSET and NO_EPOCHS in event.error.str()


def check_epoch(r: OffsetRange, planned: int | None, found: int | None, *, is_known: bool = True) -> None:
    """Raise for a record of a later leader epoch than that in which the range was planned.

    All of the range's offsets were in the log then, so the log was truncated below this record since. ``is_known``: whether
    the broker knows the planned epoch. One that does not has records without epochs, or another log.
    """
    if planned is not None and found is not None and (found > planned or not is_known):
        raise RangeLost(
            _truncated(r, f"a record has leader epoch {found}, and the range was planned in epoch {planned}")
        )


def _truncated(r: OffsetRange, why: str) -> str:
    return (
        f"the log of {r.tp} was truncated since the range {r} was planned, and may have other records at its offsets: {why}. "
        "Nothing was announced; the next plan says from which offset on the log is another one."
    )


_NO_SUCH_OFFSET = {ck.KafkaError._AUTO_OFFSET_RESET, ck.KafkaError.OFFSET_OUT_OF_RANGE, ck.KafkaError._LOG_TRUNCATION}

_OF_BATCHES = {ck.KafkaError._BAD_COMPRESSION, ck.KafkaError._BAD_MSG, ck.KafkaError.MSG_SIZE_TOO_LARGE}
"""Errors that concern one batch."""

_ZSTD = "(codec 0x4)"
"""librdkafka's name of the codec whose batches it does not decompress beyond ``receive.message.max.bytes``."""


def _refused_batch(r: OffsetRange, offset: int, error: ck.KafkaError) -> JobError:
    """Return the error of a refused batch: one that is too large can be read with another limit, a broken one cannot.

    The client checks each batch's checksum before it decompresses it.
    """
    code, text = error.code(), error.str()
    if code == ck.KafkaError.MSG_SIZE_TOO_LARGE or (code == ck.KafkaError._BAD_COMPRESSION and _ZSTD in text):
        return BatchTooLarge(too_large(r, offset, f"is larger once decompressed than floe reads: {text}"))
    msg = (
        f"the batch at offset {offset} of {r.tp} (range {r}) is corrupt: {text}. Nothing was announced and no offset was "
        "committed. If the broker's copy is broken (kafka-dump-log.sh --deep-iteration says so), make a whole replica the "
        "leader and run again. If none is whole, leave the batch out: docs/how-to/skip-records.md."
    )
    return BatchCorrupt(msg)


_PASSING = {
    ck.KafkaError._TRANSPORT,
    ck.KafkaError._ALL_BROKERS_DOWN,
    ck.KafkaError._RESOLVE,
    ck.KafkaError.GROUP_AUTHORIZATION_FAILED,  # the client looks its group up, which it needs for nothing
}


def check_order(r: OffsetRange, after: int, offsets: Words) -> None:
    """Raise unless offsets rise strictly: only then do the gaps between them count as invisible in the record counts."""
    falls = np.flatnonzero(np.diff(offsets, prepend=after) <= 0)
    if len(falls):
        msg = f"offset {offsets[falls[0]]} of {r} came a second time or out of order. Nothing was announced. Run again"
        raise ReadFailed(msg)


def too_large(r: OffsetRange, offset: int, what: str) -> str:
    """Return the message of a batch that is larger than floe reads, with both recovery options."""
    return (
        f"the batch at offset {offset} of {r.tp} (range {r}) {what}. Nothing was announced and no offset was committed. "
        "Either raise floe.batch.max-bytes above it, the workers' memory with it, in the connector or for one run (param "
        "config), or leave the batch out: docs/how-to/skip-records.md."
    )


def check_progress(r: OffsetRange, position: int, silence: Silence, consumer: Client) -> None:
    """Raise where there is no progress any more: at once if a batch is the cause, else after a time."""
    is_stalled, failure = silence.is_stalled(consumer.next_offset(*r.tp)), consumer.failure
    offset = max(position, silence.next_offset or 0)
    if consumer.is_beyond_receive:
        raise BatchTooLarge(too_large(r, offset, f"is larger, as it is stored, than floe reads: {failure}"))
    if is_stalled:
        msg = (
            f"nothing came from {r.tp} at offset {offset} for {silence.seconds:g} s (range {r}): the broker does not "
            f"answer, or sends what is no batch{f' ({failure})' if failure else ''}. Nothing was announced and no offset "
            "was committed. Check the broker and run again. If all other partitions can be read, leave this batch out: "
            "docs/how-to/skip-records.md."
        )
        raise RangeStalled(msg)


# Chooses one of two consumers: the fast one, which reads the memory of a known librdkafka, or the portable one.


Client = Consumer | PortableConsumer

_MESSAGE_BYTES = 72
"""Of ``rd_kafka_message_t`` where pointers have 64 bits."""


def open_client(conf: Mapping[str, Any], most: int, limits: ReaderLimits) -> Client:
    """Return the fast consumer where it may be taken, else the portable one; ``most``: messages at once.

    Raises SettingRefused.
    """
    if obstacle(conf, limits) is None:
        return Consumer.open(conf, most)
    return PortableConsumer.open(conf, most, limits)


def obstacle(conf: Mapping[str, Any], limits: ReaderLimits) -> str | None:
    """Return why the portable consumer has to read; None where the fast one may."""
    if limits.is_portable:
        return "floe.consumer is portable"
    version = librdkafka.version()
    if version != librdkafka.KNOWN_VERSION:
        return f"librdkafka {ck.libversion()[0]} is not the version whose memory floe knows (2.16.0)"
    if sizeof(librdkafka.NativeMessage) != _MESSAGE_BYTES:
        return f"a message has {sizeof(librdkafka.NativeMessage)} bytes on this machine, not {_MESSAGE_BYTES}"
    callbacks = sorted(name for name, value in conf.items() if callable(value))
    if callbacks:
        return f"the client's settings have callbacks: {callbacks}"
    if conf.get(AUTHENTICATION) == "aws_iam":
        return f"{AUTHENTICATION} is aws_iam, which confluent-kafka serves in Python"
    return None


def warn_of_portable(conf: Mapping[str, Any], limits: ReaderLimits) -> None:
    """Log why the portable consumer reads, where it does."""
    reason = obstacle(conf, limits)
    if reason is not None:
        log.info("records are read by the portable consumer, as %s", reason)
