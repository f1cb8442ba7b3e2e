"""Values of records as a column, and a column as values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from floe_job.source.values import column_of, values_of
from tests.support.kafka.messages import values_of as in_memory

GIVEN: list[list[bytes | None]] = [
    [],
    [None],
    [b""],
    [b"a", None, b"", b"bcd", b"", None, b"e" * 5_000],
    [b"", b"", b"x"],
    [None, b"", None],
]


@pytest.mark.parametrize("given", GIVEN)
def test_values_are_the_same_as_a_column_and_back(given: list[bytes | None]) -> None:
    column = column_of(in_memory(given))
    column.validate(full=True)
    assert column.to_pylist() == given
    back = values_of(column)
    del column
    assert list(back) == given
    assert list(back[1:]) == given[1:]
    assert column_of(back).to_pylist() == given


def test_values_of_a_part_of_a_column_are_that_part() -> None:
    column = pa.array([b"a", None, b"bc", b""], pa.large_binary())
    assert list(values_of(column[1:])) == [None, b"bc", b""]
