"""Servers that a session of tests starts, and ends whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar


class Server(Protocol):
    """What can be started and ended."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


S = TypeVar("S", bound=Server)


@contextmanager
def started(server: S) -> Iterator[S]:
    """Start a server, and end it at the end, also one whose start failed."""
    try:
        server.start()
        yield server
    finally:
        server.stop()
