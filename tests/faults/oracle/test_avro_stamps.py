"""Stamps in Avro: what is written is read, and what is not whole is known as that."""

from __future__ import annotations

from itertools import count

import pytest

from tests.faults.oracle.avro_stamps import AvroStamps
from tests.faults.oracle.stamps import BROKEN, Stamp

pytestmark = pytest.mark.quick
STAMP = Stamp("r", "p", 7)


@pytest.fixture
def stamps() -> AvroStamps:
    """A format whose registry numbers schemas from 1 on."""
    numbers = count(1)
    return AvroStamps(lambda _: next(numbers))


def test_avro_stamp_is_read_as_written(stamps: AvroStamps) -> None:
    first = stamps.write(STAMP, "päd")
    stamps.add(since="long")
    for value in (first, stamps.write(STAMP, "päd", {"since": 1, "n": 2, "to": "a", "unknown": 3})):
        assert stamps.read(value) == STAMP


def test_avro_stamp_that_is_not_whole_is_broken(stamps: AvroStamps) -> None:
    value = stamps.write(STAMP, "pad")
    unknown = b"\0\0\0\0\x09" + value[5:]
    for bad in (
        b"",
        b"{}",
        value + b"x",
        value.replace(b"pad", b"bad"),
        unknown,
        *(value[:i] for i in range(len(value))),
    ):
        assert stamps.read(bad) == BROKEN, bad
