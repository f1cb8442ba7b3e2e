"""Logins to a REST catalog by the keys of Java's: none, basic, a token, OAuth2 client credentials, Google."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final
from urllib.parse import urljoin

from pyiceberg.catalog.rest.auth import AuthManager, AuthManagerFactory, BasicAuthManager, NoopAuthManager
from pyiceberg.exceptions import UnauthorizedError
from requests import PreparedRequest, Response
from requests.auth import AuthBase

from floe.catalogs.exceptions import CatalogMisconfigured
from floe.catalogs.providers.rest.transport import (
    AnswerRefused,
    CatalogSession,
    TimedAdapter,
    TransportLimits,
    origin_of,
)
from floe.config.catalogs.rest import AUTH_TYPE, DELEGATE, SIGNED, auth_type
from floe.config.secrets.mask import learn
from floe.http_answers import seconds_of

log = logging.getLogger(__name__)

TABLE_TOKEN: ContextVar[str] = ContextVar("floe_table_token", default="")
"""The token that the catalog gave for the table of the request under way: it counts over the catalog's login."""

_HOUR: Final = 3600.0
_MARGIN: Final = 60.0
_UNSENDABLE: Final = re.compile(r"[^\x21-\x7e]")
_PARAMETERS: Final = ("audience", "resource")
_REFUSALS: Final = (400, 401, 403)


@dataclass(frozen=True)
class CatalogLogin:
    """What a login needs. ``kind``: of ``rest.auth.type``; ``options``: what else it reads."""

    kind: str
    address: str
    options: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, settings: Mapping[str, Any], address: str) -> CatalogLogin:
        """Read the keys of a login; ``address``: the catalog's. Raises ValueError for values that mean none."""
        kind = auth_type(str(settings[AUTH_TYPE])) if settings.get(AUTH_TYPE) else ""
        if kind == "sigv4":
            kind = auth_type(str(settings[DELEGATE])) if settings.get(DELEGATE) else ""
            if kind == "sigv4":
                msg = f"{DELEGATE} sigv4: set none, basic, oauth2 or google"
                raise ValueError(msg)
        elif kind == "oauth2" and not has_token(settings):
            msg = f"{AUTH_TYPE} oauth2 needs credential or token: set one"
            raise ValueError(msg)
        if kind in ("", "oauth2"):
            kind = "oauth2" if has_token(settings) else "none"
        return cls(kind, address, tuple((key, str(settings[key])) for key in _OPTIONS if key in settings))


_OPTIONS: Final = (
    *("token", "credential", "oauth2-server-uri", "scope", *_PARAMETERS),
    *("token-refresh-enabled", "token-expires-in-ms", "rest.auth.basic.username", "rest.auth.basic.password"),
    *("gcp.auth.credentials-path", "gcp.auth.scopes"),
)


def has_token(settings: Mapping[str, Any]) -> bool:
    """Say whether settings have what a login by OAuth2 needs."""
    return bool(settings.get("credential") or settings.get("token"))


def is_signed(settings: Mapping[str, Any]) -> bool:
    """Say whether requests are signed as AWS demands."""
    kind = settings.get(AUTH_TYPE)
    return str(settings.get(SIGNED, "")).strip().lower() == "true" or (bool(kind) and auth_type(str(kind)) == "sigv4")


def manager_of(login: CatalogLogin, limits: TransportLimits, headers: Mapping[str, str]) -> AuthManager:
    """Return what gives the header of a login. ``headers``: of a login at the catalog's own address.

    Nothing is sent before the first request. Raises ValueError for settings that lack something.
    """
    options = dict(login.options)
    match login.kind:
        case "none":
            return NoopAuthManager()
        case "basic":
            names = ("rest.auth.basic.username", "rest.auth.basic.password")
            if missing := [name for name in names if not options.get(name)]:
                msg = f"{AUTH_TYPE} basic needs {' and '.join(missing)}"
                raise ValueError(msg)
            return BasicAuthManager(*(options[name] for name in names))
        case "google":
            scopes = [one.strip() for one in options.get("gcp.auth.scopes", "").split(",") if one.strip()]
            given = {"credentials_path": options.get("gcp.auth.credentials-path"), "scopes": scopes or None}
            return AuthManagerFactory.create("google", {key: value for key, value in given.items() if value})
    if credential := options.get("credential"):
        return ClientLogin(credential, login, limits, headers)
    return CatalogToken(options["token"])


class CatalogToken(AuthManager):
    """A token of the configuration: a personal access token, or one that another process renews."""

    def __init__(self, token: str) -> None:
        self._token = sendable(token, "token of iceberg.catalog.*")

    def auth_header(self) -> str:
        """Return the header."""
        return f"Bearer {self._token}"


class ClientLogin(AuthManager):
    """OAuth2 client credentials: a token is fetched at the first request, before it expires, and after a 401."""

    def __init__(
        self, credential: str, login: CatalogLogin, limits: TransportLimits, headers: Mapping[str, str]
    ) -> None:
        options = dict(login.options)
        base = login.address if login.address.endswith("/") else f"{login.address}/"
        self.address = urljoin(base, options.get("oauth2-server-uri") or "v1/oauth/tokens")
        client_id, colon, secret = credential.partition(":")
        form = {
            "grant_type": "client_credentials",
            "client_id": client_id if colon else "",
            "client_secret": secret if colon else credential,
            "scope": options.get("scope") or "catalog",
            **{name: options.get(name, "") for name in _PARAMETERS},
        }
        learn({"client_secret": form["client_secret"]})
        self._form = {key: value for key, value in form.items() if value}
        self._headers = dict(headers) if origin_of(self.address) == origin_of(login.address) else {}
        self._limits = limits
        self._may_renew = options.get("token-refresh-enabled", "true").strip().lower() != "false"
        # the catalog's /v1/config may say it, too
        self._lifetime = seconds_of(options.get("token-expires-in-ms"), _HOUR * 1000) / 1000
        self._lock = threading.Lock()
        self._sent = threading.local()
        self._token = ""
        self._renewed_at = 0.0

    def auth_header(self) -> str:
        """Return the header, with a new token if the present one is about to expire."""
        with self._lock:
            if not self._token or (self._may_renew and monotonic() >= self._renewed_at):
                self._fetch()
            self._sent.token = self._token
            return f"Bearer {self._token}"

    def renew(self) -> None:
        """Fetch a new token after a 401, unless another thread did since this one sent its own."""
        with self._lock:
            if self._may_renew and getattr(self._sent, "token", "") == self._token:
                self._fetch()

    def _fetch(self) -> None:
        with CatalogSession(self._limits, changes_nothing=True) as session:
            session.headers.update(self._headers)
            session.headers["Accept"] = "application/json"
            session.auth = _as_it_is  # a .netrc has no say
            answer = session.post(self.address, data=self._form)
        document = self._read(answer)
        token = document.get("access_token")
        if not isinstance(token, str) or not token:
            msg = f"the login at {origin_of(self.address)} answers without an access_token: is it the right address?"
            raise AnswerRefused(msg)
        learn({"access_token": token})
        self._token = sendable(token, f"token of the login at {origin_of(self.address)}")
        lifetime = seconds_of(document.get("expires_in"), self._lifetime)
        self._renewed_at = monotonic() + max(lifetime - _MARGIN, lifetime * 0.75)
        log.debug("logged in at %s: the token is for %.0f s", origin_of(self.address), lifetime)

    def _read(self, answer: Response) -> Mapping[str, Any]:
        where = origin_of(self.address)
        try:
            document = answer.json()
        except ValueError:
            document = None
        document = document if isinstance(document, dict) else {}
        if answer.status_code >= 400:
            error = document.get("error") or {}
            said = f"{error.get('type')}: {error.get('message')}" if error else f"HTTP {answer.status_code}"
            if answer.status_code in _REFUSALS:
                msg = f"the login at {where} refuses iceberg.catalog.credential ({said})"
                raise UnauthorizedError(msg)
            msg = f"the login at {where} answers {answer.status_code} ({said})"
            raise AnswerRefused(msg) if answer.status_code < 500 else LoginUnavailable(msg)
        return document


class LoginUnavailable(ConnectionError):
    """The server of the login fails; it may answer later."""


class CatalogAuth(AuthBase):
    """Puts the login's header on each request of a session."""

    def __init__(self, manager: AuthManager) -> None:
        self.auth_manager = manager

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Set the header; a token that the catalog gave for a table counts first."""
        token = TABLE_TOKEN.get()
        if header := f"Bearer {token}" if token else self.auth_manager.auth_header():
            request.headers["Authorization"] = header
        return request


def sendable(token: str, what: str) -> str:
    """Return a token. Raises AnswerRefused for characters that no header has; the token is not quoted."""
    if _UNSENDABLE.search(token):
        msg = f"the {what} has a blank, a line break or another character that no header may have. Nothing was sent"
        raise AnswerRefused(msg)
    return token


def _as_it_is(request: PreparedRequest) -> PreparedRequest:
    return request


# AWS Signature Version 4 on requests to a REST catalog: Glue, S3 Tables, an API gateway. By AWS' own library,
# botocore.


_SIGNED: Final = frozenset({"content-type", "x-amz-content-sha256"})
_KEYS: Final = (
    ("rest.access-key-id", "rest.secret-access-key", "rest.session-token"),
    ("client.access-key-id", "client.secret-access-key", "client.session-token"),
)
_LOGIN: Final = "Authorization"
_NONE: Final = "there are no credentials of AWS"
_MOVED: Final = "Original-Authorization"


class SignatureAdapter(TimedAdapter):
    """Signs each request before it is sent, with credentials of the settings or of the environment."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Check the settings. Raises ImportError without botocore, ValueError without a region or half a key."""
        super().__init__()
        try:
            from botocore.session import Session
        except ImportError as error:
            msg = "rest.auth.type sigv4 needs the package boto3: install airflow-provider-floe[aws]"
            raise ImportError(msg) from error
        session = Session()
        region = (
            settings.get("rest.signing-region")
            or settings.get("client.region")
            or session.get_config_variable("region")
        )
        if not region:
            msg = "rest.auth.type sigv4 needs rest.signing-region, such as us-east-1: set it"
            raise ValueError(msg)
        self._region, self._service = str(region), str(settings.get("rest.signing-name") or "execute-api")
        if keys := _keys(settings):
            session.set_credentials(*keys)
        self._session = session

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """Sign and send. Raises CatalogMisconfigured if there are no credentials."""
        self._sign(request)
        return super().send(request, *args, **kwargs)

    def _sign(self, request: PreparedRequest) -> None:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError

        if login := request.headers.pop(_LOGIN, None):
            request.headers[_MOVED] = login
        signed = {name: value for name, value in request.headers.items() if name.lower() in _SIGNED}
        unsent = AWSRequest(method=request.method, url=request.url, data=request.body, headers=signed)
        try:
            # those of a role are renewed here
            credentials = self._session.get_credentials()
            frozen = credentials.get_frozen_credentials() if credentials else None
        except BotoCoreError as error:
            raise _unsigned(type(error).__name__, str(error)) from None
        if frozen is None:
            raise _unsigned(_NONE)
        auth = SigV4Auth(frozen, self._service, self._region)
        unsent.headers["X-Amz-Content-SHA256"] = auth.payload(unsent)
        auth.add_auth(unsent)
        request.headers.update(dict(unsent.headers.items()))


def _unsigned(what: str, why: str = "") -> CatalogMisconfigured:
    msg = (
        f"a request to the catalog cannot be signed: {what} {why[:300]}. Set rest.access-key-id and rest.secret-access-key, "
        "or give Airflow's and Spark's workers credentials. Nothing was sent"
    )
    return CatalogMisconfigured(msg, code="FLOE-420")


def _keys(settings: Mapping[str, Any]) -> tuple[str, str, str | None] | None:
    for key, secret, session in _KEYS:
        given = settings.get(key), settings.get(secret)
        if all(given):
            return str(given[0]), str(given[1]), str(settings[session]) if settings.get(session) else None
        if any(given):
            msg = f"{key} and {secret}: set both, or none"
            raise ValueError(msg)
    return None
