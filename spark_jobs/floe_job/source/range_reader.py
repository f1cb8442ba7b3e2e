"""Reading fixed ranges of offsets from Kafka: assigned, read_committed, to the fixed end or with an error."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

from floe.kafka.access import login_of
from floe.kafka.reader_limits import ReaderLimits
from floe.kafka.tokens import with_tokens
from floe.model.ranges import OffsetRange
from floe_job.exceptions import SliceRefused
from floe_job.memory_tuning import destroy_messages
from floe_job.source.batch import Batch
from floe_job.source.clients import Client, open_client, warn_of_portable
from floe_job.source.native.consumer import LayoutUnknown, SettingRefused
from floe_job.source.range_errors import check_epoch, check_order
from floe_job.source.range_progress import POLL_RECORDS, Mode, RangeProgress, settings_of

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

    def read(self, r: OffsetRange, epoch: int | None = None) -> Iterator[Batch]:
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
