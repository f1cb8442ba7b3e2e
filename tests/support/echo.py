"""A listener that refuses everything, and says back whatever it was sent: a server that quotes credentials."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Echo:
    """Answers each HTTP request by 401, with the request's headers, path and body as the error's message."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def _refuse(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode(errors="replace")
        message = f"{self.command} {self.path} with {dict(self.headers.items())} and {body!r} is not allowed"
        error = {"error": {"message": message, "type": "NotAuthorizedException", "code": 401, "stack": [message]}}
        answer = json.dumps(error).encode()
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_HEAD = do_DELETE = _refuse

    def log_message(self, *_: object) -> None:
        """Say nothing."""
