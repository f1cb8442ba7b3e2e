"""Records by the public ``confluent_kafka.Consumer`` alone: a Python object per record, and nothing of librdkafka's memory.

It reads with any version of librdkafka, and with settings that confluent-kafka serves by callbacks in Python.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Self

import confluent_kafka as ck

from floe.kafka.client_log import LEVELS
from floe.kafka.reader_limits import MIB, ReaderLimits
from floe_job.source.batch import Batch
from floe_job.source.native.consumer import Event, SettingRefused
from floe_job.source.native.kafka_batch import Measured
from floe_job.source.native.outline import Stretch
from floe_job.source.portable_batch import PortableBatch, headers_nbytes
from floe_job.source.reports import LOG_QUEUE, Reports, level_of, with_reports

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

    def consume(self, seconds: float) -> tuple[Batch, list[Event]]:
        """Return what is available, after at most some seconds: records, and events between them."""
        batch, events = self._consume(seconds, self._batch_records)
        if len(batch):
            mean = max(1, batch.nbytes // len(batch))
            self._batch_records = max(1, min(self._most, self._batch_bytes // mean))
        return batch, events

    def consume_answer(self, seconds: float) -> tuple[Batch, list[Event]]:
        """Return what is available as soon as there is something, or after some seconds. An answer arrives as a whole."""
        part, events = self._consume(seconds, 1)
        parts, is_more = [part], bool(len(part))
        while is_more:  # not until nothing is left: meanwhile the next answer may have arrived, and the one after it
            part, more = self._consume(0, self._most)
            parts.append(part)
            events += more
            is_more = len(part) + len(more) == self._most
        return Batch.joined(parts), events

    def _consume(self, seconds: float, most: int) -> tuple[Batch, list[Event]]:
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

    def measure(self, records: Batch, ignored: int = 0) -> Measured:
        """Return the size of records, keys and headers included, and their batches."""
        del ignored
        headers = filter(None, records.headers) if isinstance(records, PortableBatch) else ()
        nbytes = records.nbytes + len(records) + sum(map(headers_nbytes, headers))
        is_unsure = not self._is_one and nbytes > self._limits.unsure_bytes
        return Measured(nbytes, [Stretch(int(records.offsets[0]), 0, nbytes)] if nbytes else [], is_unsure)


def _event(message: ck.Message, error: ck.KafkaError) -> Event:
    return Event(message.topic() or "", message.partition() or 0, message.offset() or 0, error)


def _words(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return str(reason.str()) if isinstance(reason, ck.KafkaError) else str(reason)
