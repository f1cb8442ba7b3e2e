"""Bounds of an HTTP answer, whoever gives it: one deadline for the whole of it, and the numbers in it.

A socket's timeout counts for each read alone. So a server that sends a byte of its status line, its headers, a chunk's size
or of one ``100 Continue`` after another now and then holds its client for ever.
"""

from __future__ import annotations

import http.client
import io
from contextvars import ContextVar, Token
from time import monotonic
from typing import Any, Final, cast

_END: Final[ContextVar[tuple[float, float] | None]] = ContextVar("floe_http_deadline", default=None)


class Deadline:
    """``with Deadline(seconds)``: answers that are begun inside have to be complete by its end."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._token: Token[tuple[float, float] | None] | None = None

    def __enter__(self) -> None:
        self._token = _END.set((monotonic() + self._seconds, self._seconds))

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _END.reset(self._token)


class TimedResponse(http.client.HTTPResponse):
    """An answer that is read within the deadline in which it was begun. Its errors are TimeoutErrors."""

    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        end = _END.get()
        super().__init__(sock if end is None else cast("Any", _TimedSocket(sock, *end)), *args, **kwargs)


class _TimedSocket:
    """As much of a socket as an answer takes of it."""

    def __init__(self, sock: Any, end: float, seconds: float) -> None:
        self._sock, self._end, self._seconds = sock, end, seconds

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(
            _TimedReader(self._sock, self._sock.makefile(mode, buffering=0), self._end, self._seconds)
        )


class _TimedReader(io.RawIOBase):
    def __init__(self, sock: Any, raw: Any, end: float, seconds: float) -> None:
        super().__init__()
        self._sock, self._raw, self._end, self._seconds = sock, raw, end, seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - monotonic()
        if left <= 0:
            msg = f"the answer was not complete after {self._seconds:g} s"
            raise TimeoutError(msg)
        wait = self._sock.gettimeout()
        self._sock.settimeout(left if wait is None else min(wait, left))
        read: int | None = self._raw.readinto(buffer)
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
