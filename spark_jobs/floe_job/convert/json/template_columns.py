"""The values that were found by a template, as columns; the result is that of Arrow's parser, or none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.convert.json.fallbacks import NoTemplate
from floe_job.convert.json.framing import Text
from floe_job.convert.json.template import Spans
from floe_job.source.native.memory import Words

_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?$"
"""Of JSON's numbers those that the parser takes: it finds some larger exponents too large."""
_NULL, _TRUE, _FALSE = (pa.scalar(token, pa.large_string()) for token in ("null", "true", "false"))
_POWERS = np.array([10**digits for digits in range(1, 20)], np.uint64)

DIGITS: Final = 8
"""Digits of a small integer: as many characters are read as one number of 64 bits."""

_ZEROS, _BEYOND_NINE, _TOP_BITS = (np.uint64(int(8 * byte, 16)) for byte in ("30", "76", "80"))
_PAIRS: Final = np.uint64(0x000000FF000000FF)
_FIRST, _SECOND = np.uint64(100 + (10**6 << 32)), np.uint64(1 + (10**4 << 32))
_LAST_BYTES: Final = np.array([(1 << 64) - (1 << 8 * (DIGITS - size)) for size in range(DIGITS + 1)], np.uint64)
"""By the number of digits: the bytes of a word that they are."""
_LEAST: Final = np.array([0, 0, *(10**size for size in range(1, DIGITS))], np.uint64)
"""By the number of digits: the least number that has as many."""


def column(kind: pa.DataType, text: Text, begins: Words, ends: Words) -> pa.Array:
    """Return the values of a column of one of TYPES, or of decimals. Raises NoTemplate, ArrowInvalid."""
    tokens = _slices(text, begins, ends)
    if pa.types.is_large_string(kind):
        return tokens
    is_null = pc.equal(tokens, _NULL)
    if is_null.true_count:
        tokens = pc.if_else(is_null, pa.scalar(None, pa.large_string()), tokens)
    if pa.types.is_boolean(kind):
        return _booleans(tokens)
    return _numbers(tokens, kind) if _has_point(kind) else _integers(tokens).cast(kind)


def _has_point(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _slices(text: Text, begins: Words, ends: Words) -> pa.Array:
    """Copy stretches of a text, by way of an array that has what is between them, too."""
    places = np.empty(2 * len(begins), np.int64)
    places[::2], places[1::2] = begins, ends
    if (places[1:] < places[:-1]).any() or (places[-1:] > len(text)).any():  # Arrow would read beyond the text
        raise NoTemplate
    stretches = pa.LargeStringArray.from_buffers(len(places) - 1, pa.py_buffer(places), pa.py_buffer(text))
    return stretches.take(_every_second(len(stretches)))


@lru_cache(maxsize=4)
def _every_second(length: int) -> pa.Array:
    return pa.array(np.arange(0, length, 2))


def _booleans(tokens: pa.Array) -> pa.Array:
    are_true = pc.equal(tokens, _TRUE)
    if pc.all(pc.or_(are_true, pc.equal(tokens, _FALSE))).as_py() is False:
        raise NoTemplate
    return are_true


def _numbers(tokens: pa.Array, kind: pa.DataType) -> pa.Array:
    if pc.all(pc.match_substring_regex(tokens, _NUMBER)).as_py() is False:
        raise NoTemplate
    return tokens.cast(kind)


def _integers(tokens: pa.Array) -> pa.Array:
    """Take digits only, and as many as the number has: none of them a leading zero, and no -0."""
    given = tokens.drop_null()
    nbytes = np.frombuffer(given.buffers()[2] or b"", np.uint8)[: pc.sum(pc.binary_length(given)).as_py()]
    if ((nbytes - ord("0") > 9) & (nbytes != ord("-"))).any():
        raise NoTemplate
    numbers = tokens.cast(pa.int64())
    found = numbers.fill_null(0).to_numpy()
    digits = np.searchsorted(_POWERS, np.abs(found).view(np.uint64), "right") + 1
    if (pc.binary_length(tokens).fill_null(1).to_numpy() != digits + (found < 0)).any():
        raise NoTemplate
    return numbers


def small_integers(text: Text, spans: Spans) -> Sequence[pa.Array | None]:
    """Return the column (int64) of each value of the records; None for one with values that are no such integers."""
    begins, ends = spans
    if not begins.size or len(text) < DIGITS:
        return [None] * len(begins)
    sizes = np.minimum(ends - begins, DIGITS)
    words = np.ndarray((len(text) - DIGITS + 1,), "<u8", text, 0, (1,))
    digits = (words[np.maximum(ends - DIGITS, 0)] ^ _ZEROS) & _LAST_BYTES[sizes]
    are_digits = ((digits + _BEYOND_NINE) | digits) & _TOP_BITS == 0
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    numbers = ((pairs & _PAIRS) * _FIRST + ((pairs >> np.uint64(16)) & _PAIRS) * _SECOND) >> np.uint64(32)
    has_word = (ends >= DIGITS) & (ends - begins <= DIGITS)  # not right at the beginning of the text
    are_good = (are_digits & has_word & (numbers >= _LEAST[sizes])).all(axis=1)
    columns = zip(numbers.view(np.int64), are_good.tolist(), strict=True)
    return [pa.array(column) if is_good else None for column, is_good in columns]
