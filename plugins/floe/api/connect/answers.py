"""Answers as a Connect worker gives them: JSON, and errors as an object with code and message."""

from __future__ import annotations

import json
import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from floe.config.secrets.mask import hide

log = logging.getLogger(__name__)

_TITLES = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    413: "Request Entity Too Large",
    415: "Unsupported Media Type",
}


class ConnectError(Exception):
    """An answer that is an error: the status, and the message for people."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


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
    """Answer every error in Connect's form. An unexpected one is logged, and its text stays in the log."""

    async def connect_error(_: Request, error: ConnectError) -> JSONResponse:
        return error_answer(error.status, error.message)

    async def http_error(_: Request, error: HTTPException) -> JSONResponse:
        status = error.status_code
        is_bare = status in (404, 405) or not isinstance(error.detail, str)
        message = f"HTTP {status} {_TITLES.get(status, 'Error')}" if is_bare else error.detail
        return error_answer(status, message, dict(error.headers or {}))

    async def invalid(_: Request, __: Exception) -> JSONResponse:
        return error_answer(404, "HTTP 404 Not Found")  # only paths and queries are validated, as in Connect

    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        log.error("%s %s failed: %s: %s", request.method, request.url.path, type(error).__name__, hide(str(error)))
        return error_answer(500, f"floe failed to answer ({type(error).__name__}): see the log of Airflow's API server")

    app.add_exception_handler(ConnectError, connect_error)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, http_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, unexpected)


def error_answer(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an error in Connect's form; secrets in its message are hidden."""
    return AsciiJson({"error_code": status, "message": hide(message)}, status, headers)
