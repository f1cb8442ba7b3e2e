"""Values of any content in one buffer."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe_job.source.portable import PortableValues
from floe_job.source.values import CLOSEST, MIN_TOGETHER, PADDING, Packed, packed
from tests.support.job.memory import Memory


def check(found: Packed, values: Sequence[bytes | None]) -> None:
    """Check that each value is there, in its order, and that what is around may be read."""
    data = bytes(found.data)
    spans = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    assert [data[start:end] for start, end in spans] == [value or b"" for value in values]
    full = [span for span in spans if span[0] < span[1]]
    assert full == sorted(full)
    assert all(start >= PADDING and end <= len(data) - PADDING for start, end in spans)


@pytest.mark.parametrize("values", [[], [b""], [None], [b"a"], [b"", b"ab", None, b"", b"c"], [b"\x00" * 5000] * 3])
def test_values_of_any_kind_are_packed_alike(values: list[bytes | None]) -> None:
    check(packed(values), values)
    check(packed(PortableValues(values)), values)
    memory = Memory(values, [10] * len(values), [0] * len(values))
    check(packed(memory.values), values)


GAPS = st.sampled_from([0, 1, 10, 300, CLOSEST, CLOSEST + 1])


@given(st.lists(st.tuples(st.integers(0, 90), GAPS), min_size=1, max_size=40), st.integers(1, 4), st.randoms())
def test_values_in_many_buffers_are_packed(layout: list[tuple[int, int]], count: int, chance: random.Random) -> None:
    values = [chance.randbytes(size) or None for size, _ in layout]
    buffers = sorted(chance.randrange(count) for _ in layout)
    memory = Memory(values, [gap for _, gap in layout], buffers)
    check(memory.values.packed(), values)
    chosen = [chance.randrange(len(values)) for _ in range(2 * MIN_TOGETHER)]
    check(memory.values.select(chosen).packed(), [values[i] for i in chosen])
