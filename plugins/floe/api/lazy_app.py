"""floe's app for Airflow's API server, made when it is first called.

Every process of Airflow loads plugins; FastAPI and the ORM are imported in the API server only, and an error in them
fails the calls of floe's routes, not the server's start.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from importlib import import_module
from typing import Any, Final

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

ROOT = "floe.root_app"
"""Where Airflow's own app is in a call's scope: there is no other way to it from an app that it mounts."""


class LazyApp:
    """An ASGI app that makes the real one at its first call, by ``create_app`` of a module."""

    def __init__(self, module: str = "floe.api.app") -> None:
        self._module = module
        self._app: Asgi | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._app = import_module(self._module).create_app()
        await self._app({**scope, ROOT: scope.get("app")}, receive, send)


# The base URL of Connect's API, with and without a slash at its end: without one, Airflow would answer with its page.


PREFIX: Final = "/connect"


class BaseUrl:
    """An ASGI app around Airflow's that gives calls of the base URL the slash by which they are routed."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] == "http" and path.removeprefix(scope.get("root_path", "").rstrip("/")) == PREFIX:
            scope = {**scope, "path": f"{path}/", "raw_path": (scope.get("raw_path") or path.encode()) + b"/"}
        await self._app(scope, receive, send)
