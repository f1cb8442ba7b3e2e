"""AWS Signature Version 4 on requests to a REST catalog: Glue, S3 Tables, an API gateway. By AWS' own library ``awscrt``."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter

from floe.catalogs.exceptions import CatalogMisconfigured

_WITHIN: Final = 30.0
"""Seconds for finding credentials, which may come from another server."""
_SIGNED: Final = frozenset({"host", "content-type", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"})
_KEYS: Final = (
    ("rest.access-key-id", "rest.secret-access-key", "rest.session-token"),
    ("client.access-key-id", "client.secret-access-key", "client.session-token"),
)
_LOGIN: Final = "Authorization"
_MOVED: Final = "Original-Authorization"


class SignatureAdapter(HTTPAdapter):
    """Signs each request before it is sent, with credentials of the settings or of the environment."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Check the settings. Raises ImportError without ``awscrt``, ValueError without a region or half a key."""
        super().__init__()
        try:
            from awscrt import auth
        except ImportError as error:
            msg = "rest.auth.type sigv4 needs the package awscrt: install requirements-aws.txt"
            raise ImportError(msg) from error
        self._region = str(settings.get("rest.signing-region") or settings.get("client.region") or "")
        self._service = str(settings.get("rest.signing-name") or "execute-api")
        if not self._region:
            msg = "rest.auth.type sigv4 needs rest.signing-region, such as us-east-1: set it"
            raise ValueError(msg)
        keys = _keys(settings)
        if keys is None:
            self._credentials = auth.AwsCredentialsProvider.new_default_chain()
        else:
            self._credentials = auth.AwsCredentialsProvider.new_static(*keys)

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """Sign and send. Raises CatalogMisconfigured if there are no credentials."""
        self._sign(request)
        return super().send(request, *args, **kwargs)

    def _sign(self, request: PreparedRequest) -> None:
        from awscrt import auth, exceptions, http

        if login := request.headers.pop(_LOGIN, None):
            request.headers[_MOVED] = login
        address = urlsplit(str(request.url))
        request.headers["Host"] = address.netloc.rpartition("@")[2]
        body = request.body.encode() if isinstance(request.body, str) else request.body
        unsigned = http.HttpRequest(
            str(request.method),
            address.path + (f"?{address.query}" if address.query else ""),
            http.HttpHeaders([(name, _text(value)) for name, value in request.headers.items() if _is_signed(name)]),
            io.BytesIO(body) if isinstance(body, bytes) else None,
        )
        config = auth.AwsSigningConfig(
            credentials_provider=self._credentials,
            region=self._region,
            service=self._service,
            signed_body_header_type=auth.AwsSignedBodyHeaderType.X_AMZ_CONTENT_SHA_256,
        )
        try:
            signed = auth.aws_sign_request(unsigned, config).result(_WITHIN)
        except (exceptions.AwsCrtError, TimeoutError) as error:
            msg = (
                f"a request to the catalog cannot be signed ({type(error).__name__}): there are no credentials of AWS. Set "
                "rest.access-key-id and rest.secret-access-key, or give Airflow's and Spark's workers some. Nothing was sent"
            )
            raise CatalogMisconfigured(msg, code="FLOE-420") from None
        request.headers.update(dict(signed.headers))


def _keys(settings: Mapping[str, Any]) -> tuple[str, str, str | None] | None:
    for key, secret, session in _KEYS:
        given = settings.get(key), settings.get(secret)
        if all(given):
            return str(given[0]), str(given[1]), str(settings[session]) if settings.get(session) else None
        if any(given):
            msg = f"{key} and {secret}: set both, or none"
            raise ValueError(msg)
    return None


def _is_signed(name: str) -> bool:
    return name.lower() in _SIGNED


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
