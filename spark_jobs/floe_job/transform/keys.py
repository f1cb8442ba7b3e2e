"""Keys that transforms changed, as bytes."""

from __future__ import annotations

import json
from typing import Any

from floe_job.types.typed_values import json_form


def key_bytes(key: Any) -> bytes | None:
    """Write a key that a transform changed as a converter of JSON would: text as it is, all else as compact JSON."""
    if key is None or isinstance(key, bytes):
        return key
    text = key if isinstance(key, str) else json.dumps(json_form(key), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
