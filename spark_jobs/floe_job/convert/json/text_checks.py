"""What Arrow's JSON parser takes and the exact path does not, looked for in the text of a chunk of records.

* It sees objects, not records: framing is checked on the bytes (``framing``), so that one record is one object.
* It takes ``NaN`` and ``Infinity``: they are looked for where fields are dropped unseen.
* It takes invalid UTF-8 in fields that are dropped: the whole text is validated.
* It crashes on bombs of brackets: depth is checked on the bytes.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from floe_job.convert.json.framing import NotExact, Text, UnexpectedField, occurrences
from floe_job.convert.json.parse import MAX_DEPTH, too_deep
from floe_job.convert.json.template import Mask
from floe_job.source.values import Lines

_ROW = re.compile(r" in row (\d+)$")
_TOKEN = re.compile(r"couldn't parse:(\S+)$")

_BRACE_OR_BRACKET = ord("{") - ord("[")
"""The one bit in which the two differ, opening or closing."""

_WORD = 64

_NOT_A_NUMBER = re.compile(rb"[:\[,][ \t\r\n]*-?(?:NaN|Inf(?:inity)?)[ \t\r\n]*[,\]}]")


_UNEXPECTED = "unexpected field"


def parsed_by_arrow(text: Text, columns: pa.Schema, unexpected: str, *, pretty: bool = False) -> pa.Table:
    """Parse the text of a chunk. ``unexpected``: what to do with fields that are no columns: error, ignore or infer.

    Raises UnexpectedField for such a field, if so wanted, and NotExact.
    """
    try:
        return read_by_arrow(text, columns, unexpected, pretty=pretty)
    except pa.ArrowInvalid as error:
        problem = str(error)
    except (pa.ArrowException, UnicodeDecodeError):
        raise NotExact from None
    if problem.endswith(_UNEXPECTED):
        raise UnexpectedField
    raise NotExact(obstacle(problem, text))


def read_by_arrow(text: Text, columns: pa.Schema, unexpected: str, *, pretty: bool = False) -> pa.Table:
    """Parse the text of a chunk. Raises what Arrow raises."""
    return pj.read_json(
        pa.BufferReader(text),
        read_options=pj.ReadOptions(use_threads=False, block_size=max(len(text), 64)),
        parse_options=pj.ParseOptions(
            explicit_schema=columns, newlines_in_values=pretty, unexpected_field_behavior=unexpected
        ),
    )


def is_pretty(text: Text, records: int) -> bool:
    """Return whether some record is more than a line."""
    return occurrences(b"\n", text) > records


def check_depth(lines: Lines) -> None:
    """Raise NotExact if a record is nested beyond MAX_DEPTH."""
    if occurrences(b"{", lines.text, _BRACE_OR_BRACKET) - len(lines.starts) < MAX_DEPTH:
        return
    opening = (np.frombuffer(lines.text, np.uint8) | _BRACE_OR_BRACKET) == ord("{")
    if _at_most(opening, lines) <= MAX_DEPTH:
        return
    places = np.flatnonzero(opening)
    counts = np.searchsorted(places, lines.ends) - np.searchsorted(places, lines.starts)
    for row in np.flatnonzero(counts > MAX_DEPTH).tolist():
        if too_deep(lines.record(row)):
            raise NotExact(row)


def _at_most(found: Mask, lines: Lines) -> int:
    """Return the most that a record may have of what was found, counted in whole words of 64 bytes: that is soon done."""
    bits = np.zeros(-(-len(found) // _WORD) * _WORD // 8, np.uint8)
    bits[: -(-len(found) // 8)] = np.packbits(found)
    counted = np.zeros(len(bits) * 8 // _WORD + 1, np.int64)
    np.cumsum(np.bitwise_count(bits.view(np.uint64)), out=counted[1:])
    return int((counted[-(-lines.ends // _WORD)] - counted[lines.starts // _WORD]).max(initial=0))


def check_encoding(text: Text) -> None:
    """Raise NotExact if a text is not UTF-8."""
    if text.isascii():
        return
    offsets = pa.array([0, len(text)], pa.int64()).buffers()[1]
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(text)]).cast(pa.large_string())
    except pa.ArrowInvalid:
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise NotExact(text.count(b"\n", 0, error.start)) from None
        raise NotExact from None


def check_constants(text: Text) -> None:
    """Raise NotExact if a text has a bare word for what is not a number."""
    if b"NaN" in text or b"Inf" in text:
        constant = _NOT_A_NUMBER.search(text)
        if constant:
            raise NotExact(text.count(b"\n", 0, constant.start()))


def obstacle(problem: str, text: Text) -> int | None:
    """Infer from the message which record Arrow's parser could not read."""
    row = _ROW.search(problem)
    if row:
        return int(row[1])
    token = _TOKEN.search(problem)
    found = text.find(b":" + token[1].encode()) if token else -1
    return text.count(b"\n", 0, found) if found >= 0 else None
