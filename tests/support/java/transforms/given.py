"""Records in Kafka, made by chance: topics, times, keys and headers, around the values of a form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.java.transforms.setup import Reader

TOPICS = ("orders", "db.public.orders", "a-b_c.1", "ORDERS", "server.inventory.customers")
LAST_TIME = 253_402_300_799_999
TIMES = (0, 1, 1_700_000_000_123, 1_709_164_799_999, 951_782_400_000, LAST_TIME, LAST_TIME + 1, 8_640_000_000_000_000)
HEADER_NAMES = ("h", "h", "drop", "trace", "é", "a.b", "b", "")
LISTS = (b'["a","b"]', b'["c"]', b"[]")
"""Names of fields, as ``drop.fields.header.name`` has them."""
HEADERS: tuple[bytes | None, ...] = (
    *(None, b"", b"text", b"1", b"007", b"-40000", b"1.50", b"1e3", b"true", b"null", b'"quoted"', b"2024-01-02"),
    *LISTS,
    *(b'{"a":1}', b"[1,2]", b"[1,x", "snow ☃".encode(), b"\xff\xfe", b"2024-01-02T03:04:05.678Z", b" blanks "),
)


@dataclass(frozen=True)
class Given:
    """A record in Kafka. ``timestamp``: epoch ms, None where the broker has none."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def request(self) -> dict[str, Any]:
        """Return it as ``TransformCheck.java`` reads it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": self.timestamp,
            "key": _hex(self.key),
            "value": _hex(self.value),
            "headers": [[name, _hex(value)] for name, value in self.headers],
        }


Pair = tuple[bytes | None, bytes | None]
"""A key and a value; None is a null key, and a tombstone."""


@dataclass(frozen=True)
class Form:
    """A form of keys and values. ``pairs``: makes as many as asked for, from one source of chance."""

    key: Reader
    value: Reader
    pairs: Callable[[Random, int], list[Pair]]


def records(form: Form, random: Random, count: int) -> list[Given]:
    """Make records of a form, in the order of their offsets; each topic has two partitions."""
    return [
        Given(random.choice(TOPICS), random.randrange(2), offset, _time(random), key, value, _headers(random))
        for offset, (key, value) in enumerate(form.pairs(random, count))
    ]


def _time(random: Random) -> int | None:
    if random.random() < 0.1:
        return None
    return random.choice(TIMES) if random.random() < 0.4 else random.randrange(2_000_000_000_000)


def _headers(random: Random) -> tuple[tuple[str, bytes | None], ...]:
    some: Sequence[int] = range(random.choice((0, 0, 1, 2, 3, 5)))
    return tuple((random.choice(HEADER_NAMES), random.choice(HEADERS)) for _ in some)


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
