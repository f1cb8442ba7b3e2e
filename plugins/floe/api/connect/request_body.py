"""Bodies of calls: JSON of a bounded size, read as a Connect worker reads it."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request

from floe.api.connect.answers import ConnectError, titled

MAX_BYTES = 1 << 20

MAX_CHECKED_BYTES = 1 << 18
"""Bytes of a configuration that is sent only to be checked: what is answered about it is ten times as long."""


async def json_body(request: Request) -> Any:
    """Return the JSON of a call's body; None where there is none. Numbers with a point or an exponent are left as texts.

    :raises ConnectError: another media type, too large, or no valid JSON.
    """
    return await _json(request, MAX_BYTES)


async def checked_body(request: Request) -> Any:
    """Return the JSON of a configuration that is sent only to be checked, as :func:`json_body` does."""
    return await _json(request, MAX_CHECKED_BYTES)


async def _json(request: Request, max_bytes: int) -> Any:
    content = await _content(request, max_bytes)
    if not content.strip():
        return None
    if _media_type(request) != "application/json":
        raise titled(415)
    try:
        return json.loads(content.decode("utf-8-sig"), parse_float=str, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        msg = f"The body is no valid JSON: {str(error)[:200]}"
        raise ConnectError(400, msg) from None


async def _content(request: Request, max_bytes: int) -> bytes:
    """Read the body, and no further than it may be long, whatever its header says."""
    parts, length = [], 0
    async for part in request.stream():
        length += len(part)
        if length > max_bytes:
            msg = f"The body has more than {max_bytes} bytes. Nothing was changed."
            raise ConnectError(413, msg)
        parts.append(part)
    return b"".join(parts)


def _media_type(request: Request) -> str:
    return request.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _refuse(constant: str) -> None:
    msg = f"{constant} is no JSON"
    raise ValueError(msg)


def text_map(value: object, what: str) -> dict[str, str | None]:
    """Return an object of texts, numbers, booleans and nulls as Connect reads it: all as text.

    :raises ConnectError: anything else.
    """
    if not isinstance(value, dict):
        msg = f"{what} must be a JSON object of keys and values"
        raise ConnectError(400, msg)
    found: dict[str, str | None] = {}
    for key, one in value.items():
        if isinstance(one, dict | list):
            msg = f"{what}: the value of {key[:200]!r} must be a text, a number or a boolean"
            raise ConnectError(400, msg)
        found[key] = scalar_text(one)
    return found


def scalar_text(value: object) -> str | None:
    """Return a text, a number or a boolean as Connect reads it where it expects a text; None for null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
