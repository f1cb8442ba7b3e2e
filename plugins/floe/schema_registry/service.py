"""Asking a registry: over all its addresses, again after faults that may pass, with the client's credentials."""

from __future__ import annotations

import base64
import http.client
import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeGuard
from urllib.parse import urlencode

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from floe.config.schema_registry.settings import (
    OAuthClient,
    RegistryAddress,
    RegistryLogin,
    RegistrySettings,
    RegistryToken,
)
from floe.config.secrets import mask
from floe.config.secrets.mask import clip, hide
from floe.http_answers import seconds_of
from floe.schema_registry.exceptions import NotARegistry, RegistryMisconfigured, RegistryRefused, RegistryUnreachable
from floe.schema_registry.transport import HttpAnswer, Transport, registry_context, token_context

log = logging.getLogger(__name__)

_ACCEPTED: Final = "application/vnd.schemaregistry.v1+json, application/json, */*; q=0.5"
_FORGIVEN: Final = (200, 404)


class RegistryService:
    """The HTTP side of one registry."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._transport = Transport(settings.limits, settings.proxy)
        self._authorization = Authorization(settings, self._transport)
        self._context: ssl.SSLContext | None = None
        self._addresses = settings.addresses

    def get(self, path: str) -> tuple[HttpAnswer, str]:
        """Return the answer to GET, 200 or 404, and the whole address that gave it.

        All addresses are asked, beginning with the last that answered; after a pause again, as often as the settings
        say. Raises RegistryUnreachable after that, and at once RegistryRefused, RegistryMisconfigured, NotARegistry.
        """
        limits = self._settings.limits
        backoff = wait_exponential(limits.first_wait, limits.max_wait) + wait_random(0, limits.first_wait / 2)

        def wait(state: RetryCallState) -> float:
            asked = getattr(state.outcome.exception(), "retry_after", 0.0) if state.outcome else 0.0
            return max(backoff(state), min(asked, limits.max_wait))

        def say(state: RetryCallState) -> None:
            log.warning("%s; retrying in %.1f s", hide(_why(state)), state.upcoming_sleep)

        def give_up(state: RetryCallState) -> tuple[HttpAnswer, str]:
            attempts = f"{state.attempt_number} attempt{'s' if state.attempt_number > 1 else ''}"
            msg = f"the schema registry did not give a schema in {attempts}: {hide(_why(state))}. Nothing was announced"
            raise RegistryUnreachable(msg) from None

        retrying = Retrying(
            retry=retry_if_exception_type(PassingFault),
            wait=wait,
            stop=stop_after_attempt(limits.retries + 1),
            before_sleep=say,
            retry_error_callback=give_up,
        )
        return retrying(self._ask_all, path)

    def _ask_all(self, path: str) -> tuple[HttpAnswer, str]:
        faults: list[PassingFault] = []
        for address in self._addresses:
            try:
                answer = self._ask(address, path)
            except PassingFault as fault:
                faults.append(fault)
                continue
            if faults:
                self._addresses = (address, *(one for one in self._addresses if one != address))
            return answer, address.url + path
        raise PassingFault("; ".join(dict.fromkeys(map(str, faults))), max(fault.retry_after for fault in faults))

    def _ask(self, address: RegistryAddress, path: str) -> HttpAnswer:
        url = address.url + path
        answer = self._send(address, url)
        if answer.status == 401 and self._authorization.renew():
            answer = self._send(address, url)
        if fault := passing_fault(answer, url):
            raise fault
        if answer.status in (401, 403):
            raise RegistryRefused(self._refusal(address, url, answer))
        if answer.status not in _FORGIVEN:
            raise not_a_registry(answer, url)
        return answer

    def _send(self, address: RegistryAddress, url: str) -> HttpAnswer:
        if self._context is None and url.startswith("https:"):
            self._context = registry_context(self._settings.tls)
        headers = {"Accept": _ACCEPTED, "User-Agent": "floe", **dict(self._settings.headers)}
        headers |= self._authorization.headers(address)
        with mapped_faults(url):
            return self._transport.request(url, headers, self._context)

    def _refusal(self, address: RegistryAddress, url: str, answer: HttpAnswer) -> str:
        key = self._authorization.refused_key(address)
        where = f"Check {self._settings.prefix}{key}" if key else "No credentials are configured for it: set them"
        return (
            f"the schema registry refuses the client: {url} answered {answer.status}, {message_of(answer)}. Nothing was "
            f"announced. {where}"
        )


def _why(state: RetryCallState) -> str:
    return str(state.outcome.exception()) if state.outcome is not None else ""


# What a request carries to identify the client: a login, a token, or a token that OAuth's client credentials get.


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

    def headers(self, address: RegistryAddress) -> dict[str, str]:
        """Return the headers for one address. A token is fetched if need be: raises as ``OAuthToken.get``."""
        if self._token is not None:
            return {"Authorization": f"Bearer {self._token.get()}"}
        if isinstance(self._given, RegistryToken):
            return {"Authorization": f"Bearer {self._given.token}"}
        login = self._given if isinstance(self._given, RegistryLogin) else address.login
        return {"Authorization": _basic(login.user, login.password)} if login else {}

    def renew(self) -> bool:
        """Give up a token that was refused; whether there will be another."""
        if self._token is not None:
            self._token.drop()
        return self._token is not None

    def refused_key(self, address: RegistryAddress) -> str:
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


# Reading answers: which faults may pass, what is JSON, and how an answer is quoted in a message.


MAY_PASS: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
"""The statuses after which the same request may succeed."""

_QUOTED_BYTES = 200
_SHOWN_CHARACTERS = 300


class PassingFault(Exception):
    """A fault that may pass. ``retry_after``: the seconds that the server asks to wait, 0 if it does not say."""

    def __init__(self, why: str, retry_after: float = 0.0) -> None:
        super().__init__(why)
        self.retry_after = retry_after


@contextmanager
def mapped_faults(url: str) -> Iterator[None]:
    """Raise PassingFault where there was no answer, and RegistryMisconfigured where TLS can never succeed."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        msg = (
            f"the certificate of {url} is not trusted: {error.verify_message}. Give its certificate authority by the "
            "truststore option (PEM), or correct the address"
        )
        raise RegistryMisconfigured(msg) from None
    except (ssl.SSLEOFError, ssl.SSLSyscallError) as error:  # the server ended during the handshake
        msg = f"{url} closed the connection: {error.reason or error}"
        raise PassingFault(msg) from None
    except ssl.SSLError as error:
        msg = f"TLS with {url} failed: {error.reason or error}. Check the address, and the client's certificate and key"
        raise RegistryMisconfigured(msg) from None
    except TimeoutError as error:
        msg = f"{url} did not answer in time{f': {error}' if error.args else ''}"
        raise PassingFault(msg) from None
    except (http.client.InvalidURL, UnicodeError) as error:
        msg = f"{url} is no address: {error}"
        raise RegistryMisconfigured(msg) from None
    except http.client.BadStatusLine as error:
        if isinstance(error, http.client.RemoteDisconnected):
            msg = f"{url} closed the connection without an answer"
            raise PassingFault(msg) from None
        beginning = excerpt(str(error.args[0]).encode())
        msg = f"{url} does not answer in HTTP, but with {beginning}. Nothing was announced. Check http or https, and the port"
        raise NotARegistry(msg) from None
    except (OSError, http.client.HTTPException) as error:
        msg = f"{url} did not answer: {_reason(error)}"
        raise PassingFault(msg) from None


def passing_fault(answer: HttpAnswer, url: str) -> PassingFault | None:
    """Return the fault of an answer that asks to try again."""
    if answer.status not in MAY_PASS:
        return None
    wait = answer.headers.get("retry-after", "").strip()
    seconds = float(wait) if wait.isdecimal() and len(wait) < 6 else 0.0
    return PassingFault(f"{url} answered {answer.status}: {message_of(answer)}", seconds)


def parsed_json(answer: HttpAnswer, url: str) -> Any:
    """Return the JSON of an answer. Raises NotARegistry."""
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise not_a_registry(answer, url) from None


def not_a_registry(answer: HttpAnswer, url: str) -> NotARegistry:
    """Return the error for an answer that a registry would not give, with the answer's beginning."""
    kind = answer.headers.get("content-type", "no content type")[:_QUOTED_BYTES]
    return NotARegistry(
        f"{url} gave an answer that is not one of a schema registry: status {answer.status}, {clip(kind, 100)}, "
        f"beginning with {excerpt(answer.body)}. Nothing was announced. Check the address"
    )


def excerpt(body: bytes) -> str:
    """Return the beginning of an answer for a message: on one line, without secrets."""
    text = clip(body[: 4 * _QUOTED_BYTES].decode("utf-8", errors="replace"), 4 * _QUOTED_BYTES)
    return repr(text[:_QUOTED_BYTES]) if text else "nothing"


def message_of(answer: HttpAnswer) -> str:
    """Return what an error's answer says."""
    try:
        found = json.loads(answer.body)
        message = found.get("message") or found.get("title") or found.get("error_description") or found.get("error")
    except (ValueError, AttributeError, RecursionError):
        message = None
    return clip(message, _SHOWN_CHARACTERS) if isinstance(message, str) and message else excerpt(answer.body)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return clip(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, _SHOWN_CHARACTERS)
