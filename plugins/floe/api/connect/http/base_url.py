"""The base URL of Connect's API, with and without a slash at its end: without one, Airflow would answer with its page."""

from __future__ import annotations

from typing import Final

from floe.api.lazy_app import Asgi, Receive, Scope, Send

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
