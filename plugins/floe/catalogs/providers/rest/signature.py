"""AWS Signature Version 4 on requests to a REST catalog: Glue, S3 Tables, an API gateway. By AWS' own library, botocore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from requests import PreparedRequest, Response

from floe.catalogs.exceptions import CatalogMisconfigured
from floe.catalogs.providers.rest.transport import TimedAdapter

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
