"""Text and bytes: the whole value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from floe.config.converters.charsets import codec_of
from floe_job.convert.typed.base import Places
from floe_job.source.values import packed

UTF_8: Final = "utf-8"

_BYTE_ORDERS: Final = {
    "utf-16": ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"", "utf-16-be")),
    "utf-32": ((b"\xff\xfe\x00\x00", "utf-32-le"), (b"\x00\x00\xfe\xff", "utf-32-be"), (b"", "utf-32-be")),
}
"""How text begins whose byte order is in it; Java takes what has no mark for big-endian."""


_EBCDIC: Final = frozenset({"cp037", "cp500", "cp1026", "cp1140"})
"""Sets whose sign for a next line (U+0085) is Java's line feed."""


def read_bytes(values: Sequence[bytes]) -> PlainColumn:
    """Return values, none of them None, as they are."""
    return PlainColumn(_column(values, pa.large_binary()), np.arange(len(values)), [])


def text_reader(charset: str) -> PlainReader:
    """Return the reader of text in a character set, by Java's name. Raises ValueError for one that Python does not have.

    What is not text in this set is rejected; Java reads it with replacement characters.
    """
    codec = codec_of(charset)
    if codec is None:
        problem = f"no character set {charset!r} is known: set converter.encoding to another"
        raise ValueError(problem)
    return _read_utf8 if codec == UTF_8 else _TextReader(codec, charset)


def _read_utf8(values: Sequence[bytes]) -> PlainColumn:
    column = _column(values, pa.large_string())
    places = np.arange(len(column))
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        found = column.view(pa.large_binary()).to_pylist()
        bad = [place for place, text in enumerate(found) if _decoded(text, bytes.decode) is None]
        places = np.delete(places, bad)
        return PlainColumn(column.take(pa.array(places)), places, [(place, "it is not UTF-8") for place in bad])
    return PlainColumn(column, places, [])


class _TextReader:
    """Reads text in another character set, one by one."""

    def __init__(self, codec: str, charset: str) -> None:
        self._decode = _decoder_of(codec)
        self._why = f"it is not {charset}"

    def __call__(self, values: Sequence[bytes]) -> PlainColumn:
        """Read values, none of them None."""
        texts = [_decoded(value, self._decode) for value in values]
        places = np.array([place for place, text in enumerate(texts) if text is not None], np.int64)
        bad = [(place, self._why) for place, text in enumerate(texts) if text is None]
        return PlainColumn(pa.array([text for text in texts if text is not None], pa.large_string()), places, bad)


def _decoder_of(codec: str) -> Callable[[bytes], str]:
    if codec in _EBCDIC:
        return lambda value: str(value, codec).replace("\x85", "\n")
    orders = _BYTE_ORDERS.get(codec)
    if orders is None:
        return lambda value: str(value, codec)

    def decode(value: bytes) -> str:
        mark, ordered = next(one for one in orders if value.startswith(one[0]))
        return str(value[len(mark) :], ordered)

    return decode


def _decoded(value: bytes, decode: Callable[[bytes], str]) -> str | None:
    try:
        text = decode(value)
        text.encode()  # some sets of Python's have halves of surrogate pairs
    except UnicodeError:
        return None
    return text


def _column(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Return values as a column: the buffer that they are in, with what is between them as values too, is one already."""
    buffer = packed(values)
    sizes = buffer.ends - buffer.starts
    ends = np.maximum.accumulate(np.where(sizes, buffer.ends, 0))  # an empty value may be anywhere
    if not len(sizes):
        return pa.array([], kind)
    offsets = np.empty(2 * len(sizes) + 1, np.int64)
    offsets[:-1:2] = ends - sizes
    offsets[1::2] = ends
    offsets[-1] = ends[-1]
    whole = pa.Array.from_buffers(kind, 2 * len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(buffer.data)], 0)
    return whole.take(pa.array(np.arange(0, 2 * len(sizes), 2)))


# The interface of readers of plain values.


class PlainColumn(NamedTuple):
    """Values of a batch: ``values[i]`` is of the record at ``places[i]``. ``bad``: the others, each with the reason."""

    values: pa.Array
    places: Places
    bad: list[tuple[int, str]]


class PlainReader(Protocol):
    """Reads values of one type."""

    def __call__(self, values: Sequence[bytes]) -> PlainColumn:
        """Read values, none of them None."""
