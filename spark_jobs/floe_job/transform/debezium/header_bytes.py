"""Values as the bytes of headers, as Connect's ``SimpleHeaderConverter`` writes them."""

from __future__ import annotations

import math
from typing import Any

from floe_job.types.java_text import json_text, number_text
from floe_job.types.typed_values import Meant, json_form


def header_bytes(value: Any) -> bytes | None:
    """Return a value as text: a string as it is, else as JSON. None for null."""
    if value is None:
        return None
    if isinstance(value, Meant):
        return header_bytes(value.raw)
    form = value if isinstance(value, str) else json_form(value)
    if isinstance(form, str):
        text = form
    elif isinstance(form, bool | dict | list):
        text = json_text(form)
    else:
        text = number_text(form) if not isinstance(form, float) or math.isfinite(form) else str(form)
    return text.encode("utf-8", "replace")
