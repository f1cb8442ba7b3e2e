"""Records by the public ``confluent_kafka.Consumer`` alone: a Python object per record, and nothing of librdkafka's memory.

It reads with any version of librdkafka, and with settings that confluent-kafka serves by callbacks in Python.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, overload

import confluent_kafka as ck
import numpy as np

from floe.kafka.client_log import LEVELS
from floe.kafka.reader_limits import MIB, ReaderLimits
from floe_job.source.batch import Batch
from floe_job.source.consumer import Event, SettingRefused
from floe_job.source.kafka_batch import Measured, Stretch
from floe_job.source.messages import Headers, Message, Messages
from floe_job.source.native_memory import Words
from floe_job.source.reports import LOG_QUEUE, Reports, level_of, with_reports
from floe_job.source.values import CLOSING, OPENING, Lines, Values

OCTETS_AT_ONCE = 4 * MIB
"""What a call brings, about, so that several batches are not taken for one that is too large."""

NO_TIMESTAMP = ck.TIMESTAMP_NOT_AVAILABLE


Record = tuple[ck.Message, Headers | None]
"""A message, and its headers, which can be asked for once; None where they cannot be read."""


class PortableConsumer:
    """Reads what it was assigned. It never joins its group and commits nothing. See ``consumer.Consumer``."""

    def __init__(self, conf: Mapping[str, Any], most: int, limits: ReaderLimits) -> None:
        """Take settings in librdkafka's names, and callbacks. ``most``: messages at once. Raises SettingRefused."""
        self._reports = Reports(level_of(conf))
        self._most, self._at_once = most, most
        self._octets_at_once = min(OCTETS_AT_ONCE, limits.unsure_bytes // 4)
        given = {name: value for name, value in with_reports(conf).items() if value is not None and name != LOG_QUEUE}
        callbacks = {"stats_cb": self._take_statistics, "logger": _ReportingLog(self._reports)}
        try:
            self._client = ck.Consumer({**given, **callbacks})
        except (ck.KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(_words(error)) from None
        self._is_open = True

    def close(self) -> None:
        """Close the consumer, once."""
        if self._is_open:
            self._is_open = False
            self._client.close()

    def assign(self, topic: str, partition: int, offset: int) -> None:
        """Read one partition from an offset on, and no other. Raises KafkaException."""
        self._reports.failure = None
        self._client.assign([ck.TopicPartition(topic, partition, offset)])

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

    def batches(self, limits: ReaderLimits, *, one: bool) -> AnswerSizes:
        """Return what measures batches. ``one``: each call brings a single one."""
        return AnswerSizes(limits, is_one=one)

    def consume(self, seconds: float) -> tuple[Batch, list[Event]]:
        """Return what is there, after at most some seconds: records, and events that came among them."""
        batch, events = self._consume(seconds, self._at_once)
        if len(batch):
            mean = max(1, batch.octets // len(batch))
            self._at_once = max(1, min(self._most, self._octets_at_once // mean))
        return batch, events

    def consume_answer(self, seconds: float) -> tuple[Batch, list[Event]]:
        """Return what is there as soon as there is something, or after some seconds: all of an answer is there at once."""
        part, events = self._consume(seconds, 1)
        parts = [part]
        while len(part):
            part, more = self._consume(0, self._most)
            parts.append(part)
            events += more
        return Batch.joined(parts), events

    def _consume(self, seconds: float, most: int) -> tuple[Batch, list[Event]]:
        found = self._client.consume(most, seconds)
        events = [_event(message, error) for message in found if (error := message.error()) is not None]
        return PortableBatch.of_messages([m for m in found if m.error() is None] if events else found), events

    def _take_statistics(self, text: str) -> None:
        self._reports.take_statistics(text.encode())


class _ReportingLog:
    """Takes a client's lines from confluent-kafka, which calls ``log`` while the client is polled."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def log(self, level: int, form: str, *values: object) -> None:
        """Note and log a line: ``values`` are facility, client and text."""
        facility, text = (str(values[0]), str(values[-1])) if len(values) > 1 else ("", form % values)
        self._reports.take_line(LEVELS.index(level) if level in LEVELS else LEVELS.index(logging.INFO), facility, text)


class AnswerSizes:
    """Tells how large batches are by what one call brought, as records do not say which batch they came in.

    Where a call may bring several, and brings much, that is unsure: the reader then asks again, for one at a time.
    """

    def __init__(self, limits: ReaderLimits, *, is_one: bool) -> None:
        self._limits = limits
        self._is_one = is_one

    def measure(self, records: Batch) -> Measured:
        """Return how large records are, keys and headers included, and the batches that they are of."""
        own = records.records if isinstance(records, PortableBatch) else ()
        octets = records.octets + sum(map(_headers_octets, own))
        is_unsure = not self._is_one and octets > self._limits.unsure_bytes
        return Measured(octets, [Stretch(int(records.offsets[0]), 0, octets)] if octets else [], is_unsure)


class PortableBatch(Batch):
    """Records of one partition, each an object of confluent-kafka's."""

    records: Sequence[Record]

    @classmethod
    def of_messages(cls, messages: Sequence[ck.Message]) -> PortableBatch:
        """Read the columns of messages, which are records all."""
        count = len(messages)
        offsets: Words = np.fromiter((m.offset() for m in messages), np.int64, count)
        sizes: Words = np.fromiter((len(m.value() or b"") for m in messages), np.int64, count)
        key_sizes: Words = np.fromiter((len(m.key() or b"") for m in messages), np.int64, count)
        return cls._made([(m, _headers(m)) for m in messages], offsets, sizes, key_sizes)

    @classmethod
    def _made(cls, records: Sequence[Record], offsets: Words, sizes: Words, key_sizes: Words) -> PortableBatch:
        nowhere = np.zeros_like(offsets)
        one = cls((), nowhere, offsets, nowhere, sizes, key_sizes)
        object.__setattr__(one, "records", records)
        return one

    def _joined(self, parts: Sequence[Batch]) -> Batch:
        return self._made(
            [r for part in parts if isinstance(part, PortableBatch) for r in part.records],
            np.concatenate([part.offsets for part in parts]),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.key_sizes for part in parts]),
        )

    def where(self, mask: np.ndarray[Any, np.dtype[np.bool_]] | slice) -> Batch:
        """Return the records that a mask or a slice has."""
        if isinstance(mask, slice):
            kept = self.records[mask]
        elif mask.all():
            return self
        else:
            kept = [self.records[i] for i in np.flatnonzero(mask).tolist()]
        return self._made(kept, self.offsets[mask], self.sizes[mask], self.key_sizes[mask])

    @property
    def values(self) -> Values:
        """The values, None for tombstones."""
        return PortableValues([m.value() for m, _ in self.records])

    @property
    def messages(self) -> Messages:
        """Each record with its key, time and headers."""
        return PortableMessages(self.records)


class PortableValues(Values):
    """Values of records: bytes, None for tombstones."""

    def __init__(self, values: Sequence[bytes | None]) -> None:
        self._values = values

    @property
    def octets(self) -> int:
        """Bytes of all of them."""
        return sum(len(value) for value in self._values if value)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        found = self._values[index]
        return PortableValues(found) if isinstance(index, slice) else found

    def __iter__(self) -> Any:
        return iter(self._values)

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
        octets = np.frombuffer(text, np.uint8)
        if (octets[starts] != OPENING).any() or (octets[ends - 1] != CLOSING).any():
            return None
        return Lines(text, starts, ends)


class PortableMessages(Messages):
    """The records of a batch, or some of them."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Messages: ...
    def __getitem__(self, index: Any) -> Message | Messages:
        return self.select(index) if isinstance(index, slice) else Message(self, range(len(self))[index])

    def select(self, indices: Sequence[int] | slice) -> Messages:
        """Return some of them, by index."""
        chosen = self._records[indices] if isinstance(indices, slice) else [self._records[i] for i in indices]
        return PortableMessages(chosen)

    def keys(self) -> list[bytes | None]:
        """Return the key of each, as it stands in the log."""
        return [_bytes(m.key()) for m, _ in self._records]

    def timestamps(self) -> list[int | None]:
        """Return the time of each, in epoch ms; None where the broker has none."""
        return [None if kind == NO_TIMESTAMP else time for kind, time in (m.timestamp() for m, _ in self._records)]

    def headers(self) -> list[Headers | None]:
        """Return the headers of each in their order; None where they cannot be read."""
        return [headers for _, headers in self._records]


_EMPTY = np.zeros(0, np.int64)

_headers_of = partial(ck.Message.headers)
"""confluent-kafka 2.16 returns a broken list, and no error, for a name that is not UTF-8. Whoever touches that list dies of a
segmentation fault. Called by ``partial``, CPython looks for an error that is pending, and raises SystemError; there is one
at the first call for a message only."""


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _headers(message: ck.Message) -> Headers | None:
    try:
        found: Any = _headers_of(message)
    except (SystemError, UnicodeDecodeError):
        return None
    return list(found or [])


def _headers_octets(record: Record) -> int:
    return sum(len(name) + len(value or b"") + 2 for name, value in record[1] or ()) + 1


def _event(message: ck.Message, error: ck.KafkaError) -> Event:
    return Event(message.topic() or "", message.partition() or 0, message.offset() or 0, error)


def _words(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return str(reason.str()) if isinstance(reason, ck.KafkaError) else str(reason)
