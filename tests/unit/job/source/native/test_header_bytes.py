"""Headers of many records, read from their bytes at once."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from floe_job.source.native.record_frames import MAX_HEADERS, LastFound, find_last
from tests.support.avro import varint

NAMES = [b"a", b"id", b"apicurio.value.globalId", b"n" * 70]
Pairs = list[tuple[bytes, bytes | None]]


def encoded(pairs: Pairs) -> bytes:
    sized = [part for name, value in pairs for part in (name, value)]
    parts = [varint(-1) if part is None else varint(len(part)) + part for part in sized]
    return varint(len(pairs)) + b"".join(parts)


def found(texts: Sequence[bytes], names: Sequence[bytes]) -> tuple[LastFound, list[list[bytes | None]]]:
    """Return what is found in headers that are in memory one after the other, and the values of each name."""
    held: Any = ctypes.create_string_buffer(b"##".join([b"", *texts]), sum(map(len, texts)) + 2 * len(texts) + 1)
    sizes = np.array([len(text) for text in texts], np.int64)
    begins = ctypes.addressof(held) + np.cumsum(sizes + 2) - sizes
    last = find_last(begins, sizes, names)
    places = [zip(one.addresses.tolist(), one.sizes.tolist(), strict=True) for one in last.headers]
    return last, [[ctypes.string_at(at, size) if at else None for at, size in one] for one in places]


def test_header_bytes_give_the_last_of_each_name() -> None:
    chance = random.Random(4)
    values = [None, b"", b"x", b"12345678", b"v" * 200]
    for _ in range(200):
        each = [
            [(chance.choice(NAMES), chance.choice(values)) for _ in range(chance.choice([0, 1, 2, 2, 5, MAX_HEADERS]))]
            for _ in range(chance.randrange(1, 30))
        ]
        names = chance.sample(NAMES, 3)
        last, columns = found([encoded(pairs) if pairs or chance.random() < 0.5 else b"" for pairs in each], names)
        assert last.has_any.tolist() == [bool(pairs) for pairs in each]
        assert columns == [[dict(pairs).get(name) for pairs in each] for name in names]
        there = [[name in dict(pairs) for pairs in each] for name in names]
        assert [one.is_there.tolist() for one in last.headers] == there, "a header that is null is there too"
        assert not len(last.others)


@pytest.mark.parametrize(
    "text",
    [
        encoded([(b"id", b"7")])[:-1],
        encoded([(b"id", b"7")])[:2],
        varint(1),
        b"\x80",
        varint(1) + varint(-1) + varint(0),
        varint(1) + varint(0) + varint(-2),
        encoded([(b"id", b"x" * 9_000)]),
        encoded([(b"id", b"7")] * (MAX_HEADERS + 1)),
    ],
)
def test_header_bytes_that_are_not_plain_are_left(text: bytes) -> None:
    right = encoded([(b"id", b"7")])
    last, columns = found([right, text, right], [b"id"])
    assert last.others.tolist() == [1]
    assert (columns[0][0], columns[0][2]) == (b"7", b"7")
