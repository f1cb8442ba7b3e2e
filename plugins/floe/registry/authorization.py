"""What a request carries to identify the client: a login, a token, or a token that OAuth's client credentials get."""

from __future__ import annotations

import base64
import ssl
import threading
import time
from collections.abc import Callable
from typing import TypeGuard
from urllib.parse import urlencode

from floe.config.registry.settings import Address, BearerToken, Login, OAuthClient, RegistrySettings
from floe.config.secrets import mask
from floe.http_answers import seconds_of
from floe.registry.answers import mapped_faults, message_of, not_a_registry, parsed_json, passing_fault
from floe.registry.exceptions import RegistryRefused
from floe.registry.tls import token_context
from floe.registry.transport import Transport

_ASSUMED_LIFETIME = 300.0
"""Seconds that a token is used if its server does not say how long it is valid."""
_MAX_MARGIN = 30.0
"""Seconds before its end at which a token is replaced; a tenth of its lifetime, if that is less."""


class Authorization:
    """The headers of requests; threads may use it together."""

    def __init__(self, settings: RegistrySettings, transport: Transport) -> None:
        given = settings.credentials
        self._given = given
        self._token = OAuthToken(given, transport, settings) if isinstance(given, OAuthClient) else None

    def headers(self, address: Address) -> dict[str, str]:
        """Return the headers for one address. A token is fetched if need be: raises as ``OAuthToken.get``."""
        if self._token is not None:
            return {"Authorization": f"Bearer {self._token.get()}"}
        if isinstance(self._given, BearerToken):
            return {"Authorization": f"Bearer {self._given.token}"}
        login = self._given if isinstance(self._given, Login) else address.login
        return {"Authorization": _basic(login.user, login.password)} if login else {}

    def renew(self) -> bool:
        """Give up a token that was refused; whether there will be another."""
        if self._token is not None:
            self._token.drop()
        return self._token is not None

    def refused_key(self, address: Address) -> str:
        """Name the option to look at after a refusal; "" if no credentials are given."""
        given = self._given or address.login
        return given.key if given is not None else ""


class OAuthToken:
    """The token of a client, kept until shortly before its end."""

    def __init__(
        self,
        client: OAuthClient,
        transport: Transport,
        settings: RegistrySettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._transport = transport
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._token = ""
        self._until = 0.0
        self._context: ssl.SSLContext | None = None

    def get(self) -> str:
        """Return a token that is valid.

        Raises PassingFault if its server cannot give one now, RegistryRefused if it refuses the client, NotARegistry if
        its answer has no token.
        """
        with self._lock:
            if not self._token or self._clock() >= self._until:
                self._fetch()
            return self._token

    def drop(self) -> None:
        """Forget the token."""
        with self._lock:
            self._token = ""

    def _fetch(self) -> None:
        url, client = self._client.token_url, self._client
        if self._context is None and url.startswith("https:"):
            self._context = token_context(self._settings.tls)
        form = {"grant_type": "client_credentials"} | ({"scope": client.scope} if client.scope else {})
        headers = {
            "Authorization": _basic(client.client_id, client.client_secret),
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }
        with mapped_faults(url):
            answer = self._transport.request(url, headers, self._context, urlencode(form).encode())
        if fault := passing_fault(answer, url):
            raise fault
        if answer.status in (400, 401, 403):
            msg = (
                f"{url} gives no token for the schema registry: {answer.status}, {message_of(answer)}. Check "
                f"{self._settings.prefix}{client.key} and the client's id and scope"
            )
            raise RegistryRefused(msg)
        fields = parsed_json(answer, url)
        token = fields.get("access_token") if isinstance(fields, dict) else None
        if answer.status != 200 or not _is_token(token):
            raise not_a_registry(answer, url)
        mask.learn({"access.token": token})
        seconds = seconds_of(fields.get("expires_in"), _ASSUMED_LIFETIME)
        self._token = token
        self._until = self._clock() + seconds - min(_MAX_MARGIN, seconds / 10)


def _is_token(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and text != "" and text.isascii() and text.isprintable()


def _basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
