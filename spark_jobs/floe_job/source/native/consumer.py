"""A consumer that is assigned one partition at a time."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import create_string_buffer
from typing import Any, NamedTuple, Self

import confluent_kafka as ck
import numpy as np

from floe.kafka.reader_limits import ReaderLimits
from floe_job.source import reports
from floe_job.source.batch import FetchedBatch
from floe_job.source.native import librdkafka
from floe_job.source.native.confluent_internals import plugin_paths
from floe_job.source.native.kafka_batch import KafkaBatch
from floe_job.source.native.memory import Handle, MessageBlock

_PLUGINS = "plugin.library.paths"
_FIRST = ("debug", _PLUGINS)
"""Settings that others may depend on."""

AUTHENTICATION = "sasl.oauthbearer.metadata.authentication.type"


class SettingRefused(ValueError):
    """A setting that librdkafka does not know or does not take."""


class LayoutUnknown(RuntimeError):
    """A message in memory does not have the known layout."""


class ConsumerEvent(NamedTuple):
    """What librdkafka reports between records: an error, or the end of a partition at ``offset``."""

    topic: str
    partition: int
    offset: int
    error: ck.KafkaError


class Consumer:
    """Reads what it was assigned. It never joins its group and commits nothing."""

    def __init__(self, handle: Handle, queue: int, client_reports: reports.Reports, most: int) -> None:
        """Use a client of librdkafka and its queue of records; :meth:`open` makes them. ``most``: messages at once."""
        self._open: Handle | None = handle
        self._queue = queue
        self._reports = client_reports
        self._pointers = np.zeros(most, np.int64)
        self._unchecked: tuple[int, int] | None = None
        self._is_checked = False

    @classmethod
    def open(cls, conf: Mapping[str, Any], most: int) -> Self:
        """Take settings in librdkafka's names: texts, numbers, booleans. ``most``: messages at once.

        Raises SettingRefused.
        """
        handle = Handle(_client(reports.with_reports(conf)))
        client_reports = reports.begin(handle.pointer, conf)
        code = librdkafka.poll_set_consumer(handle.pointer)
        if code:
            reports.forget(handle.pointer)
            handle.release()
            raise SettingRefused(librdkafka.err2str(code).decode())
        return cls(handle, librdkafka.queue_get_consumer(handle.pointer), client_reports, most)

    @property
    def _handle(self) -> Handle:
        if self._open is None:
            msg = "this consumer is closed"
            raise RuntimeError(msg)
        return self._open

    def close(self) -> None:
        """Close the consumer, once; its memory is freed with the last of its records."""
        handle, self._open = self._open, None
        if handle is not None:
            librdkafka.queue_destroy(self._queue)
            librdkafka.consumer_close(handle.pointer)
            reports.forget(handle.pointer)
            handle.release()

    def __del__(self) -> None:
        self.close()

    def assign(self, topic: str, partition: int, offset: int, epoch: int | None = None) -> None:
        """Read one partition from an offset on, and no other. Raises KafkaException.

        ``epoch``: a leader epoch whose log had the offsets below; an event says where the present log is another one.
        """
        self._reports.failure = None
        self._unchecked = None if self._is_checked else (partition, offset)
        name = topic.encode()
        wanted = librdkafka.topic_partition_list_new(1)
        try:
            added = librdkafka.topic_partition_list_add(wanted, name, partition)
            if epoch is not None:
                librdkafka.topic_partition_set_leader_epoch(added, epoch)
            librdkafka.topic_partition_list_set_offset(wanted, name, partition, offset)
            code = librdkafka.assign(self._handle.pointer, wanted)
        finally:
            librdkafka.topic_partition_list_destroy(wanted)
        if code:
            raise _exception(code)

    def next_offset(self, topic: str, partition: int) -> int | None:
        """Return the offset that is fetched from next, as of the last report; None without one.

        It also advances over offsets that yield no records. Reports come every ``statistics.interval.ms``.
        """
        return self._reports.next_offsets.get((topic, partition))

    @property
    def is_beyond_receive(self) -> bool:
        """Whether a batch, as it is stored, is larger than ``receive.message.max.bytes``."""
        return self._reports.is_beyond_receive

    @property
    def failure(self) -> str | None:
        """Why a connection failed last since the partition was assigned."""
        return self._reports.failure

    def unassign(self) -> None:
        """Read nothing any more; what was fetched ahead is dropped. Raises KafkaException."""
        code = librdkafka.assign(self._handle.pointer, None)
        if code:
            raise _exception(code)

    def take_sizes(self, sizes: Mapping[str, Any]) -> bool:
        """Change the sizes of answers from the next request on; return whether the client can."""
        _set(librdkafka.conf_of(self._handle.pointer), sizes)
        return True

    def batches(self, limits: ReaderLimits, *, one: bool) -> KafkaBatch:
        """Return what measures batches by the addresses of their records. ``one``: each call returns a single batch."""
        del one
        return KafkaBatch(limits.unsure_bytes)

    def consume(self, seconds: float) -> tuple[FetchedBatch, list[ConsumerEvent]]:
        """Return what is available, after at most some seconds: records, and events between them.

        Raises KafkaException, LayoutUnknown.
        """
        return self._consume(seconds, len(self._pointers))

    def consume_answer(self, seconds: float) -> tuple[FetchedBatch, list[ConsumerEvent]]:
        """Return what is available as soon as there is something, or after some seconds. An answer arrives as a whole.

        Raises KafkaException.
        """
        part, events = self._consume(seconds, 1)
        parts, is_more = [part], bool(len(part))
        while is_more:  # not until nothing is left: meanwhile the next answer may have arrived, and the one after it
            part, more = self._consume(0, len(self._pointers))
            parts.append(part)
            events += more
            is_more = len(part) + len(more) == len(self._pointers)
        return FetchedBatch.joined(parts), events

    def _consume(self, seconds: float, most: int) -> tuple[FetchedBatch, list[ConsumerEvent]]:
        handle = self._handle
        count = librdkafka.consume_batch_queue(self._queue, int(seconds * 1000), self._pointers.ctypes.data, most)
        if count < 0:
            raise _exception(librdkafka.last_error())
        batch, events = FetchedBatch.of(MessageBlock(handle, self._pointers[:count].copy()))
        if self._unchecked is not None and len(batch):
            self._check_layout(int(batch.pointers[0]), *self._unchecked)
        return batch, [_event(pointer) for pointer in events.tolist()]

    def _check_layout(self, pointer: int, partition: int, offset: int) -> None:
        """Compare the first record with what was requested; only its numbers are read."""
        first = librdkafka.NativeMessage.from_address(pointer)
        if first.partition != partition or first.offset < offset:
            msg = (
                f"a message says partition {first.partition}, offset {first.offset}, where partition {partition} was asked "
                f"for from offset {offset} on"
            )
            raise LayoutUnknown(msg)
        self._unchecked, self._is_checked = None, True


def _set(settings: int, conf: Mapping[str, Any]) -> None:
    problem = create_string_buffer(512)
    for name in sorted(conf, key=lambda name: name not in _FIRST):
        value = conf[name]
        if value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        text = plugin_paths(text) if name == _PLUGINS else text
        if librdkafka.conf_set(settings, name.encode(), text.encode(), problem, len(problem)) != librdkafka.CONF_OK:
            raise SettingRefused(problem.value.decode(errors="replace"))


def _client(conf: Mapping[str, Any]) -> int:
    if conf.get(AUTHENTICATION) == "aws_iam":  # what confluent-kafka does for it, it does in Python
        msg = f"{AUTHENTICATION}=aws_iam: floe's readers cannot; use another method of SASL, or TLS"
        raise SettingRefused(msg)
    settings = librdkafka.conf_new()
    problem = create_string_buffer(512)
    try:
        _set(settings, conf)
    except SettingRefused:
        librdkafka.conf_destroy(settings)
        raise
    reports.register(settings)
    client: int | None = librdkafka.new(librdkafka.CONSUMER, settings, problem, len(problem))
    if client is None:
        librdkafka.conf_destroy(settings)
        raise SettingRefused(problem.value.decode(errors="replace"))
    return client


def _exception(code: int) -> ck.KafkaException:
    return ck.KafkaException(ck.KafkaError(code, librdkafka.err2str(code).decode()))


def _event(pointer: int) -> ConsumerEvent:
    message = librdkafka.NativeMessage.from_address(pointer)
    topic = librdkafka.topic_name(message.rkt).decode() if message.rkt else ""
    text = (librdkafka.message_errstr(pointer) or b"").decode(errors="replace")
    return ConsumerEvent(topic, message.partition, message.offset, ck.KafkaError(message.err, text))
