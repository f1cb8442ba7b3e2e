"""An HTTP server on loopback that answers as it is set to: for what a real registry cannot be made to show."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, cast

from stack.settings import LOOPBACK


@dataclass(frozen=True)
class Request:
    """A request as it arrived; the names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    """An answer. ``delay``: seconds before it; ``pause``: seconds between the bytes of the body; ``length``: as announced."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    length: int | None = None


def as_json(fields: Any, status: int = 200, **headers: str) -> Reply:
    """Return an answer with JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(fields).encode(), {"Content-Type": "application/json", **named})


def schema(text: str = '"string"', **more: Any) -> Reply:
    """Return a schema as Confluent's API does."""
    return as_json({"schema": text, **more})


UNKNOWN = as_json({"error_code": 40403, "message": "Schema not found"}, 404)
PAGE = Reply(200, b"<!doctype html><html><title>Welcome</title></html>", {"Content-Type": "text/html"})

Answers = Callable[[Request], Reply]


class Double:
    """The server; ``requests`` are all that it got."""

    def __init__(self, answers: Answers, context: ssl.SSLContext | None = None) -> None:
        self.answers = answers
        self.requests: list[Request] = []
        self._server = _Server((LOOPBACK, 0), _Handler)
        self._server.double = self
        if context is not None:
            # the handshake is in the thread of the connection
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._scheme = "https" if context else "http"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self._scheme}://{LOOPBACK}:{self.port}"

    @property
    def paths(self) -> list[str]:
        """The paths of all requests."""
        return [request.path for request in self.requests]

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@contextmanager
def serving(answers: Answers | Reply, context: ssl.SSLContext | None = None) -> Iterator[Double]:
    """Serve the same answer always, or what the function returns."""
    double = Double(answers if callable(answers) else lambda _: answers, context)
    try:
        yield double
    finally:
        double.close()


def one_after_the_other(*replies: Reply) -> Answers:
    """Give each answer once, and the last one from then on."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


class _Server(ThreadingHTTPServer):
    double: Double
    daemon_threads = True

    def server_bind(self) -> None:
        """Bind without a look-up of the host's name, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that end early are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def do_CONNECT(self) -> None:
        host, _, port = self.path.partition(":")
        self._note(b"")
        with socket.create_connection((host, int(port)), 10) as target:
            self.send_response(200)
            self.end_headers()
            _pipe(self.connection, target)

    def _note(self, body: bytes) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body)
        self._double.requests.append(request)
        return request

    @property
    def _double(self) -> Double:
        return cast(_Server, self.server).double

    def _answer(self, body: bytes) -> None:
        request = self._note(body)
        reply = self._double.answers(request)
        time.sleep(reply.delay)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body) if reply.length is None else reply.length))
        self.end_headers()
        if not reply.pause:
            self.wfile.write(reply.body)
            return
        for byte in reply.body:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(reply.pause)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""


def _pipe(one: socket.socket, other: socket.socket) -> None:
    """Copy both ways until either side ends."""

    def copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=copy, args=(other, one), daemon=True)
    back.start()
    copy(one, other)
    back.join(10)
