"""Gaps between offsets are only gaps while offsets rise."""

import pytest

from floe.offsets.ranges import OffsetRange
from floe_job.exceptions import ReadFailed
from floe_job.read import _refuse_disorder

RANGE = OffsetRange("orders", "id", 0, 10, 100)


@pytest.mark.parametrize("offsets", [[10], [10, 11, 50], [12, 99]])
def test_rising_offsets_are_taken(offsets: list[int]) -> None:
    _refuse_disorder(RANGE, 9, offsets)


@pytest.mark.parametrize(
    ("after", "offsets", "named"), [(9, [9], 9), (20, [20, 21], 20), (9, [10, 12, 12], 12), (9, [11, 10], 10)]
)
def test_an_offset_that_comes_again_is_named(after: int, offsets: list[int], named: int) -> None:
    with pytest.raises(ReadFailed, match=f"offset {named} of orders-0"):
        _refuse_disorder(RANGE, after, offsets)
