"""Records by the public ``confluent_kafka.Consumer`` alone: a Python object per record, and nothing of librdkafka's memory.

It reads with any version of librdkafka, and with settings that confluent-kafka serves by callbacks in Python.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self, overload

import confluent_kafka as ck
import numpy as np

from floe.kafka.client_log import LEVELS
from floe.kafka.reader_limits import MIB, ReaderLimits
from floe_job.source.batch import FetchedBatch
from floe_job.source.messages import NO_TIME, HeaderKinds, Headers, Message, Messages, has_header, last_of
from floe_job.source.native.consumer import ConsumerEvent, SettingRefused
from floe_job.source.native.kafka_batch import Measured
from floe_job.source.native.memory import Words
from floe_job.source.native.outline import Stretch
from floe_job.source.reports import LOG_QUEUE, Reports, level_of, with_reports
from floe_job.source.values import CLOSING, OPENING, Lines, Packed, Values, packed

BATCH_BYTES = 4 * MIB
"""The approximate size of what a call returns, so that several batches do not count as one that is too large."""


class PortableConsumer:
    """Reads what it was assigned. It never joins its group and commits nothing. See ``consumer.Consumer``."""

    def __init__(self, client: ck.Consumer, reports: Reports, most: int, batch_bytes: int) -> None:
        """Use a client that keeps its reports; :meth:`open` makes one. ``most``: messages at once."""
        self._client = client
        self._reports = reports
        self._most, self._batch_records = most, most
        self._batch_bytes = batch_bytes
        self._is_open = True

    @classmethod
    def open(cls, conf: Mapping[str, Any], most: int, limits: ReaderLimits) -> Self:
        """Take settings in librdkafka's names, and callbacks. ``most``: messages at once. Raises SettingRefused."""
        reports = Reports(level_of(conf))
        given = {name: value for name, value in with_reports(conf).items() if value is not None and name != LOG_QUEUE}
        callbacks = {
            "stats_cb": lambda text: reports.take_statistics(text.encode()),
            "logger": _ReportingLog(reports),
        }
        try:
            client = ck.Consumer({**given, **callbacks})
        except (ck.KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(_words(error)) from None
        return cls(client, reports, most, min(BATCH_BYTES, limits.unsure_bytes // 4))

    def close(self) -> None:
        """Close the consumer, once."""
        if self._is_open:
            self._is_open = False
            self._client.close()

    def assign(self, topic: str, partition: int, offset: int, epoch: int | None = None) -> None:
        """Read one partition from an offset on, and no other. Raises KafkaException."""
        self._reports.failure = None
        known = -1 if epoch is None else epoch
        self._client.assign([ck.TopicPartition(topic, partition, offset, leader_epoch=known)])

    def unassign(self) -> None:
        """Read nothing any more; what was fetched ahead is dropped. Raises KafkaException."""
        self._client.unassign()

    def next_offset(self, topic: str, partition: int) -> int | None:
        """Return the offset that is fetched from next, as of the last report; None without one."""
        return self._reports.next_offsets.get((topic, partition))

    @property
    def is_beyond_receive(self) -> bool:
        """Whether a batch, as it is stored, is larger than ``receive.message.max.bytes``."""
        return self._reports.is_beyond_receive

    @property
    def failure(self) -> str | None:
        """Why a connection failed last since the partition was assigned."""
        return self._reports.failure

    def take_sizes(self, sizes: Mapping[str, Any]) -> bool:
        """Return that the sizes of answers cannot be changed: the public interface has nothing for it."""
        del sizes
        return False

    def batches(self, limits: ReaderLimits, *, one: bool) -> AnswerSizes:
        """Return what measures batches. ``one``: each call returns a single batch."""
        return AnswerSizes(limits, is_one=one)

    def consume(self, seconds: float) -> tuple[FetchedBatch, list[ConsumerEvent]]:
        """Return what is available, after at most some seconds: records, and events between them."""
        batch, events = self._consume(seconds, self._batch_records)
        if len(batch):
            mean = max(1, batch.nbytes // len(batch))
            self._batch_records = max(1, min(self._most, self._batch_bytes // mean))
        return batch, events

    def consume_answer(self, seconds: float) -> tuple[FetchedBatch, list[ConsumerEvent]]:
        """Return what is available as soon as there is something, or after some seconds. An answer arrives as a whole."""
        part, events = self._consume(seconds, 1)
        parts, is_more = [part], bool(len(part))
        while is_more:  # not until nothing is left: meanwhile the next answer may have arrived, and the one after it
            part, more = self._consume(0, self._most)
            parts.append(part)
            events += more
            is_more = len(part) + len(more) == self._most
        return FetchedBatch.joined(parts), events

    def _consume(self, seconds: float, most: int) -> tuple[FetchedBatch, list[ConsumerEvent]]:
        found = self._client.consume(most, seconds)
        if not any(map(ck.Message.error, found)):
            return PortableBatch.of_messages(found), []
        events = [_event(message, error) for message in found if (error := message.error()) is not None]
        return PortableBatch.of_messages([message for message in found if message.error() is None]), events


class _ReportingLog:
    """Takes a client's lines from confluent-kafka, which calls ``log`` while the client is polled."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def log(self, level: int, form: str, *values: object) -> None:
        """Note and log a line: ``values`` are facility, client and text."""
        facility, text = (str(values[0]), str(values[-1])) if len(values) > 1 else ("", form % values)
        self._reports.take_line(LEVELS.index(level) if level in LEVELS else LEVELS.index(logging.INFO), facility, text)


class AnswerSizes:
    """Measures batches by what one call returned, as records do not contain which batch they came in.

    Where a call may return several, and returns much, the size is unsure: the reader then requests one at a time.
    """

    def __init__(self, limits: ReaderLimits, *, is_one: bool) -> None:
        self._limits = limits
        self._is_one = is_one

    def measure(self, records: FetchedBatch, ignored: int = 0) -> Measured:
        """Return the size of records, keys and headers included, and their batches."""
        del ignored
        headers = filter(None, records.headers) if isinstance(records, PortableBatch) else ()
        nbytes = records.nbytes + len(records) + sum(map(headers_nbytes, headers))
        is_unsure = not self._is_one and nbytes > self._limits.unsure_bytes
        return Measured(nbytes, [Stretch(int(records.offsets[0]), 0, nbytes)] if nbytes else [], is_unsure)


def _event(message: ck.Message, error: ck.KafkaError) -> ConsumerEvent:
    return ConsumerEvent(message.topic() or "", message.partition() or 0, message.offset() or 0, error)


def _words(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return str(reason.str()) if isinstance(reason, ck.KafkaError) else str(reason)


# Batches, values and messages of the portable consumer: columns over objects of confluent-kafka's.


NO_TIMESTAMP = ck.TIMESTAMP_NOT_AVAILABLE


class PortableBatch(FetchedBatch):
    """Records of one partition, each an object of confluent-kafka's.

    ``headers``: of each, as they can be requested only once; None where they cannot be read.
    """

    own: Sequence[ck.Message]
    headers: Sequence[Headers | None]

    @classmethod
    def of_messages(cls, messages: Sequence[ck.Message]) -> PortableBatch:
        """Read the columns of messages, which are records all."""
        count = len(messages)
        offsets: Words = np.fromiter(map(ck.Message.offset, messages), np.int64, count)
        sizes: Words = np.fromiter(map(len, messages), np.int64, count)
        return cls._made(messages, _headers(messages), offsets, sizes, _key_sizes(messages))

    @classmethod
    def _made(
        cls,
        own: Sequence[ck.Message],
        headers: Sequence[Headers | None],
        offsets: Words,
        sizes: Words,
        key_sizes: Words,
    ) -> PortableBatch:
        nowhere = np.zeros_like(offsets)
        one = cls((), nowhere, offsets, nowhere, sizes, key_sizes)
        object.__setattr__(one, "own", own)
        object.__setattr__(one, "headers", headers)
        return one

    @property
    def last_epoch(self) -> int | None:
        return self.own[-1].leader_epoch()

    def _joined(self, parts: Sequence[FetchedBatch]) -> FetchedBatch:
        return self._made(
            [message for part in parts if isinstance(part, PortableBatch) for message in part.own],
            [headers for part in parts if isinstance(part, PortableBatch) for headers in part.headers],
            np.concatenate([part.offsets for part in parts]),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.key_sizes for part in parts]),
        )

    def where(self, mask: np.ndarray[Any, np.dtype[np.bool_]] | slice) -> FetchedBatch:
        """Return the records that a mask or a slice has."""
        if isinstance(mask, slice):
            own, headers = self.own[mask], self.headers[mask]
        elif mask.all():
            return self
        else:
            kept = np.flatnonzero(mask).tolist()
            own, headers = [self.own[i] for i in kept], [self.headers[i] for i in kept]
        return self._made(own, headers, self.offsets[mask], self.sizes[mask], self.key_sizes[mask])

    @property
    def values(self) -> Values:
        """The values, None for tombstones."""
        return PortableValues(list(map(ck.Message.value, self.own)))

    @property
    def messages(self) -> Messages:
        """Each record with its key, time and headers."""
        return PortableMessages(self.own, self.headers)


class PortableValues(Values):
    """Values of records: bytes, None for tombstones."""

    def __init__(self, values: Sequence[bytes | None]) -> None:
        self._values = values

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        return sum(len(value) for value in self._values if value)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        found = self._values[index]
        return PortableValues(found) if isinstance(index, slice) else found

    def __iter__(self) -> Any:
        return iter(self._values)

    @property
    def has_tombstones(self) -> bool:
        """Whether one of them is None."""
        return None in self._values

    def present(self) -> list[int]:
        """Return the indices of those that are no tombstones."""
        return [i for i, value in enumerate(self._values) if value is not None]

    def select(self, indices: Sequence[int]) -> Values:
        """Return some of the values, by index."""
        return PortableValues([self._values[i] for i in indices])

    def lines(self) -> Lines | None:
        """Return all values in one text, a newline after each, if each begins and ends as a JSON object."""
        if not self._values:
            return Lines(b"", _EMPTY, _EMPTY)
        if not all(self._values):
            return None
        values: Sequence[bytes] = self._values  # type: ignore[assignment]
        sizes = np.fromiter(map(len, values), np.int64, len(values))
        text = b"\n".join([*values, b""])
        ends = np.cumsum(sizes + 1) - 1
        starts = ends - sizes
        nbytes = np.frombuffer(text, np.uint8)
        if (nbytes[starts] != OPENING).any() or (nbytes[ends - 1] != CLOSING).any():
            return None
        return Lines(text, starts, ends)

    def packed(self) -> Packed:
        """Copy all values into one buffer."""
        return packed(self._values)


class PortableMessages(Messages):
    """The records of a batch, or some of them."""

    def __init__(self, own: Sequence[ck.Message], headers: Sequence[Headers | None]) -> None:
        self._own = own
        self._headers = headers

    def __len__(self) -> int:
        return len(self._own)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Messages: ...
    def __getitem__(self, index: Any) -> Message | Messages:
        return self.select(index) if isinstance(index, slice) else Message(self, range(len(self))[index])

    def select(self, indices: Sequence[int] | slice) -> Messages:
        """Return some of them, by index."""
        if isinstance(indices, slice):
            return PortableMessages(self._own[indices], self._headers[indices])
        chosen = list(indices)
        return PortableMessages([self._own[i] for i in chosen], [self._headers[i] for i in chosen])

    def keys(self) -> list[bytes | None]:
        """Return the key of each, as it is in the log."""
        return [_bytes(key) for key in map(ck.Message.key, self._own)]

    def key_values(self) -> Values:
        """Return the keys."""
        return PortableValues(self.keys())

    def timestamps(self) -> list[int | None]:
        """Return the time of each, in epoch ms; None where the record has none."""
        times = map(ck.Message.timestamp, self._own)
        return [None if kind == NO_TIMESTAMP or time == NO_TIME else time for kind, time in times]

    def headers(self) -> list[Headers | None]:
        """Return the headers of each in their order; None where they cannot be read."""
        return list(self._headers)

    def have_header(self, name: str) -> list[bool]:
        """Return which of them have a header of a name."""
        return [has_header(headers, name) for headers in self._headers]

    def last_headers(self, names: Sequence[str]) -> HeaderKinds:
        """Return headers of each record by their names."""
        return HeaderKinds.counted([last_of(headers, names) for headers in self._headers])


_EMPTY = np.zeros(0, np.int64)

_NONE: Headers = []
_UNREADABLE = object()

_headers_of = partial(ck.Message.headers)
"""confluent-kafka 2.16 returns a broken list, and no error, for a name that is not UTF-8. Any access to that list causes a
segmentation fault. Called by ``partial``, CPython checks for a pending error, and raises SystemError. The error is
pending at the first call for a message only."""


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _headers(messages: Sequence[ck.Message]) -> list[Headers | None]:
    """Return the headers of each message; None where they cannot be read."""
    found: list[Any] = []
    left = iter(messages)
    while len(found) < len(messages):
        try:
            found.extend(map(_headers_of, left))
        except (SystemError, UnicodeDecodeError):
            found.append(_UNREADABLE)
    if found.count(None) == len(found):
        return [_NONE] * len(found)
    return [_NONE if one is None else None if one is _UNREADABLE else list(one) for one in found]


def _key_sizes(messages: Sequence[ck.Message]) -> Words:
    keys = list(map(ck.Message.key, messages))
    if keys.count(None) == len(keys):
        return np.zeros(len(keys), np.int64)
    return np.fromiter((len(key) if key else 0 for key in keys), np.int64, len(keys))


def headers_nbytes(headers: Headers) -> int:
    """Return the approximate number of bytes that headers take."""
    return sum(len(name) + len(value or b"") + 2 for name, value in headers)
