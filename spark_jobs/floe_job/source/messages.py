"""What a record has besides its value."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_char_p, c_size_t, c_void_p, string_at
from typing import Any, Final, NamedTuple, Self, overload

import numpy as np

from floe_job.source.native import librdkafka
from floe_job.source.native.memory import BlockRefs, Words, columns
from floe_job.source.native.record_frames import Found, find_last
from floe_job.source.values import Values

NO_TIME: Final = -1
"""What Kafka stores as the time of a record that was produced without one (``RecordBatch.NO_TIMESTAMP``)."""

Headers = list[tuple[str, bytes | None]]
LastHeaders = tuple[bytes | None, ...]
"""The value of the last header of each of some names; None where a record has none of that name."""


class HeaderKinds(NamedTuple):
    """Headers of records by some names: those of the i-th record are ``kinds[of[i]]``, None if it has no header at all."""

    kinds: Sequence[LastHeaders | None]
    of: Words

    @classmethod
    def counted(cls, each: Sequence[LastHeaders | None]) -> Self:
        """Return those of each record."""
        known: dict[LastHeaders | None, int] = {}
        of = np.array([known.setdefault(one, len(known)) for one in each], np.int64)
        return cls(list(known), of)

    def each(self) -> list[LastHeaders | None]:
        """Return the headers of each record."""
        return [self.kinds[kind] for kind in self.of.tolist()]


class Message:
    """One record of some."""

    def __init__(self, messages: Messages, index: int) -> None:
        self._one = messages[index : index + 1]

    def key(self) -> bytes | None:
        """Return the key as it is in the log."""
        return self._one.keys()[0]

    def timestamp(self) -> int | None:
        """Return the time in epoch ms; None where the record has none."""
        return self._one.timestamps()[0]

    def headers(self) -> Headers | None:
        """Return the headers in their order; None if they cannot be read, as when a name in them is not UTF-8."""
        return self._one.headers()[0]


class Messages(Sequence[Message]):
    """The records of a batch, or some of them: one by one, or a part of all of them at once, which costs less."""

    def __init__(self, refs: BlockRefs, pointers: Words, read: dict[int, Headers | None] | None = None) -> None:
        """``read``: headers that were read before, by pointer."""
        self._refs = refs
        self._pointers = pointers
        self._read = {} if read is None else read

    def __len__(self) -> int:
        return len(self._pointers)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Messages: ...
    def __getitem__(self, index: Any) -> Message | Messages:
        return self.select(index) if isinstance(index, slice) else Message(self, range(len(self))[index])

    def select(self, indices: Sequence[int] | slice) -> Messages:
        """Return some of them, by index."""
        chosen = indices if isinstance(indices, slice) else list(indices)
        return Messages(self._refs, self._pointers[chosen], self._read)

    def keys(self) -> list[bytes | None]:
        """Return the key of each, as it is in the log."""
        return list(self.key_values())

    def key_values(self) -> Values:
        """Return the keys, which stay where they are."""
        addresses, sizes = columns(self._pointers, "key", "key_len")
        return Values(self._refs, addresses, sizes)

    def timestamps(self) -> list[int | None]:
        """Return the time of each, in epoch ms; None where the record has none."""
        kinds = np.zeros(len(self), np.intc)
        places = range(kinds.ctypes.data, kinds.ctypes.data + kinds.nbytes, kinds.itemsize)
        times: list[int | None] = list(map(librdkafka.message_timestamp, self._pointers.tolist(), places))
        for index in np.flatnonzero(kinds == librdkafka.TIMESTAMP_NOT_AVAILABLE).tolist():
            times[index] = None
        return [None if time == NO_TIME else time for time in times] if NO_TIME in times else times

    def headers(self) -> list[Headers | None]:
        """Return the headers of each in their order; None where they cannot be read."""
        pointers = self._pointers.tolist()
        for pointer in pointers:
            if pointer not in self._read:
                self._read[pointer] = _headers(pointer)
        return [self._read[pointer] for pointer in pointers]

    def have_header(self, name: str) -> list[bool]:
        """Return which of them have a header of a name, null or not; one whose headers cannot be read has none."""
        sizes, begins = columns(self._pointers, "headers_size", "headers", layout=librdkafka.ConsumedMessage)
        last = find_last(begins, sizes, [name.encode()])
        found: list[bool] = last.headers[0].is_there.tolist()
        for row in last.others.tolist():
            found[row] = has_header(_headers(int(self._pointers[row])), name)
        return found

    def last_headers(self, names: Sequence[str]) -> HeaderKinds:
        """Return headers of each record by their names, which costs much less than all."""
        wanted = [name.encode() for name in names]
        sizes, begins = columns(self._pointers, "headers_size", "headers", layout=librdkafka.ConsumedMessage)
        last = find_last(begins, sizes, wanted)
        distinct = [_distinct(self._refs, found) for found in last.headers]
        firsts, of = _groups([last.has_any.astype(np.int64), *(places for _, places in distinct)])
        kinds: list[LastHeaders | None] = [
            tuple(values[places[first]] for values, places in distinct) if last.has_any[first] else None
            for first in firsts.tolist()
        ]
        of[last.others] = np.arange(len(kinds), len(kinds) + len(last.others))
        kinds += [_last_headers(pointer, wanted) for pointer in self._pointers[last.others].tolist()]
        return HeaderKinds(kinds, of)


def _distinct(refs: BlockRefs, found: Found) -> tuple[list[bytes | None], Words]:
    """Return the distinct values of a header, None first, and the place among them of each record's."""
    rows = np.flatnonzero(found.addresses)
    places = np.zeros(len(found.addresses), np.int64)
    if not len(rows):
        return [None], places
    values = Values(refs, found.addresses[rows], found.sizes[rows])
    known: dict[bytes | None, int] = {None: 0}
    first = values[0]
    if values.are_all(first):
        known[first], places[rows] = 1, 1
    else:
        places[rows] = [known.setdefault(value, len(known)) for value in values]
    return list(known), places


def _groups(columns: Sequence[Words]) -> tuple[Words, Words]:
    """Divide records by what is in all columns; returns the first record of each group, and the group of each record."""
    firsts, of = np.zeros(min(1, len(columns[0])), np.int64), np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if (column != column[firsts[of]]).any():
            _, firsts, of = np.unique(of * (int(column.max()) + 1) + column, return_index=True, return_inverse=True)
    return firsts, of


def has_header(headers: Headers | None, name: str) -> bool:
    """Whether there is a header of a name."""
    return headers is not None and any(key == name for key, _ in headers)


def last_of(headers: Headers | None, names: Sequence[str]) -> LastHeaders | None:
    """Return some of a record's headers by their names; None where it has none, or where they cannot be read."""
    if not headers:
        return None
    last = dict(headers)
    return tuple(last.get(name) for name in names)


def _last_headers(pointer: int, names: Sequence[bytes]) -> LastHeaders | None:
    if librdkafka.message_headers(pointer, _found_at):
        return None
    headers, get_last = _found.value, librdkafka.header_get_last
    return tuple(
        [
            None if get_last(headers, name, _value_at, _size_at) or not _value.value else string_at(_value, _size.value)
            for name in names
        ]
    )


def _headers(pointer: int) -> Headers | None:
    error = librdkafka.message_headers(pointer, _found_at)
    if error:
        return [] if error == librdkafka.NO_HEADERS else None
    headers: Headers = []
    while not librdkafka.header_get_all(_found.value, len(headers), _name_at, _value_at, _size_at):
        try:
            name = (_name.value or b"").decode()
        except UnicodeDecodeError:
            return None
        headers.append((name, string_at(_value.value, _size.value) if _value.value else None))
    return headers


def headers_sizes(pointers: Words) -> Words:
    """Return the bytes that the headers of messages take at a record's end."""
    return np.array([_headers_size(pointer) for pointer in pointers.tolist()], np.int64)


def _headers_size(pointer: int) -> int:
    if librdkafka.message_headers(pointer, _found_at):
        return _number_size(0)
    count = size = 0
    while not librdkafka.header_get_all(_found.value, count, _name_at, _value_at, _size_at):
        name = len(_name.value or b"")
        value = _size.value if _value.value else 0
        size += _number_size(name) + name + _number_size(value) + value
        count += 1
    return _number_size(count) + size


def _number_size(number: int) -> int:
    """Return the bytes of a number from 0 on as Kafka's protocol has it, seven bits a byte after doubling."""
    return max(1, -(-(2 * number).bit_length() // 7))


# where librdkafka puts its results; no other thread runs between the call and the read
_found, _name, _value, _size = c_void_p(), c_char_p(), c_void_p(), c_size_t()
_found_at, _name_at, _value_at, _size_at = map(addressof, (_found, _name, _value, _size))
