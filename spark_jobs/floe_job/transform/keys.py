"""Keys that transforms changed, as bytes."""

from __future__ import annotations

import json
from typing import Any, Final

from floe_job.types.typed_values import json_form


def key_bytes(key: Any) -> bytes | None:
    """Write a key that a transform changed as a converter of JSON would: text as it is, all else as compact JSON.

    Decimals are texts, with all their digits.
    """
    if key is None or isinstance(key, bytes):
        return key
    return (key if isinstance(key, str) else _WRITER.encode(json_form(key))).encode("utf-8", "replace")


_WRITER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
"""What JSON has no type for are decimals, and integers of more digits than Python parses."""
