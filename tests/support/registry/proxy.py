"""An HTTP proxy in front of a schema registry: what it does to requests is set beforehand."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from tests.support.registry.double import PAGE, Double, Reply, Request, as_json

Forward = Callable[[Request], Reply]
Fault = Callable[[Request, Forward], Reply]
"""What happens to one request."""


class RegistryProxy:
    """Forwards GET requests to a registry. ``url``: the address that stands for the registry's own address ``behind``."""

    def __init__(self, behind: str) -> None:
        self._behind = urlsplit(behind)
        self._double = Double(self._answer)
        self._next: list[Fault] = []
        self._always: Fault | None = None
        self.faults: Counter[str] = Counter()

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self._double.url}{self._behind.path}"

    @property
    def asked(self) -> int:
        """How many requests came."""
        return len(self._double.requests)

    def put(self, *faults: Fault) -> None:
        """Let these happen to the next requests, one each, in this order."""
        self._next += faults

    def always(self, fault: Fault) -> None:
        """Let this happen to all requests behind those."""
        self._always = fault

    def clear(self) -> None:
        """Let nothing happen any more."""
        self._next, self._always = [], None

    def close(self) -> None:
        """End it."""
        self._double.close()

    def _answer(self, request: Request) -> Reply:
        fault = self._next.pop(0) if self._next else self._always
        if fault is None:
            return self._forward(request)
        if fault is not passed:
            self.faults[f"registry: {fault.__name__.replace('_', ' ')}"] += 1
        return fault(request, self._forward)

    def _forward(self, request: Request) -> Reply:
        address = f"{self._behind.scheme}://{self._behind.netloc}{request.path}"
        headers = {"Accept": request.headers.get("accept", "*/*")}
        try:
            # the proxy of a registry on loopback
            with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:  # noqa: S310
                return Reply(answer.status, answer.read(), {"Content-Type": answer.headers["Content-Type"]})
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.read(), {"Content-Type": error.headers["Content-Type"]})


# -- faults ------------------------------------------------------------------------------------------------------------


def passed(request: Request, forward: Forward) -> Reply:
    """Nothing happens."""
    return forward(request)


def dropped(request: Request, forward: Forward) -> Reply:
    """The connection ends without an answer, as when the registry dies."""
    raise ConnectionResetError


def page(request: Request, forward: Forward) -> Reply:
    """A page for people comes in place of a schema, as from a proxy that wants a login."""
    return PAGE


def another_service(request: Request, forward: Forward) -> Reply:
    """Another service answers, in JSON."""
    return as_json({"hello": "world"})


def slow(seconds: float) -> Fault:
    """Return a fault: the answer comes late."""

    def slow(request: Request, forward: Forward) -> Reply:
        time.sleep(seconds)
        return forward(request)

    return slow


def answered(status: int) -> Fault:
    """Return a fault: an error comes in place of a schema."""

    def answered(request: Request, forward: Forward) -> Reply:
        code = 40403 if status == 404 else status * 100 + 1
        return as_json({"error_code": code, "message": "made by the proxy"}, status)

    answered.__name__ = f"answered_{status}"
    return answered


def exchanged(asked: int, text: str) -> Fault:
    """Return a fault: for one id another schema comes."""

    def exchanged(request: Request, forward: Forward) -> Reply:
        reply = forward(request)
        if f"/{asked}" not in request.path or reply.status != 200:
            return reply
        return replace(reply, body=json.dumps({**json.loads(reply.body), "schema": text}).encode())

    return exchanged
