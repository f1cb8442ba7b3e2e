"""HTTP as a Connect worker speaks it: bodies, parameters, paths and methods that it takes, and its answers and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from floe.api.lazy_app import Asgi, Receive, Scope, Send
from floe.config.secrets.mask import hide

# Answers as a Connect worker gives them: JSON, and errors as an object with code and message.


_TITLES = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    415: "Unsupported Media Type",
}


class ConnectError(Exception):
    """An answer that is an error: the status, the message for people, and headers beside it."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


class AsciiJson(JSONResponse):
    """JSON in ASCII: a text that is half of a character, which callers may send, cannot be encoded otherwise."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def titled(status: int) -> ConnectError:
    """Return the answer of the HTTP layer, which has only the name of the status."""
    return ConnectError(status, f"HTTP {status} {_TITLES[status]}")


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return a body as JSON."""
    return AsciiJson(body, status, headers)


def add_error_answers(app: FastAPI) -> None:
    """Answer every error in Connect's form."""

    async def connect_error(_: Request, error: ConnectError) -> JSONResponse:
        return error_answer(error.status, error.message, error.headers)

    async def http_error(request: Request, error: HTTPException) -> Response:
        status = error.status_code
        headers = dict(error.headers or {})
        if status == 405:
            headers = {"Allow": allowed_methods(request)}
            if request.method == "OPTIONS":
                return Response(media_type="application/json", headers=headers)
        is_bare = status in (404, 405) or not isinstance(error.detail, str)
        message = f"HTTP {status} {_TITLES.get(status, 'Error')}" if is_bare else error.detail
        return error_answer(status, message, headers)

    async def invalid(_: Request, __: Exception) -> JSONResponse:
        return error_answer(404, "HTTP 404 Not Found")  # only paths and queries are validated, as in Connect

    app.add_exception_handler(ConnectError, connect_error)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, http_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, invalid)


def error_answer(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an error in Connect's form; secrets in its message are hidden."""
    return AsciiJson({"error_code": status, "message": hide(message)}, status, headers)


# Bodies of calls: JSON of a bounded size, read as a Connect worker reads it.


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


# HEAD and OPTIONS, as a Connect worker answers them: what has GET has HEAD, and all paths have OPTIONS.


class HeadCalls:
    """An ASGI app around another that answers HEAD as it answers GET, without the body."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Scope) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, send_head)


def allowed_methods(request: Request) -> str:
    """Return what a path may be called by, as the header ``Allow`` has it."""
    routes: Iterable[BaseRoute] = request.app.routes
    found: set[str] = {"OPTIONS"}
    for route in routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return ", ".join(sorted(found | {"HEAD"} if "GET" in found else found))


# Values of paths and queries, read as a Connect worker reads them.


_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_LIMIT: Final = 2**31


def flag(given: Sequence[str] | None, *, default: bool) -> bool:
    """Read a boolean of a query: the first value counts, and all but ``true`` is false."""
    return given[0].lower() == "true" if given and given[0] else default


def task_number(text: object) -> int:
    """Read the number of a task in a path. Raises ValueError, which is answered as a path that is not there."""
    number = int(text) if isinstance(text, str) and _NUMBER.fullmatch(text) else _LIMIT
    if not -_LIMIT <= number < _LIMIT:
        msg = "no number of a task"
        raise ValueError(msg)
    return number


# Paths that have one reading only, as Connect's server requires: no encoded slash, dot or control character.
#
# A slash at the end changes nothing, as there.


_AMBIGUOUS: Final = re.compile(rb"%(2[ef]|5c|[01][0-9a-f]|7f)|\\|;|//", re.IGNORECASE)


class PlainPaths:
    """An ASGI app around another that refuses other paths, before they are routed."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _AMBIGUOUS.search(scope.get("raw_path") or b""):
            await error_answer(400, "Ambiguous URI path")(scope, receive, send)
        else:
            await self._app(_without_slash(scope), receive, send)


def _without_slash(scope: Scope) -> Scope:
    path: str = scope.get("path", "")
    is_root = path.removeprefix(scope.get("root_path", "")) == "/"
    return scope if is_root or not path.endswith("/") else {**scope, "path": path[:-1]}
