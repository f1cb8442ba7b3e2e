"""Numbers and trees as text, as Java writes them: what the sink puts in a string column."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from floe_job.exceptions import Unconvertible
from floe_job.types.numbers import HugeInteger, Single, refuse

_plain_quote = json.JSONEncoder(ensure_ascii=False).encode
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0e-\x1f]")
_ESCAPES = {code: f"\\u{code:04X}" for code in range(32)} | {
    ord(character): escape
    for character, escape in zip('\b\t\n\f\r"\\', ("\\b", "\\t", "\\n", "\\f", "\\r", '\\"', "\\\\"), strict=True)
}


def _quote(text: str) -> str:
    """Write a JSON string as Jackson does, which differs from Python in the case of ``\\u001F``."""
    return f'"{text.translate(_ESCAPES)}"' if _CONTROL.search(text) else _plain_quote(text)


_LEAST_OF_32_BITS: Final = 1.2e-38
"""Numbers below have fewer bits, if they have 32."""


def number_text(value: Any) -> str:
    """Write a number as Java's ``toString``: ``12``, ``1.0``, ``1.0E10``, ``1.0E-5``. Raises OverflowError."""
    if isinstance(value, HugeInteger) or (isinstance(value, float) and math.isinf(value)):
        problem = "too large"
        raise OverflowError(problem)
    if not isinstance(value, float):
        return str(value)
    sign, digits, exponent = _shortest(value)
    if not digits:
        return f"{sign}0.0"
    if -3 <= exponent < 7:
        return sign + _positional(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _shortest(value: float) -> tuple[str, str, int]:
    """Split the shortest exact text of a finite number into sign, digits and the exponent of its first digit."""
    text = value.token if isinstance(value, Single) else float.__repr__(value)
    if abs(value) < _LEAST_OF_32_BITS:
        # where one digit is enough, Java writes the two that are nearest: of the least numbers these are others
        two = format(value, ".1e")
        text = two if len(_split(text)[1]) == 1 else text
    return _split(text)


def _split(text: str) -> tuple[str, str, int]:
    mantissa, _, power = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits))
    return sign, digits.rstrip("0"), exponent


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :] or '0'}"


def json_text(value: Any) -> str:
    """Write a JSON tree compactly, as Jackson does: no blanks, characters beyond ASCII as they are."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quote(name)}:{json_text(entry)}" for name, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else number_text(value)


# Values into columns that JSON writes as text or as a word: string, boolean, uuid, binary, fixed.


_UUID_TEXT = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def boolean_column(value: Any) -> bool:
    """Take booleans and their names in any case; "yes" is none."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise refuse(value, "boolean")


def string_column(value: Any) -> str:
    """Take everything: numbers as Java writes them, objects and arrays as compact JSON."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, bool):
        text = "true" if value else "false"
    else:
        try:
            text = json_text(value) if isinstance(value, dict | list) else number_text(value)
        except OverflowError:
            raise refuse(value, "string", "too large") from None
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            problem = "cannot convert string, half of a surrogate pair in it"
            raise Unconvertible(problem) from None
    return text


def uuid_column(value: Any) -> bytes:
    """Take the canonical form, with its dashes."""
    if isinstance(value, str) and _UUID_TEXT.fullmatch(value):
        return UUID(value).bytes
    raise refuse(value, "uuid")


def binary_column(value: Any) -> bytes:
    """Take standard base64."""
    if isinstance(value, str) and _BASE64_TEXT.fullmatch(value):
        # Java's decoder accepts base64 without padding, Python's does not.
        padded = value if value.endswith("=") else value + "=" * (-len(value) % 4)
        try:
            return base64.b64decode(padded, validate=True)
        except binascii.Error:
            pass
    raise refuse(value, "binary", "it is not standard base64" if isinstance(value, str) else "")


def fixed_column(length: int) -> Callable[[Any], bytes]:
    """Take base64 of exactly ``length`` bytes."""

    def convert(value: Any) -> bytes:
        data = binary_column(value)
        if len(data) != length:
            raise refuse(value, f"fixed[{length}]", f"it has {len(data)} bytes")
        return data

    return convert
