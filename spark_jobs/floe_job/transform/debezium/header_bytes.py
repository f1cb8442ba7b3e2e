"""Values as the bytes of headers."""

from __future__ import annotations

from typing import Any

from floe_job.connect.schema import ConnectSchema
from floe_job.exceptions import TransformRefused
from floe_job.types.header_texts.header_text import header_text


def header_bytes(schema: ConnectSchema | None, value: Any) -> bytes | None:
    """Return what a header holds of a value; None for null. Raises TransformRefused for what no header can hold."""
    try:
        return header_text(schema, value)
    except ValueError as error:
        problem = f"{error}"
        raise TransformRefused(problem) from error
