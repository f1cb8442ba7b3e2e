"""What ends a range, and the errors of one that cannot be read."""

from __future__ import annotations

import time

import confluent_kafka as ck
import numpy as np

from floe.kafka.exceptions import NO_EPOCHS
from floe.model.ranges import OffsetRange
from floe_job.exceptions import (
    BatchCorrupt,
    BatchTooLarge,
    JobError,
    RangeLost,
    RangeStalled,
    ReadFailed,
    ReadNotPermitted,
)
from floe_job.source.clients import Client
from floe_job.source.native.consumer import Event
from floe_job.source.native.memory import Words


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


def is_end(r: OffsetRange, event: Event, login: str = "the Kafka client") -> bool:
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


def has_no_epochs(event: Event) -> bool:
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
