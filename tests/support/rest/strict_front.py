"""A REST server that demands what Unity, Polaris and S3 Tables demand, in front of Iceberg's own REST fixture.

Written from the REST specification: the warehouse by name, a prefix from ``/v1/config``, a token or a signature on each
request, namespaces of one level, locations that the server chooses, vended credentials on request only. Its answers have
fields that no client knows.
"""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from stack.settings import LOOPBACK

WAREHOUSE, PREFIX = "unity_catalog", "catalogs/7f3a"
ENDPOINTS = [
    f"{method} /v1/{{prefix}}/{path}"
    for method, path in (
        *(("GET", "namespaces"), ("POST", "namespaces"), ("GET", "namespaces/{namespace}")),
        *(("GET", "namespaces/{namespace}/tables"), ("POST", "namespaces/{namespace}/tables")),
        *(("GET", "namespaces/{namespace}/tables/{table}"), ("POST", "namespaces/{namespace}/tables/{table}")),
        ("DELETE", "namespaces/{namespace}/tables/{table}"),
    )
]

Headers = Mapping[str, str]
Admit = Callable[[str, str, Headers, bytes], tuple[int, str]]
"""Decides on a request by method, path, headers and body: 200, or the status and why."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def error(cls, status: int, kind: str, message: str, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(status, {"error": {"message": message, "type": kind, "code": status}, "trace_id": "x"}, named)


class StrictFront:
    """The server; ``admit`` decides who may ask."""

    def __init__(self, fixture: str, warehouse: str, admit: Admit) -> None:
        self.admit = admit
        self.config: dict[str, Any] = {"defaults": {"from-server": "1"}, "overrides": {"prefix": PREFIX}}
        self.faults: list[Answer] = []
        """Given first, one each, in the place of an answer; a request that meets one is not carried out."""
        self.change: Callable[[str, dict[str, Any]], None] = lambda _path, _document: None
        """Changes an answer, by path, before it is sent."""
        self.endpoints = list(ENDPOINTS)
        self.vended: list[str] = []
        self.requests: list[tuple[str, str, Headers]] = []
        self.warehouse = WAREHOUSE
        self._fixture, self._folder = urlsplit(fixture), warehouse
        self._numbers = itertools.count(1)
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                front.handle(self)

            do_POST = do_HEAD = do_DELETE = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def uri(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_address[1]}/api/iceberg-rest"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def asked(self, method: str, end: str) -> int:
        """Count the requests of a method whose path, without its query, ends so."""
        return sum(m == method and urlsplit(path).path.endswith(end) for m, path, _ in self.requests)

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append((handler.command, handler.path, headers))
        answer = self._answer(handler.command, handler.path, headers, body)
        content = b"" if answer.body is None else json.dumps(answer.body).encode()
        with suppress(OSError):
            handler.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            if handler.command != "HEAD":
                handler.wfile.write(content)

    def _answer(self, method: str, path: str, headers: Headers, body: bytes) -> Answer:
        if self.faults:
            return self.faults.pop(0)
        status, why = self.admit(method, path, headers, body)
        if status != 200:
            return Answer.error(status, "NotAuthorizedException", why)
        parts = urlsplit(path)
        own = parts.path.removeprefix("/api/iceberg-rest/v1/")
        if own == "config":
            if parse_qs(parts.query).get("warehouse") != [WAREHOUSE]:
                return Answer.error(400, "BadRequestException", "warehouse is missing or of no catalog")
            document = {**self.config, "endpoints": self.endpoints, "not-in-the-specification": {"a": [1]}}
            self.change(own, document)
            return Answer(200, document)
        if not own.startswith(f"{PREFIX}/"):
            return Answer.error(404, "NoSuchEndpointException", "no such catalog")
        return self._of_catalog(method, own.removeprefix(f"{PREFIX}/"), parts.query, headers, body)

    def _of_catalog(self, method: str, path: str, query: str, headers: Headers, body: bytes) -> Answer:
        if refused := _refusal(method, path, query, headers, body):
            return Answer.error(400, "BadRequestException", refused)
        if method == "POST" and path.endswith("/tables"):
            status, content = self._forward("GET", f"/v1/{path.removesuffix('/tables')}", b"")
            if status != 200:
                return Answer(status, json.loads(content))
            body = json.dumps({**json.loads(body), "location": f"{self._folder}/managed/{uuid.uuid4()}"}).encode()
        status, content = self._forward(method, f"/v1/{path}" + (f"?{query}" if query else ""), body)
        document = json.loads(content) if content else None
        if isinstance(document, dict):
            document["not-in-the-specification"] = {"x": None}
            if status == 200 and "metadata" in document and "/tables" in path:
                self._vend(document)
            self.change(path, document)
        return Answer(status, document)

    def _vend(self, document: dict[str, Any]) -> None:
        number = next(self._numbers)
        self.vended.append(f"ASIA{number:04}")
        credentials = {
            "s3.access-key-id": self.vended[-1],
            "s3.secret-access-key": f"vended-secret-{number}-of-the-store",
            "s3.session-token": f"vended-session-{number}-of-the-store",
            "s3.session-token-expires-at-ms": "1900000000000",
        }
        document["config"] = {**document.get("config", {}), "client.region": "eu-central-1"}
        document["storage-credentials"] = [
            {"prefix": "file", "config": {"s3.access-key-id": "of-a-shorter-prefix"}},
            # Hadoop writes file:/ where the location has file:///
            {"prefix": str(document["metadata-location"]).partition("/metadata/")[0], "config": credentials},
        ]

    def _forward(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._fixture.hostname or LOOPBACK, self._fixture.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def _refusal(method: str, path: str, query: str, headers: Headers, body: bytes) -> str:
    """Return what a strict server has against a request of the catalog, empty for nothing."""
    document = json.loads(body) if body else {}
    if "%1F" in path.upper() or "parent" in parse_qs(query) or len(document.get("namespace", [])) > 1:
        return "nested namespaces are not supported"
    is_load = method == "GET" and "/tables/" in path
    is_create = method == "POST" and path.endswith("/tables")
    if (is_load or is_create) and headers.get("x-iceberg-access-delegation") != "vended-credentials":
        return "X-Iceberg-Access-Delegation is missing"
    if is_create and document.get("location"):
        return "location must not be given: the catalog manages it"
    return ""
