"""Numbers and trees as text, as Java writes them: what the sink puts in a string column."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from floe_job.types.number_tokens import HugeInteger, Single

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
