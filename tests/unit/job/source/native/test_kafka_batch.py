"""Batches that were decompressed one behind the other are told apart, also where one call ends with the first of them."""

from __future__ import annotations

from ctypes import addressof, create_string_buffer, memset
from itertools import accumulate

import numpy as np
import pytest

from floe_job.source.batch import FetchedBatch
from floe_job.source.native.kafka_batch import KafkaBatch
from floe_job.source.native.librdkafka import NativeMessage
from floe_job.source.native.memory import PAGE

OF_MEMORY = bytes(16)
"""What an allocator keeps before each of its blocks."""

HEAD = b"\x10\x00\x00"
"""Of a record: length, attributes, time."""

VALUE = b"value"
NBYTES = 512
"""At least those of librdkafka's own structure of a message; none has headers."""


def record(delta: int, value: bytes = VALUE) -> bytes:
    """Return a record without key and headers; numbers below 64 are their double."""
    return HEAD + bytes([2 * delta, 1, 2 * len(value)]) + value + b"\x00"


class Arena:
    """Memory with batches one behind the other, and librdkafka's messages that point there."""

    def __init__(self, batches: list[list[bytes]], at: int = 0) -> None:
        """``batches``: the values of each; ``at``: where in its page of memory the first begins."""
        blocks = [b"".join(record(i, value) for i, value in enumerate(values)) for values in batches]
        self._memory = create_string_buffer(2 * PAGE + sum(map(len, blocks)) + len(OF_MEMORY) * len(blocks))
        begin = -addressof(self._memory) % PAGE + at
        places = [begin + at for at in accumulate((len(block) + len(OF_MEMORY) for block in blocks[:-1]), initial=0)]
        for place, block in zip(places, blocks, strict=True):
            self._memory[place : place + len(block)] = block
        self._values = [value for values in batches for value in values]
        self.begins = [
            place + sum(len(record(i, one)) for i, one in enumerate(values[:n])) + len(record(0, b"")) - 1
            for place, values in zip(places, batches, strict=True)
            for n in range(len(values))
        ]
        self._messages = create_string_buffer(NBYTES * len(self._values))

    def records(self, first: int, end: int) -> FetchedBatch:
        """Return some of the records, as one call does."""
        pointers, offsets = [addressof(self._messages) + NBYTES * i for i in range(first, end)], range(first, end)
        addresses = []
        for pointer, offset in zip(pointers, offsets, strict=True):
            message = NativeMessage.from_address(pointer)
            message.offset, message.len = offset, len(self._values[offset])
            address = addressof(self._memory) + self.begins[offset]
            message.payload = address if message.len else None
            addresses.append(address if message.len else 0)
        sizes = [len(self._values[offset]) for offset in offsets]
        words = (np.array(one, np.int64) for one in (pointers, offsets, addresses, sizes, [0] * len(sizes)))
        return FetchedBatch((), *words)

    def release(self, until: int) -> None:
        """Let other things be written where the first records were."""
        memset(addressof(self._memory), 0xFF, self.begins[until])


@pytest.mark.parametrize("first", [1, 3, 4])
def test_batch_that_begins_with_a_call_is_no_part_of_the_one_before(first: int) -> None:
    arena, batches = Arena([[VALUE] * first, [VALUE] * 4], at=100), KafkaBatch(large=1)
    batches.measure(arena.records(0, first))
    (found,) = batches.measure(arena.records(first, first + 4)).batches
    assert (found.offset, found.nbytes) == (first, 4 * len(VALUE) + 3 * (len(record(1)) - len(VALUE)) + 1)


@pytest.mark.parametrize("ended", [1, 3, 4])
def test_batch_continues_in_the_next_call(ended: int) -> None:
    arena, batches = Arena([[VALUE, VALUE, b"", VALUE, b"", b"", VALUE]], at=100), KafkaBatch(large=1)
    batches.measure(arena.records(0, ended))
    (found,) = batches.measure(arena.records(ended, 7)).batches
    whole = arena.begins[6] + len(VALUE) + 1 - arena.begins[0]
    assert (found.offset, found.nbytes) == (0, whole)


def test_call_without_keys_and_values_is_a_part_of_the_batch() -> None:
    arena, batches = Arena([[VALUE, b"", b"", b"", VALUE]], at=100), KafkaBatch(large=1)
    for first, end in ((0, 1), (1, 2), (2, 4)):
        batches.measure(arena.records(first, end))
    (found,) = batches.measure(arena.records(4, 5)).batches
    assert found.offset == 0


def test_first_batch_on_its_page_of_memory_may_continue_and_nothing_before_it_is_read() -> None:
    one = len(record(0))
    arena, batches = Arena([[VALUE] * 3, [VALUE] * 2], at=PAGE - 3 * one - len(OF_MEMORY) + 2), KafkaBatch(large=1)
    batches.measure(arena.records(0, 3))
    (found,) = batches.measure(arena.records(3, 5)).batches
    assert found.offset == 0


def test_small_records_before_are_a_batch_of_their_own() -> None:
    arena, batches = Arena([[VALUE] * 3, [VALUE] * 2], at=100), KafkaBatch(large=1)
    assert batches.measure(arena.records(0, 3), ignored=1000).batches == []
    arena.release(2)
    (found,) = batches.measure(arena.records(3, 5)).batches
    assert found.offset == 3
