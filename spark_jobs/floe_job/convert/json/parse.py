"""One record value as JSON: strict where Python is lenient, bounded where it is not."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from floe_job.exceptions import Malformed
from floe_job.types.numbers import HugeInteger, Literal, Single
from floe_job.types.typed_values import MADE

MAX_DEPTH = 64

BLANKS = b" \t\n\r"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_TOO_MANY_OPEN = b"[" * (MAX_DEPTH + 1)


def _reject_constant(token: str) -> NoReturn:
    problem = f"not JSON: {token} is not a number"
    raise Malformed(problem)


def _huge(token: str) -> Any:
    return int(token) if len(token) < 1000 else HugeInteger(token)


_PLAIN = json.JSONDecoder(parse_constant=_reject_constant)
_LITERAL = json.JSONDecoder(parse_constant=_reject_constant, parse_float=Literal)
ANY_NUMBER = json.JSONDecoder(parse_constant=_reject_constant, parse_float=Literal, parse_int=_huge)
"""Keeps the digits of floats, and takes integers of any number of digits."""


def bare(value: bytes) -> bytes:
    """Strip what may surround a JSON text: a byte order mark, blanks."""
    return value.removeprefix(_BYTE_ORDER_MARK).strip(BLANKS)


def too_deep(value: bytes) -> bool:
    """Return whether objects and arrays are nested beyond MAX_DEPTH, without parsing."""
    if value.count(b"[") + value.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", value).translate(_AS_SQUARE, _NOT_BRACKETS)
    if _TOO_MANY_OPEN in brackets:
        return True
    # Each round removes the innermost pairs, which is one level everywhere.
    for depth in range(MAX_DEPTH):
        rest = brackets.replace(b"[]", b"")
        if len(rest) == len(brackets):
            # Nothing, or what has no partner: not JSON, and at most this deep.
            return depth + rest.count(b"[") > MAX_DEPTH
        brackets = rest
    return bool(brackets)


def fields_of(value: bytes) -> int:
    """Count the fields of a record, nested ones included, without parsing."""
    return _STRING.sub(b"", value).count(b":")


def parse(value: bytes, *, literals: bool) -> dict[str, Any]:
    """Parse one record value. ``literals`` keeps the digits of floats (``Literal``), for decimal columns.

    Of a key given twice the last one counts, as in Jackson. Raises Malformed.
    """
    return _object(_parsed(value, literals=literals))


def parse_any(value: bytes) -> Any:
    """Parse one record value of any type but null, with the digits of its floats. Raises Malformed."""
    parsed = _parsed(value, literals=True)
    return parsed if parsed is not None else _object(parsed)


def parse_value(value: bytes) -> Any:
    """Parse any JSON, null included, with the digits of its floats. Raises Malformed."""
    return _parsed(value, literals=True)


def plain_object(value: Any) -> dict[str, Any]:
    """Check that what transforms left is an object as JSON has it, or may be parsed from it. Raises Malformed.

    Besides there may be moments, bytes and decimals that transforms made, and doubles that are no numbers.
    """
    record = _object(value)
    _check(record, MAX_DEPTH)
    return record


def _check(value: Any, levels: int) -> None:
    kind = type(value)
    if kind in _SCALARS:
        return
    if not levels:
        problem = f"nested deeper than {MAX_DEPTH}"
        raise Malformed(problem)
    if kind is dict:
        if set(map(type, value)) - {str}:
            problem = "not JSON: a transform left an object with a key that is no text"
            raise Malformed(problem)
        entries = value.values()
    elif kind is list:
        entries = value
    else:
        problem = f"not JSON: a transform left a value of Python's type {kind.__name__}"
        raise Malformed(problem)
    for entry in entries:
        _check(entry, levels - 1)


def _parsed(value: bytes, *, literals: bool) -> Any:
    value = bare(value)
    if too_deep(value):
        problem = f"nested deeper than {MAX_DEPTH}"
        raise Malformed(problem)
    try:
        return _parse(value.decode(), _LITERAL if literals else _PLAIN)
    except UnicodeDecodeError as error:
        problem = f"not UTF-8: byte 0x{value[error.start]:02x} at {error.start}"
        raise Malformed(problem) from None
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} at character {error.pos}" if value else "not JSON: empty"
        raise Malformed(problem) from None


def _object(parsed: Any) -> dict[str, Any]:
    if not isinstance(parsed, dict):
        problem = f"cannot convert type: {_KINDS.get(type(parsed), 'number')} at the top, an object is needed"
        raise Malformed(problem)
    return parsed


_SCALARS = frozenset({str, int, float, bool, type(None), Literal, Single, HugeInteger, *MADE})
_KINDS: dict[type, str] = {str: "string", bool: "boolean", list: "array", type(None): "null"}


def _parse(text: str, decoder: json.JSONDecoder) -> Any:
    try:
        parsed, end = decoder.raw_decode(text)
        return parsed if end == len(text) else decoder.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # More digits than Python turns into an integer.
        return ANY_NUMBER.decode(text)
    except RecursionError:
        problem = "nested too deep"
        raise Malformed(problem) from None
