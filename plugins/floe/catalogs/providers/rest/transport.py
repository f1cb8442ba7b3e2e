"""HTTP to a REST catalog and to its login: bounded in time and size, never redirected, errors in one form.

requests alone waits for ever, reads a body without end into memory, and follows redirects with the body of a request, which
may be a secret.
"""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from time import monotonic, sleep
from typing import Any, Final
from urllib.parse import quote, urlsplit

from pyiceberg.exceptions import RESTError, ServiceUnavailableError
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter

from floe.config.secrets.mask import clip, hide
from floe.http_answers import Deadline, TimedResponse

log = logging.getLogger(__name__)

MAX_ANSWER: Final = 512 << 20
"""Bytes, after decompression. A table's metadata with 10,000 snapshots has about 20 MB."""
MAX_SECONDS: Final = 600.0
"""For one answer as a whole, however small its parts."""
_LONGEST: Final = threading.TIMEOUT_MAX
MAX_WAIT: Final = 60.0
"""Seconds that a server's Retry-After may ask for."""

_LATER_IF_READ: Final = (408, 425, 429, 502, 503, 504)
_LATER: Final = (408, 425)
"""Too slow, too early: PyIceberg has no error for them but the one for answers of another server."""
_READS: Final = ("GET", "HEAD")
_SHOWN: Final = 300


class AnswerRefused(RESTError):
    """The server's answer is not one of a REST catalog."""


@dataclass(frozen=True)
class TransportLimits:
    """How long to wait, and how often to try. ``connect``, ``read``: seconds; ``proxy``: its address, or none."""

    connect: float = 30.0
    read: float = 300.0
    retries: int = 5
    proxy: str = ""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> TransportLimits:
        """Read ``rest.client.*``. Raises ValueError for what is no number."""
        return cls(
            _number(settings, "rest.client.connection-timeout-ms", 30_000) / 1000,
            _number(settings, "rest.client.socket-timeout-ms", 300_000) / 1000,
            _number(settings, "rest.client.max-retries", 5),
            _proxy(settings),
        )


def _timed(manager: Any) -> Any:
    """Have a manager's connections, be they direct or to a proxy of any kind, give timed answers."""
    manager.pool_classes_by_scheme = {
        scheme: _timed_pool(pool) for scheme, pool in manager.pool_classes_by_scheme.items()
    }
    return manager


@cache
def _timed_pool(pool: Any) -> Any:
    if issubclass(pool.ConnectionCls.response_class, TimedResponse):
        return pool
    connection = type("TimedConnection", (pool.ConnectionCls,), {"response_class": TimedResponse})
    return type("TimedPool", (pool,), {"ConnectionCls": connection})


class TimedAdapter(HTTPAdapter):
    """Sends requests so that the deadline counts that they are sent within."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make connections whose answers are timed."""
        super().init_poolmanager(*args, **kwargs)
        _timed(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """Make connections to a proxy whose answers are timed."""
        return _timed(super().proxy_manager_for(*args, **kwargs))


class CatalogSession(Session):
    """A session of requests that keeps to limits: each answer has one deadline, the connect and the read timeout together.

    ``changes_nothing``: every request may be sent again.
    """

    def __init__(self, limits: TransportLimits, *, changes_nothing: bool = False) -> None:
        super().__init__()
        self._limits = limits
        self._changes_nothing = changes_nothing
        for scheme in ("http://", "https://"):
            self.mount(scheme, TimedAdapter())
        if limits.proxy:
            self.proxies.update({"http": limits.proxy, "https": limits.proxy})
        self._of_environment: dict[Any, dict[str, Any]] = {}

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """Return what counts for a request, as requests does; once for an address: it goes through all of the environment."""
        asked = (origin_of(url), tuple(sorted((proxies or {}).items())), stream, verify, cert)
        if asked not in self._of_environment:
            found = super().merge_environment_settings(url, proxies, stream, verify, cert)
            self._of_environment[asked] = dict(found)
        known = self._of_environment[asked]
        return {**known, "proxies": type(known["proxies"])(known["proxies"])}

    def get_redirect_target(self, resp: Response) -> str | None:
        """Follow no redirect: it would take the login, or a commit, to another address."""
        return None

    def send(self, request: PreparedRequest, **kwargs: Any) -> Response:
        """Send a request, again if the server asks for that. Raises AnswerRefused, and the errors of requests."""
        attempt = 0
        while True:
            # a copy: an adapter that signs writes into the request
            answer = self._send_once(request.copy(), **kwargs)
            wait = self._wait_of(answer, str(request.method), attempt)
            if wait is None:
                return in_one_form(answer)
            attempt += 1
            log.info("%s answers %s: asked again in %.1f s", origin_of(request.url), answer.status_code, wait)
            sleep(wait)

    def _send_once(self, request: PreparedRequest, **kwargs: Any) -> Response:
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = (self._limits.connect, self._limits.read)
        end = monotonic() + MAX_SECONDS
        with Deadline(min(self._limits.connect + self._limits.read, _LONGEST)):
            answer = super().send(request, **{**kwargs, "stream": True})
            try:
                return _whole(answer, end)
            finally:
                answer.close()

    def _wait_of(self, answer: Response, method: str, attempt: int) -> float | None:
        """Return the seconds until the request is sent again; None if this answer counts.

        What may have been carried out, such as a commit with 503, is not sent again: the table shows whether it was.
        """
        is_read = self._changes_nothing or method in _READS
        again = _LATER_IF_READ if is_read else (429,)
        if answer.status_code not in again or attempt >= self._limits.retries:
            return None
        asked = answer.headers.get("Retry-After", "").strip()
        if not asked.isdecimal():
            return min(0.5 * float(2**attempt), MAX_WAIT)
        return float(asked) if len(asked) < 6 and float(asked) <= MAX_WAIT else None


def in_one_form(answer: Response) -> Response:
    """Return an answer whose error, if it is one, has the form of the REST specification.

    Raises AnswerRefused for a redirect, and for a body that is no JSON in the place of an answer; ServiceUnavailableError
    for 408 and 425.
    """
    where = f"{origin_of(answer.url)}{urlsplit(answer.url).path}"
    if 300 <= answer.status_code < 400:
        target = origin_of(answer.headers.get("Location", "")) or "another path of itself"
        msg = (
            f"{where} redirects to {target}: floe follows no redirects, as they could take the login elsewhere. Set the "
            "address that answers itself"
        )
        raise AnswerRefused(msg)
    body = answer.content
    if answer.status_code in _LATER:
        msg = f"{where} answers {answer.status_code}: it did not carry out the request now"
        raise ServiceUnavailableError(msg)
    if answer.status_code >= 400:
        if body:
            document = {"error": _error_of(answer)}
            return _with_body(answer, json.dumps(document).encode())
        return answer
    if body.strip() and not body.lstrip().startswith((b"{", b"[")):
        kind = answer.headers.get("Content-Type", "no type")
        msg = f"{where} answers with {clip(kind, 100)}, not with JSON ({_excerpt(body)}), as a proxy or another server does"
        raise AnswerRefused(msg)
    return answer


def origin_of(address: str | None) -> str:
    """Return scheme, host and port of an address, which has no secrets; empty for a path."""
    parts = urlsplit(address or "")
    if not parts.hostname:
        return ""
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme.lower()}://{parts.hostname.lower()}" + (f":{port}" if port else "")


def _error_of(answer: Response) -> dict[str, Any]:
    """Return the error of an answer; other servers than catalogs have other forms of it, or HTML."""
    try:
        document = answer.json()
    except ValueError:
        document = None
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict):
        message, kind = error.get("message"), error.get("type")
    elif isinstance(document, dict):
        message = document.get("message") or document.get("error_description") or error
        kind = document.get("error_code") or error
    else:
        message, kind = f"no JSON ({_excerpt(answer.content)})", None
    return {
        "message": clip(str(message or "no message"), _SHOWN),
        "type": clip(str(kind or f"HTTP {answer.status_code}"), 100),
        "code": answer.status_code,
    }


def _whole(answer: Response, end: float) -> Response:
    """Read the body. Raises AnswerRefused when it is too large, or comes too slowly."""
    body = bytearray()
    for part in answer.iter_content(1 << 16):
        body += part
        if len(body) > MAX_ANSWER:
            msg = f"{origin_of(answer.url)} answers with more than {MAX_ANSWER >> 20} MB: reading it was given up"
            raise AnswerRefused(msg)
        if monotonic() > end:
            msg = f"{origin_of(answer.url)} did not end its answer within {MAX_SECONDS:.0f} s: reading it was given up"
            raise AnswerRefused(msg)
    return _with_body(answer, bytes(body))


def _with_body(answer: Response, body: bytes) -> Response:
    made = Response()
    for name in ("status_code", "headers", "url", "reason", "request", "encoding", "elapsed", "cookies"):
        setattr(made, name, getattr(answer, name))
    made.raw = io.BytesIO(body)
    return made


def _excerpt(body: bytes) -> str:
    return repr(clip(hide(" ".join(body[:1000].decode(errors="replace").split())), 100))


def _number(settings: Mapping[str, Any], key: str, default: int) -> int:
    text = str(settings.get(key, default)).strip()
    if not text.isdecimal() or len(text) > 12:
        msg = f"{key} {text[:100]!r} is no whole number"
        raise ValueError(msg)
    return int(text)


def _proxy(settings: Mapping[str, Any]) -> str:
    start = "rest.client.proxy."
    host, port, user, password = (str(settings.get(f"{start}{name}", "")) for name in _PROXY)
    if bool(host) != bool(port):
        msg = f"{start}hostname and {start}port: set both, or none"
        raise ValueError(msg)
    login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    return f"http://{login}{host}:{port}" if host else ""


_PROXY: Final = ("hostname", "port", "username", "password")
