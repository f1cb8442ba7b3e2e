"""Headers of every answer: a browser runs and loads only what floe's own page has, in no foreign page's frame."""

from __future__ import annotations

from floe.api.lazy_app import Asgi, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""``Cache-Control``: what one user may see is kept for no other."""

_RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class AnswerHeaders:
    """An ASGI app around another that adds the headers; a header that the other gives itself stays."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Scope) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                message = {**message, "headers": [*message["headers"], *(one for one in _RAW if one[0] not in given)]}
            await send(message)

        await self._app(scope, receive, with_headers)
