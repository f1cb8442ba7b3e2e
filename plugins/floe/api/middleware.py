"""What happens to every answer: headers that keep a browser to floe's own page, and errors that nobody expected."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

from floe.api.lazy_app import Asgi, Receive, Scope, Send
from floe.config.secrets.mask import hide

# Headers of every answer: a browser runs and loads only what floe's own page has, in no foreign page's frame.


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


# Errors of floe's own in the API server: answered, and logged without secrets.


log = logging.getLogger(__name__)


class UnexpectedErrors:
    """An ASGI app around another that answers an error of floe's own. Its text is in the log, without secrets.

    An error that gets further is logged by the web server, with its secrets.
    """

    def __init__(self, app: Asgi, answer: Callable[[int, str], Asgi]) -> None:
        """``answer``: makes an answer of a status and a message."""
        self._app = app
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def send_noticed(message: Scope) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noticed)
        except Exception as error:  # noqa: BLE001 - whatever it is, its text must not get further
            trace = hide("".join(traceback.format_exception(error)).rstrip())
            log.error("%s %s failed:\n%s", scope.get("method"), scope.get("path"), trace)
            name = type(error).__name__
            if has_begun:
                msg = f"{name}: see above"
                raise RuntimeError(msg) from None
            await self._answer(500, f"floe failed to answer ({name}): see the log of Airflow's API server")(
                scope, receive, send
            )
