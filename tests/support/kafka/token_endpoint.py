"""A small OAuth2 server on loopback: tokens for client credentials, unsigned, as Kafka's unsecured validator takes them."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs


def unsigned_token(user: str, seconds: int = 600) -> str:
    """Return a JSON web token without a signature."""
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": user, "iat": now, "exp": now + seconds})
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), ""])


@dataclass
class TokenEndpoint:
    """What the server answers, and what it was asked for."""

    url: str
    secret: str
    user: str
    status: int = 200
    body: str | None = None
    asked: list[dict[str, list[str]]] = field(default_factory=list)

    def answer(self, authorization: str, form: str) -> tuple[int, bytes]:
        """Return status and body for a request."""
        self.asked.append(parse_qs(form))
        given = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        if given.partition(":")[2] != self.secret:
            return 401, b'{"error": "invalid_client"}'
        token = {"access_token": unsigned_token(self.user), "token_type": "Bearer", "expires_in": 600}
        return self.status, (json.dumps(token) if self.body is None else self.body).encode()


@contextmanager
def serve_tokens(user: str, secret: str) -> Iterator[TokenEndpoint]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, body = endpoint.answer(self.headers.get("Authorization", ""), form)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint = TokenEndpoint(f"http://127.0.0.1:{server.server_port}/token", secret, user)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
