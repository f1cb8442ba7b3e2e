"""Servers that a session of tests starts, and ends whatever happens."""

from __future__ import annotations

import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from stack.exceptions import StartFailed
from stack.progress import wait_until

_ENDED_WITHIN = 15.0


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


class ServerProcess:
    """The process of a server; what it says is added to a log."""

    def __init__(self, name: str, log: Path) -> None:
        self._name = name
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(
        self,
        command: Sequence[str],
        answers: Callable[[], bool],
        within: float,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Start it and wait until it answers. Raises StartFailed, with the end of its log, once it is ended."""
        with self._log.open("ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=folder)
        self._process = process
        is_up = wait_until(lambda: process.poll() is not None or answers(), within)
        if not is_up or process.poll() is not None:
            self.stop()
            message = f"{self._name} ended or does not answer: {self._log.read_text(errors='replace')[-3000:]}"
            raise StartFailed(message)

    def stop(self) -> None:
        """End it; harmless if it was not started, or has ended."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_ENDED_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_ENDED_WITHIN)


def answers_at(address: str) -> bool:
    """Say whether a GET of an address is answered by 200."""
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:  # noqa: S310 - http, on loopback
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
