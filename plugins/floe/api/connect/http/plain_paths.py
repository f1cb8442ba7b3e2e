"""Paths that have one reading only, as Connect's server requires: no encoded slash, dot or control character.

A slash at the end changes nothing, as there.
"""

from __future__ import annotations

import re
from typing import Final

from floe.api.connect.answers import error_answer
from floe.api.lazy_app import Asgi, Receive, Scope, Send

_AMBIGUOUS: Final = re.compile(rb"%(2[ef]|5c|[01][0-9a-f]|7f)|\\|;|//", re.IGNORECASE)


class PlainPaths:
    """An ASGI app around another that refuses other paths, before they are routed."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _AMBIGUOUS.search(scope.get("raw_path") or b""):
            await error_answer(400, "Ambiguous URI path")(scope, receive, send)
        else:
            await self._app(_without_slash(scope), receive, send)


def _without_slash(scope: Scope) -> Scope:
    path: str = scope.get("path", "")
    is_root = path.removeprefix(scope.get("root_path", "")) == "/"
    return scope if is_root or not path.endswith("/") else {**scope, "path": path[:-1]}
