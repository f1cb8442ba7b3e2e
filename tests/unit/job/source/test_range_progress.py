"""What a range counts as read, where an answer holds a batch that the client refuses to decompress."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from confluent_kafka import KafkaError

from floe.kafka.reader_limits import ReaderLimits
from floe.model.offsets import OffsetRange
from floe_job.source.native.consumer import ConsumerEvent
from floe_job.source.native.kafka_batch import Measured
from floe_job.source.range_reader import Mode, RangeProgress


class Some:
    """Records by their offsets."""

    def __init__(self, *offsets: int) -> None:
        self.offsets = np.array(offsets, np.int64)

    def __len__(self) -> int:
        return len(self.offsets)

    def where(self, kept: Any) -> "Some":
        return Some(*self.offsets[kept])


def after(answer: Some, *events: ConsumerEvent, epoch: int | None = None) -> RangeProgress:
    """Read the range 0 to 10 of orders-0, as far as one answer goes."""
    reading = RangeProgress(OffsetRange("orders", "id", 0, 0, 10), ReaderLimits(), epoch=epoch)
    batches = SimpleNamespace(measure=lambda *_: Measured(1, []))
    consumer: Any = SimpleNamespace(
        consume_answer=lambda _: (answer, list(events)),
        batches=lambda *_, **__: batches,
        is_beyond_receive=False,
        next_offset=lambda *_: None,
        failure=None,
        take_sizes=lambda _: True,
    )
    reading.begin(Mode.MANY, consumer)
    reading.take(consumer)
    return reading


def test_broker_without_leader_epochs_is_read_without_verification() -> None:
    """A log of an old record format has none: it would never be read otherwise."""
    why = "Partition log truncation detected: No epoch found less or equal to offset 0 (leader epoch 3)"
    unknown = ConsumerEvent("orders", 0, 0, KafkaError(KafkaError._AUTO_OFFSET_RESET, why))
    reading = after(Some(), unknown, epoch=3)
    assert (reading.epoch, reading.position, reading.is_over, reading.is_ended) == (None, 0, True, False)


def refused(topic: str, offset: int) -> ConsumerEvent:
    return ConsumerEvent(topic, 0, offset, KafkaError(KafkaError._BAD_COMPRESSION))


def test_records_behind_a_refused_batch_are_read_again() -> None:
    reading = after(Some(0, 1, 8, 9), refused("orders", 2))
    assert (reading.position, reading.is_ended, reading.next_mode) == (2, False, Mode.ONE)


def test_refused_batch_of_another_range_bounds_nothing() -> None:
    reading = after(Some(0, 1, 2), refused("pizzas", 1))
    assert (reading.position, reading.is_ended, reading.next_mode) == (3, False, Mode.ONE)


def test_last_record_ends_the_range() -> None:
    reading = after(Some(8, 9))
    assert (reading.position, reading.is_ended, reading.is_interrupted) == (10, True, False)
