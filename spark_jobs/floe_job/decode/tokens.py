"""Columns from where their values stand in a text, with what Arrow's parser would make of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.decode.framing import Text
from floe_job.decode.obstacles import Unlike
from floe_job.decode.skeleton import Kind, Span

TYPES = {pa.large_string(): Kind.TEXT} | dict.fromkeys((pa.int32(), pa.int64(), pa.float64(), pa.bool_()), Kind.BARE)
"""The types of such columns, and what their fields hold."""

_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?$"
"""Of JSON's numbers those that the parser takes: it finds some larger exponents too large."""
_NULL, _TRUE, _FALSE = (pa.scalar(token, pa.large_string()) for token in ("null", "true", "false"))
_POWERS = np.array([10**digits for digits in range(1, 20)], np.uint64)


def column(kind: pa.DataType, text: Text, span: Span) -> pa.Array:
    """Return the values of a column of one of TYPES. Raises Unlike, ArrowInvalid."""
    tokens = _slices(text, span)
    if pa.types.is_large_string(kind):
        return tokens
    is_null = pc.equal(tokens, _NULL)
    if is_null.true_count:
        tokens = pc.if_else(is_null, pa.scalar(None, pa.large_string()), tokens)
    if pa.types.is_boolean(kind):
        return _booleans(tokens)
    return _floats(tokens) if pa.types.is_floating(kind) else _integers(tokens).cast(kind)


def _slices(text: Text, span: Span) -> pa.Array:
    """Copy stretches of a text, by way of an array that has what is between them, too."""
    places = np.empty(2 * len(span.begins), np.int64)
    places[::2], places[1::2] = span
    if (places[1:] < places[:-1]).any() or (places[-1:] > len(text)).any():  # Arrow would read what is not ours
        raise Unlike
    stretches = pa.LargeStringArray.from_buffers(len(places) - 1, pa.py_buffer(places), pa.py_buffer(text))
    return stretches.take(_every_second(len(stretches)))


@lru_cache(maxsize=4)
def _every_second(length: int) -> pa.Array:
    return pa.array(np.arange(0, length, 2))


def _booleans(tokens: pa.Array) -> pa.Array:
    are_true = pc.equal(tokens, _TRUE)
    if pc.all(pc.or_(are_true, pc.equal(tokens, _FALSE))).as_py() is False:
        raise Unlike
    return are_true


def _floats(tokens: pa.Array) -> pa.Array:
    if pc.all(pc.match_substring_regex(tokens, _NUMBER)).as_py() is False:
        raise Unlike
    return tokens.cast(pa.float64())


def _integers(tokens: pa.Array) -> pa.Array:
    """Take digits only, and as many as the number has: none of them a leading zero, and no -0."""
    given = tokens.drop_null()
    octets = np.frombuffer(given.buffers()[2] or b"", np.uint8)[: pc.sum(pc.binary_length(given)).as_py()]
    if ((octets - ord("0") > 9) & (octets != ord("-"))).any():
        raise Unlike
    numbers = tokens.cast(pa.int64())
    found = numbers.fill_null(0).to_numpy()
    digits = np.searchsorted(_POWERS, np.abs(found).view(np.uint64), "right") + 1
    if (pc.binary_length(tokens).fill_null(1).to_numpy() != digits + (found < 0)).any():
        raise Unlike
    return numbers
