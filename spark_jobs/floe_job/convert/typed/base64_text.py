"""Base64 in JSON texts, as Jackson reads it: with padding, and with blanks around each four characters."""

from __future__ import annotations

import binascii
import re
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe_job.convert.typed.base import Places
from floe_job.source.values import PADDING

_BLANKS: Final = "".join(map(chr, range(33)))
_FOUR: Final = r"(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)"
_TEXT: Final = re.compile(rf"(?:[\x00-\x20]*{_FOUR})*", re.ASCII)
_PLAIN: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)
_FOURS: Final = re.compile(_FOUR)

_PAD, _INVALID = 254, 255
_SIXES: Final = np.full(256, _INVALID, np.uint8)
_SIXES[np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)] = np.arange(64)
_SIXES[ord("=")] = _PAD


def decode_text(text: str) -> bytes | None:
    """Return the bytes of a text; None if it is not base64."""
    text = text.strip(_BLANKS)
    if len(text) % 4 == 0 and _PLAIN.fullmatch(text):
        return binascii.a2b_base64(text)
    if not _TEXT.fullmatch(text):
        return None
    return b"".join(binascii.a2b_base64(four) for four in _FOURS.findall(text))


class DecodedTexts(NamedTuple):
    """The bytes of texts in one buffer, PADDING before and behind; where each is. ``bad``: rows that are not plain base64."""

    data: np.ndarray[Any, np.dtype[np.uint8]]
    starts: Places
    ends: Places
    bad: np.ndarray[Any, np.dtype[np.bool_]]


def decode_column(column: pa.Array) -> DecodedTexts:
    """Decode a column of large_string, whose nulls are empty texts. What is written with blanks is not plain."""
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    nbytes = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    begins, stops = offsets[:-1] - offsets[0], offsets[1:] - offsets[0]
    bad = (stops - begins) % 4 != 0
    if bad.any():  # left out, so that all others begin at a multiple of 4
        nbytes = nbytes[np.repeat(~bad, stops - begins)]
        stops = np.cumsum(np.where(bad, 0, stops - begins))
        begins = np.append(0, stops[:-1])
    sixes = _SIXES[nbytes]
    pads = _padding(sixes, begins, stops)
    wrong = np.flatnonzero(sixes > 63)
    if len(wrong):
        bad[np.searchsorted(stops, wrong, "right")] = True
        sixes[wrong] = 0
    fours = sixes.reshape(-1, 4)
    data = np.zeros(2 * PADDING + 3 * len(fours), np.uint8)
    threes = data[PADDING : len(data) - PADDING].reshape(-1, 3)
    threes[:, 0] = fours[:, 0] << 2 | fours[:, 1] >> 4
    threes[:, 1] = fours[:, 1] << 4 | fours[:, 2] >> 2
    threes[:, 2] = fours[:, 2] << 6 | fours[:, 3]
    starts, ends = begins // 4 * 3 + PADDING, stops // 4 * 3 - pads + PADDING
    return DecodedTexts(data, starts, ends, bad)


def _padding(sixes: np.ndarray[Any, Any], begins: Places, stops: Places) -> Places:
    """Return how many characters of each text pad it, and take them for zeros."""
    pads = np.zeros(len(begins), np.int64)
    given = np.flatnonzero(stops > begins)
    if not len(given):
        return pads
    last = stops[given] - 1
    one = sixes[last] == _PAD
    two = one & (sixes[last - 1] == _PAD)
    pads[given] = one.astype(np.int64) + two
    sixes[last[one]] = 0
    sixes[last[two] - 1] = 0
    return pads


def bytes_column(decoded: DecodedTexts, nulls: pa.Array | None) -> pa.Array:
    """Return the bytes of all texts as a column; ``nulls``: the rows without a text."""
    count = len(decoded.starts)
    offsets = np.zeros(2 * count + 1, np.int64)
    offsets[:-1:2], offsets[1::2] = decoded.starts, decoded.ends
    offsets[-1] = offsets[-2] if count else 0
    spans = pa.Array.from_buffers(
        pa.large_binary(), 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(decoded.data)], 0
    )
    places = np.arange(0, 2 * count, 2)
    mask = None if nulls is None else nulls.to_numpy(zero_copy_only=False)
    return spans.take(pa.array(places, mask=mask))


def bytes_of(texts: pa.Array) -> tuple[pa.Array, Places | None]:
    """Return the bytes of texts (large_string without nulls), and the rows that are no base64; None if all are.

    Those rows have no bytes.
    """
    decoded = decode_column(texts)
    column, odd = bytes_column(decoded, None), np.flatnonzero(decoded.bad)
    if not len(odd):
        return column, None
    found = [decode_text(text) for text in texts.take(pa.array(odd)).to_pylist()]
    order = np.arange(len(texts))
    order[odd] = len(texts) + np.arange(len(odd))
    joined = pa.concat_arrays([column, pa.array([one or b"" for one in found], pa.large_binary())])
    bad = odd[[one is None for one in found]]
    return joined.take(pa.array(order)), bad if len(bad) else None
