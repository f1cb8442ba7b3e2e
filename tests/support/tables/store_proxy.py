"""An HTTP proxy in front of an S3 store: which requests it answers itself, or cuts, is set beforehand."""

from __future__ import annotations

import http.client
import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from stack.settings import LOOPBACK

ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>made by the proxy</Message></Error>'
SLOW_DOWN = (503, "SlowDown")
EXPIRED = (400, "ExpiredToken")


@dataclass
class StoreFault:
    """What happens to requests whose method and path match ``what``.

    ``answer``: the status and S3's code in the place of the store's answer; None: the connection is reset when half of the
    body was read. ``times``: for how many requests. ``spared``: how many before that are let through.
    """

    what: str
    answer: tuple[int, str] | None = None
    times: int = 1_000_000
    spared: int = 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients whose connection is reset leave broken ones."""


class StoreProxy:
    """Forwards to ``endpoint``. ``requests``: method and path of all that came; ``hits``: of those that met a fault."""

    def __init__(self, endpoint: str) -> None:
        self.requests: list[str] = []
        self.hits: list[str] = []
        self.fault: StoreFault | None = None
        self._target = urlsplit(endpoint)
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy.handle(self)

            do_POST = do_HEAD = do_DELETE = do_PUT = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = _Server((LOOPBACK, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="store proxy", daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    def seen(self, what: str) -> list[str]:
        """Return the requests that came and match."""
        return [request for request in self.requests if re.search(what, request)]

    def close(self) -> None:
        """End the proxy."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Carry out one request."""
        request = f"{handler.command} {handler.path}"
        fault = self._met(request)
        if fault is not None and fault.answer is None:
            handler.rfile.read(int(handler.headers.get("Content-Length") or 0) // 2)
            _reset(handler)
            return
        body = _body(handler)
        if fault is not None and fault.answer is not None:
            status, code = fault.answer
            _answer(handler, status, [("Content-Type", "application/xml")], ERROR.format(code=code).encode())
            return
        _answer(handler, *self._forward(handler, body))

    def _met(self, request: str) -> StoreFault | None:
        with self._lock:
            self.requests.append(request)
            fault = self.fault
            if fault is None or fault.times == 0 or not re.search(fault.what, request):
                return None
            if fault.spared:
                fault.spared -= 1
                return None
            fault.times -= 1
            self.hits.append(request)
            return fault

    def _forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self._target.hostname or LOOPBACK, self._target.port, timeout=60)
        left_out = ("connection", "transfer-encoding", "content-length", "expect")
        try:
            headers = {k: v for k, v in handler.headers.items() if k.lower() not in left_out}
            connection.request(handler.command, handler.path, body, {**headers, "Content-Length": str(len(body))})
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()


def _body(handler: BaseHTTPRequestHandler) -> bytes:
    if "chunked" not in (handler.headers.get("Transfer-Encoding") or "").lower():
        return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    read: Callable[[], bytes] = handler.rfile.readline
    parts = []
    while size := int(read().split(b";")[0], 16):
        parts.append(handler.rfile.read(size))
        read()
    while read().strip():
        pass
    return b"".join(parts)


def _answer(handler: BaseHTTPRequestHandler, status: int, headers: list[tuple[str, str]], answer: bytes) -> None:
    handler.send_response(status)
    length = str(len(answer))
    for name, value in headers:
        if handler.command == "HEAD" and name.lower() == "content-length":
            length = value
        elif name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
            handler.send_header(name, value)
    handler.send_header("Content-Length", length)
    handler.end_headers()
    with suppress(OSError):
        if handler.command != "HEAD":
            handler.wfile.write(answer)


def _reset(handler: BaseHTTPRequestHandler) -> None:
    """End the connection by RST."""
    handler.close_connection = True
    with suppress(OSError):
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.shutdown(socket.SHUT_RDWR)
