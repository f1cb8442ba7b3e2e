"""Answers as a Connect worker gives them: JSON, and errors as an object with code and message."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from floe.api.connect.http.methods import allowed_methods
from floe.config.secrets.mask import hide

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
