"""A server that answers byte by byte, without an end: it holds a client whose time limit counts for each read alone."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from stack.settings import LOOPBACK

_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BEGINNINGS: Final = {
    "status line": (b"HTTP/1.1 200 ", b"a"),
    "header": (_HEAD + b"X-Long: ", b"a"),
    "continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "chunk size": (_HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a"),
    "chunks": (_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "trailer": (_HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X: a\r\n"),
    "body": (_HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    "body without a length": (_HEAD + b"Connection: close\r\n\r\n", b" "),
}
"""What is sent at once, and what is repeated then, by the part of an answer that has no end."""


@contextmanager
def dripping(part: str | tuple[bytes, bytes], pause: float = 0.05) -> Iterator[str]:
    """Serve an endless answer, of HTTP by its part or any other; yields the server's address."""
    listener, done = socket.create_server((LOOPBACK, 0)), threading.Event()

    def serve(client: socket.socket) -> None:
        begin, again = BEGINNINGS[part] if isinstance(part, str) else part
        with client, suppress(OSError):
            client.recv(65_536)
            client.sendall(begin)
            while not done.wait(pause):
                client.sendall(again)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, name="dripping", daemon=True).start()
    try:
        yield f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    finally:
        done.set()
        listener.close()
