"""Values into columns that JSON writes as text or as a word: string, boolean, uuid, binary, fixed."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

from floe_job.exceptions import Unconvertible
from floe_job.types.coercion_error import refuse
from floe_job.types.java_text import json_text, number_text

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
