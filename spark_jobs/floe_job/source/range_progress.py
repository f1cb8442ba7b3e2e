"""The progress of reading a range, and how its next records are requested."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Any

import confluent_kafka as ck

from floe.kafka.reader_limits import SMALL_BATCH, TINY_BATCH, ReaderLimits
from floe.model.ranges import OffsetRange
from floe_job.exceptions import BatchTooLarge
from floe_job.source.batch import Batch
from floe_job.source.clients import Client
from floe_job.source.native.consumer import Event
from floe_job.source.native.kafka_batch import Measured
from floe_job.source.range_errors import Silence, check_progress, has_no_epochs, is_end, too_large

log = logging.getLogger(__name__)

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

    def parts(self) -> list[Batch]:
        """Return what waits, in batches that are handed on one by one."""
        return self._gathered.take()

    def handled(self) -> None:
        """Note that what was handed on is processed: the time that it took does not count as silence of the broker."""
        self._silence.end()

    def _take_event(self, event: Event) -> None:
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

    def _take_records(self, some: Batch) -> None:
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
        self._parts: list[Batch] = []
        self._records = self._nbytes = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def is_full(self) -> bool:
        return self._records >= BATCH_RECORDS or self._nbytes >= self._most

    def add(self, some: Batch, nbytes: int) -> None:
        self._parts.append(some)
        self._records, self._nbytes = self._records + len(some), self._nbytes + nbytes

    def take(self) -> list[Batch]:
        """Return what was gathered, joined, in several batches where it is more than is handed on at once."""
        joined, is_more = Batch.joined(self._parts), self._nbytes > 2 * self._most
        self._parts, self._records, self._nbytes = [], 0, 0
        return list(joined.split(self._most)) if is_more else [joined]
