"""A lake behind the strict front, with a login by OAuth2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.catalogs import RestLake
from tests.support.rest.login_server import CLIENT_ID, CLIENT_SECRET, SCOPE, LoginServer
from tests.support.rest.strict_front import ENDPOINTS, Headers, StrictFront

if TYPE_CHECKING:
    from floe.config import Connector

PAT = "dapi0123456789abcdef-personal"


@dataclass
class StrictLake(RestLake):
    """``login``: the keys that a connector logs in with."""

    login: Mapping[str, object] = field(default_factory=dict)
    front: StrictFront = field(init=False)
    logins: LoginServer = field(init=False)
    expired: int = 401
    """The status for a token that was valid: some servers have 419."""
    has_nested_namespaces: bool = False

    def __post_init__(self) -> None:
        assert self.server is not None
        self.logins = LoginServer()
        self.front = StrictFront(self.server.uri, self.server.warehouse, self._admit)
        self.server = self.front  # type: ignore[assignment]  # what the proxy is in front of
        super().__post_init__()

    def connector(self, **over: object) -> Connector:
        start = "iceberg.catalog."
        address = f"{self.proxy.uri}/api/iceberg-rest"
        login = self.login or {
            f"{start}oauth2-server-uri": self.logins.address,
            f"{start}credential": f"{CLIENT_ID}:{CLIENT_SECRET}",
            f"{start}scope": SCOPE,
            f"{start}header.X-Of-Catalog": "alone",
        }
        return super().connector(**{f"{start}uri": address, **login, **over})

    def close(self) -> None:
        """Drop the tables, whatever a test made the server do."""
        self.login, self.front.admit = {}, self._admit
        self.front.faults.clear()
        self.front.endpoints = list(ENDPOINTS)
        self.front.change = lambda _path, _document: None
        super().close()
        self.front.close()
        self.logins.close()

    def _admit(self, _method: str, _path: str, headers: Headers, _body: bytes) -> tuple[int, str]:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not token:
            return 401, "no token"
        if token == PAT or self.logins.is_valid(token):
            return 200, ""
        return (self.expired, "the token expired") if self.logins.has_expired(token) else (401, "unknown token")
