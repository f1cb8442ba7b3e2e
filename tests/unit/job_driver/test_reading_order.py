"""Gaps between offsets are only gaps while offsets rise."""

import numpy as np
import pytest
from confluent_kafka import KafkaError

from floe.offsets.ranges import OffsetRange
from floe_job.consume.consumer import Event
from floe_job.exceptions import ReadFailed
from floe_job.read import _ends, _refuse_disorder

RANGE = OffsetRange("orders", "id", 0, 10, 100)


@pytest.mark.parametrize("offsets", [[10], [10, 11, 50], [12, 99]])
def test_rising_offsets_are_taken(offsets: list[int]) -> None:
    _refuse_disorder(RANGE, 9, np.array(offsets))


@pytest.mark.parametrize(
    ("after", "offsets", "named"), [(9, [9], 9), (20, [20, 21], 20), (9, [10, 12, 12], 12), (9, [11, 10], 10)]
)
def test_an_offset_that_comes_again_is_named(after: int, offsets: list[int], named: int) -> None:
    with pytest.raises(ReadFailed, match=f"offset {named} of orders-0"):
        _refuse_disorder(RANGE, after, np.array(offsets))


def end_of(topic: str, partition: int, offset: int) -> Event:
    return Event(topic, partition, offset, KafkaError(KafkaError._PARTITION_EOF))


@pytest.mark.parametrize(
    ("end", "ends"),
    [
        (end_of("t", 0, 10), True),
        (end_of("t", 0, 9), False),
        (end_of("t", 1, 10), False),
        (end_of("u", 0, 10), False),
    ],
)
def test_a_range_ends_only_with_its_own_partition_and_not_before_its_end(end: Event, ends: bool) -> None:
    assert _ends(OffsetRange("t", "id", 0, 0, 10), end, 5) is ends
