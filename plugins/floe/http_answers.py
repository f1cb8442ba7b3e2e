"""Bounds of an HTTP answer, whoever gives it: one deadline for the whole of it, and the numbers in it.

A socket's timeout counts for each read alone. So a server that sends a byte of its status line, its headers, a chunk's size
or of one ``100 Continue`` after another now and then holds its client for ever.
"""

from __future__ import annotations

import http.client
import io
from contextvars import ContextVar, Token
from time import monotonic
from typing import Any, Final, NamedTuple, cast

MAX_BYTES: Final = 1 << 30
"""Of an answer, headers and all that is thrown away included."""


class _Bounds(NamedTuple):
    end: float
    seconds: float
    most: int


_BOUNDS: Final[ContextVar[_Bounds | None]] = ContextVar("floe_http_deadline", default=None)


class Deadline:
    """``with Deadline(seconds)``: answers begun inside have to be complete by its end, of at most ``most`` bytes."""

    def __init__(self, seconds: float, most: int = MAX_BYTES) -> None:
        self._seconds, self._most = seconds, most
        self._token: Token[_Bounds | None] | None = None

    def __enter__(self) -> None:
        self._token = _BOUNDS.set(_Bounds(monotonic() + self._seconds, self._seconds, self._most))

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _BOUNDS.reset(self._token)
            self._token = None


class AnswerTooLarge(http.client.HTTPException):
    """An answer has more bytes than it may."""


class TimedResponse(http.client.HTTPResponse):
    """An answer that is read within the deadline in which it was begun. Its errors are TimeoutErrors."""

    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        bounds = _BOUNDS.get()
        super().__init__(sock if bounds is None else cast("Any", _TimedSocket(sock, bounds)), *args, **kwargs)


class _TimedSocket:
    """As much of a socket as an answer takes of it."""

    def __init__(self, sock: Any, bounds: _Bounds) -> None:
        self._sock, self._bounds = sock, bounds

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock, self._sock.makefile(mode, buffering=0), self._bounds))


class _TimedReader(io.RawIOBase):
    def __init__(self, sock: Any, raw: Any, bounds: _Bounds) -> None:
        super().__init__()
        self._sock, self._raw, self._bounds = sock, raw, bounds
        self._left = bounds.most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._bounds.end - monotonic()
        if left <= 0:
            msg = f"the answer was not complete after {self._bounds.seconds:g} s"
            raise TimeoutError(msg)
        wait = self._sock.gettimeout()
        self._sock.settimeout(left if wait is None else min(wait, left))
        try:
            read: int | None = self._raw.readinto(buffer)
        finally:
            self._sock.settimeout(
                wait
            )  # the connection may be kept for the next request, which has a deadline of its own
        self._left -= read or 0
        if self._left < 0:
            msg = f"the answer has more than {self._bounds.most} bytes"
            raise AnswerTooLarge(msg)
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


_YEARS: Final = 10 * 366 * 24 * 3600.0


def seconds_of(value: object, default: float) -> float:
    """Return the seconds that an answer names, such as a token's ``expires_in``; the default for what makes no sense.

    That is no number, none above 0, or more than ten years.
    """
    try:
        found = float(str(value))  # also of an integer with 400 digits, which is infinite then
    except ValueError:
        return default
    return found if 0 < found < _YEARS else default
