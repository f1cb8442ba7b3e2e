"""Records that were damaged at random, whatever their format."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from tests.support.avro import varint

_LONG: Final = tuple(map(varint, (2**62, -(2**62), 2**63 - 1, -(2**63), 2**31, -1, 10_000_000)))
_WORDS: Final = (b"\xff" * 9 + b"\x01", b"\x80" * 12, b"\xff" * 40, b"\x00" * 40, *_LONG)
_TEXTS: Final = tuple(
    text.encode(errors="surrogatepass")
    for text in (
        "[" * 3000,
        '{"a":' * 3000,
        "9" * 10_000,
        "-1e999999999",
        "0." + "1" * 10_000,
        '"\\ud800"',
        '"\\u0000"',
        '"\ud800"',
        "NaN",
        "-Infinity",
        '"' + "x" * 70_000 + '"',
        "null",
        "{}",
        "[[]]",
        ',"id":null',
        '"payload":',
        "/* */",
        " " * 100,
        "\ufeff",
    )
)


def damaged(value: bytes, other: bytes, random: Random) -> bytes:
    """Return a record that is damaged in one way or two. ``other``: a record to put a part of in."""
    for _ in range(random.choice((1, 1, 2))):
        value = random.choice(_WAYS)(value, other, random)
    return value


def _cut(value: bytes, other: bytes, random: Random) -> bytes:
    return value[: random.randrange(len(value) + 1)]


def _lengthened(value: bytes, other: bytes, random: Random) -> bytes:
    return value + random.choice((b"\x00", b" ", b"}", random.randbytes(random.randrange(1, 30)), other))


def _flipped(value: bytes, other: bytes, random: Random) -> bytes:
    found = bytearray(value)
    for _ in range(random.choice((1, 1, 1, 5))):
        if found:
            found[random.randrange(len(found))] ^= 1 << random.randrange(8)
    return bytes(found)


def _replaced(value: bytes, other: bytes, random: Random) -> bytes:
    at, size = random.randrange(len(value) + 1), random.randrange(6)
    return value[:at] + random.choice((b"", random.randbytes(random.randrange(1, 6)))) + value[at + size :]


def _huge(value: bytes, other: bytes, random: Random) -> bytes:
    at, size = random.randrange(len(value) + 1), random.choice((0, 1, 1, 2))
    return value[:at] + random.choice(_WORDS) + value[at + size :]


def _text(value: bytes, other: bytes, random: Random) -> bytes:
    places = [i for i, byte in enumerate(value) if byte in b':,"['] or [0]
    at = random.choice(places) + 1
    return value[:at] + random.choice(_TEXTS) + value[at + random.choice((0, 0, 1, 4)) :]


def _framed(value: bytes, other: bytes, random: Random) -> bytes:
    """Give another id, or other indexes of a message behind it."""
    if random.random() < 0.5:
        return b"\x00" + random.choice((random.randbytes(4), random.randrange(20).to_bytes(4, "big"))) + value[5:]
    indexes = [random.choice((0, 1, 2, 5, -1, 2**31, 2**62, -(2**63))) for _ in range(random.randrange(5))]
    count = random.choice((len(indexes), len(indexes), 2**40, -1))
    return value[:5] + varint(count) + b"".join(map(varint, indexes)) + value[7:]


def _spliced(value: bytes, other: bytes, random: Random) -> bytes:
    at, there = random.randrange(len(value) + 1), random.randrange(len(other) + 1)
    return value[:at] + other[there:]


def _repeated(value: bytes, other: bytes, random: Random) -> bytes:
    at = random.randrange(len(value) + 1)
    return value[:at] + value[at : at + random.randrange(30)] * random.choice((2, 50)) + value[at:]


def _chance(value: bytes, other: bytes, random: Random) -> bytes:
    return value[:5] + random.randbytes(random.randrange(60))


def _retyped(value: bytes, other: bytes, random: Random) -> bytes:
    """Give some value of a JSON text another type; other formats are cut."""
    begin = value.find(b"{")
    try:
        fields = json.loads(value[begin:])
    except (ValueError, RecursionError):
        return _cut(value, other, random)
    for _ in range(random.choice((1, 3))):
        _change(fields, random)
    return value[:begin] + json.dumps(fields).encode()


def _change(node: object, random: Random) -> None:
    while isinstance(node, dict | list) and node:
        key = random.choice(list(node) if isinstance(node, dict) else list(range(len(node))))
        inner = node[key]  # type: ignore[index,call-overload]
        if not isinstance(inner, dict | list) or not inner or random.random() < 0.2:
            others = (None, 0, -1, 2**40, 1.5, 1e300, True, "", "x", "QQ==", [], {}, [[1, 2]], {"type": "int32"}, 2**70)
            node[key] = random.choice(others)  # type: ignore[index,call-overload]
            return
        node = inner


_WAYS: Final[Sequence[Callable[[bytes, bytes, Random], bytes]]] = (
    _cut,
    _lengthened,
    _flipped,
    _flipped,
    _replaced,
    _huge,
    _text,
    _framed,
    _spliced,
    _repeated,
    _chance,
    _retyped,
)
