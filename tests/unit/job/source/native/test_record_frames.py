"""Records of one batch are recognised by what is between them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from floe_job.source.native.record_frames import NULL, RecordShape, is_continued

Headers = list[tuple[bytes, bytes | None]]


def number(value: int) -> bytes:
    """Return a zigzag varint."""
    rest, nbytes = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        nbytes.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*nbytes, rest])


def sized(data: bytes | None) -> bytes:
    return number(NULL) if data is None else number(len(data)) + data


def head(delta: int, key: bytes | None, time: int) -> bytes:
    """Return a record up to its key's length; the length at its start is not looked at."""
    return number(100) + b"\x00" + number(time) + number(delta) + number(NULL if key is None else len(key))


def tail(headers: Headers) -> bytes:
    return number(len(headers)) + b"".join(number(len(name)) + name + sized(value) for name, value in headers)


def shape(offset: int, key: bytes | None, value: bytes | None) -> RecordShape:
    return RecordShape(offset, NULL if key is None else len(key), NULL if value is None else len(value))


def between(
    first: bytes | None, headers: Headers, delta: int, key: bytes | None, value: bytes | None, time: int
) -> bytes:
    """Return what is behind a record with a value, or a key alone, and before the next."""
    nbytes = (number(NULL) if first is None else b"") + tail(headers) + head(delta, key, time)
    return nbytes + (number(len(value or b"")) if key is None else b"")


HEADERS = st.lists(st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=300)), max_size=80)
MAYBE = st.none() | st.binary(max_size=300)


@given(MAYBE, HEADERS, st.integers(1, 2**31 - 1), MAYBE, st.binary(max_size=300), st.integers(-(2**40), 2**40))
def test_what_stands_between_records_is_recognised(
    first: bytes | None, headers: Headers, delta: int, key: bytes | None, value: bytes, time: int
) -> None:
    nbytes = between(first, headers, delta, key, value, time)
    records = [shape(5, b"k", first), shape(5 + delta, key, value)]
    assert is_continued(nbytes, records)
    assert not is_continued(nbytes + b"\x00", records)
    assert not is_continued(nbytes[:-1], records)
    assert not is_continued(b"\x00" * 16 + nbytes, records)
    assert not is_continued(nbytes, [records[0], shape(5 + delta, (key or b"") + b"x", value)])


def test_records_without_key_and_value_may_stand_between() -> None:
    bare = head(1, None, 3) + number(NULL) + tail([(b"a", None)])
    nbytes = tail([]) + bare + head(2, b"key", 4)
    records = [shape(7, None, b"v"), shape(8, None, None), shape(9, b"key", None)]
    assert is_continued(nbytes, records)
    assert not is_continued(nbytes, [records[0], records[2]])
    assert not is_continued(nbytes, [records[0], shape(8, None, None), shape(10, b"key", None)])


def test_first_record_of_another_batch_is_none_of_this() -> None:
    nbytes = tail([]) + head(0, b"key", 4)
    assert not is_continued(nbytes, [shape(7, None, b"v"), shape(8, b"key", None)])
    assert not is_continued(b"", [shape(7, None, b"v"), shape(8, b"key", None)])


@given(st.binary(max_size=60))
def test_any_bytes_are_judged_without_an_error(nbytes: bytes) -> None:
    assert isinstance(is_continued(nbytes, [shape(0, None, b"v"), shape(1, None, b"v")]), bool)
