"""An HTTP proxy in front of a REST catalog: what it does to the next commits is set beforehand."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from stack.settings import LOOPBACK


@dataclass(frozen=True)
class Fault:
    """What happens to one commit.

    ``sends``: how often it is sent to the catalog. ``status``: what the client gets instead of the catalog's
    answer. ``is_dropped``: the connection ends without an answer. ``delay``: seconds before the answer.
    """

    name: str
    sends: int = 1
    status: int | None = None
    is_dropped: bool = False
    delay: float = 0

    def __str__(self) -> str:
        return self.name


def answer_lost() -> Fault:
    """The catalog carries it out, the client gets no answer."""
    return Fault("commit answer lost", is_dropped=True)


def answer_rewritten(status: int) -> Fault:
    """The catalog carries it out, the client gets an error."""
    return Fault(f"commit answered {status}, applied", status=status)


def refused(status: int) -> Fault:
    """The catalog never sees it, the client gets an error."""
    return Fault(f"commit answered {status}, not applied", sends=0, status=status)


def reset() -> Fault:
    """The catalog never sees it, the connection is reset."""
    return Fault("commit reset, not applied", sends=0, is_dropped=True)


def sent_twice() -> Fault:
    """The catalog gets it twice, the client hears the second answer."""
    return Fault("commit sent twice", sends=2)


def delayed(seconds: float) -> Fault:
    """The answer takes long."""
    return Fault("commit answered late", delay=seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that are killed leave broken connections."""


class CatalogProxy:
    """Forwards to ``uri``; commits meet the faults that were put in line for them, one each."""

    def __init__(self, uri: str) -> None:
        self.statuses: list[int] = []
        """What the catalog itself answered to commits."""
        self.faults: Counter[str] = Counter()
        self.asked: list[str] = []
        """Method and path of each request."""
        self.before: Callable[[], None] | None = None
        """Called before a commit is forwarded."""
        self.after: Callable[[int], None] | None = None
        """Called with the client's port after the catalog answered a commit, before the client hears of it."""
        self.rewrite: Callable[[str, bytes], bytes] | None = None
        """Called with the path and what the catalog answered; its result is answered in the place of that."""
        self._target = urlsplit(uri)
        self._line: list[Fault] = []
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy.handle(self)

            do_POST = do_HEAD = do_DELETE = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = _Server((LOOPBACK, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="catalog proxy", daemon=True)
        self._thread.start()

    @property
    def uri(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    def put(self, *faults: Fault) -> None:
        """Put faults in line for the next commits."""
        with self._lock:
            self._line += faults

    def clear(self) -> None:
        """Forget the faults that are still in line."""
        with self._lock:
            self._line.clear()

    def close(self) -> None:
        """End the proxy."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Carry out one request."""
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        self.asked.append(f"{handler.command} {handler.path}")
        is_commit = handler.command == "POST" and "/tables/" in handler.path and b'"add-snapshot"' in body
        fault = self._next() if is_commit else None
        if is_commit and self.before is not None:
            self.before()
        status, answer = 0, b""
        headers: list[tuple[str, str]] = []
        for _ in range(fault.sends if fault else 1):
            status, headers, answer = self._forward(handler, body)
            if is_commit:
                self.statuses.append(status)
        if is_commit and self.after is not None:
            self.after(handler.client_address[1])
        if fault is not None:
            time.sleep(fault.delay)
            if fault.is_dropped:
                _drop(handler)
                return
            if fault.status is not None:
                message = {"error": {"message": "made by the proxy", "type": "Proxy", "code": fault.status}}
                status, headers, answer = (
                    fault.status,
                    [("Content-Type", "application/json")],
                    json.dumps(message).encode(),
                )
        if self.rewrite is not None:
            answer = self.rewrite(handler.path, answer)
        _answer(handler, status, headers, answer)

    def _next(self) -> Fault | None:
        with self._lock:
            if not self._line:
                return None
            fault = self._line.pop(0)
        self.faults[fault.name] += 1
        return fault

    def _forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self._target.hostname or LOOPBACK, self._target.port, timeout=60)
        try:
            left_out = {"host", "connection", *(["accept-encoding"] if self.rewrite is not None else [])}
            headers = {k: v for k, v in handler.headers.items() if k.lower() not in left_out}
            connection.request(handler.command, handler.path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        except OSError:
            return 503, [], b"{}"
        finally:
            connection.close()


def _answer(handler: BaseHTTPRequestHandler, status: int, headers: list[tuple[str, str]], answer: bytes) -> None:
    handler.send_response(status)
    for name, value in headers:
        if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
            handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(answer)))
    handler.end_headers()
    with suppress(OSError):
        if handler.command != "HEAD":
            handler.wfile.write(answer)


def _drop(handler: BaseHTTPRequestHandler) -> None:
    """End the connection by RST."""
    handler.close_connection = True
    with suppress(OSError):
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.shutdown(socket.SHUT_RDWR)
