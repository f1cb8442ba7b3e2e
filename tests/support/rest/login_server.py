"""An OAuth2 server for client credentials, on a port of its own, written from RFC 6749; tests end its tokens."""

from __future__ import annotations

import secrets
import time
from urllib.parse import parse_qs

from tests.support.registry.double import Double, Reply, Request, as_json

CLIENT_ID, CLIENT_SECRET, SCOPE = "floe-principal", "s3cr3t:with=colon&more", "all-apis"


class LoginServer:
    """Gives tokens; ``lifetime``: of new ones, in seconds. ``named``: whether answers name it."""

    def __init__(self) -> None:
        self.lifetime = 3600.0
        self.is_lifetime_named = True
        self.replies: list[Reply] = []
        """Given first, one each."""
        self.refusals: list[str] = []
        self._valid: dict[str, float] = {}
        self._server = Double(self._answer)

    @property
    def address(self) -> str:
        return f"{self._server.url}/oidc/v1/token"

    @property
    def logins(self) -> list[Request]:
        return self._server.requests

    def is_valid(self, token: str) -> bool:
        return self._valid.get(token, 0) > time.monotonic()

    def has_expired(self, token: str) -> bool:
        return token in self._valid and not self.is_valid(token)

    def expire_all(self) -> None:
        """End all tokens now, as a server does that lost its sessions."""
        self._valid = dict.fromkeys(self._valid, 0.0)

    def close(self) -> None:
        self._server.close()

    def _answer(self, request: Request) -> Reply:
        if self.replies:
            return self.replies.pop(0)
        if problem := self._problem(request):
            self.refusals.append(problem)
            return as_json({"error": problem, "error_description": f"refused: {problem}"}, 401)
        token = f"tok-{secrets.token_urlsafe(24)}"
        self._valid[token] = time.monotonic() + self.lifetime
        answer = {"access_token": token, "token_type": "Bearer", "not_in_the_specification": [1]}
        return as_json({**answer, **({"expires_in": int(self.lifetime)} if self.is_lifetime_named else {})})

    def _problem(self, request: Request) -> str:
        form = {name: values[0] for name, values in parse_qs(request.body.decode(), strict_parsing=True).items()}
        if request.method != "POST" or request.path != "/oidc/v1/token":
            return "invalid_request"
        if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            return "invalid_request"
        # RFC 6749, 2.3: not more than one way to authenticate in a request
        if "authorization" in request.headers or any(name.startswith("x-of-catalog") for name in request.headers):
            return "invalid_request"
        if form.get("grant_type") != "client_credentials":
            return "unsupported_grant_type"
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return "invalid_client"
        return "" if form.get("scope") == SCOPE else "invalid_scope"
