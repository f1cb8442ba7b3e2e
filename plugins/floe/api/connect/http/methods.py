"""HEAD and OPTIONS, as a Connect worker answers them: what has GET has HEAD, and all paths have OPTIONS."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Request
from starlette.routing import BaseRoute, Match

from floe.api.lazy_app import Asgi, Receive, Scope, Send


class HeadCalls:
    """An ASGI app around another that answers HEAD as it answers GET, without the body."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Scope) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, send_head)


def allowed_methods(request: Request) -> str:
    """Return what a path may be called by, as the header ``Allow`` has it."""
    routes: Iterable[BaseRoute] = request.app.routes
    found: set[str] = {"OPTIONS"}
    for route in routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return ", ".join(sorted(found | {"HEAD"} if "GET" in found else found))
