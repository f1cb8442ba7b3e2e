"""PyIceberg's FileIO for Google's store, with the logins that Java's has: a token without an end, another's, none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from pyarrow.fs import FileSystem, GcsFileSystem
from pyiceberg.io import GCS_DEFAULT_LOCATION, GCS_SERVICE_HOST, GCS_TOKEN, GCS_TOKEN_EXPIRES_AT_MS
from pyiceberg.typedef import Properties

from floe.catalogs.arrow_file_io import ArrowFileIO, check_settings

NO_LOGIN: Final = "gcs.no-auth"
IMPERSONATED: Final = "gcs.impersonate.service-account"
"""Keys of Java's GCSFileIO, by its names."""

RETRY_SECONDS: Final = 120
"""How long Arrow's client repeats a request that fails; its own default is a quarter of an hour."""

_NO_END: Final = datetime(9999, 1, 1, tzinfo=UTC)
_MAX_DIGITS: Final = 15
"""Of milliseconds since 1970 before the year 5138, which datetime can tell."""


class GcsFileIO(ArrowFileIO):
    """Reads and writes by Arrow's client; credentials of the process are taken where none are given."""

    def file_system(self, _: str, netloc: str | None = None) -> FileSystem:
        """Return Arrow's file system, one for all buckets. Raises ValueError."""
        return GcsFileSystem(**arguments(self.properties))


def arguments(properties: Properties) -> dict[str, Any]:
    """Return the arguments of Arrow's file system. Raises ValueError."""
    made: dict[str, Any] = {"retry_time_limit": timedelta(seconds=RETRY_SECONDS), **_login(properties)}
    if location := properties.get(GCS_DEFAULT_LOCATION):
        made["default_bucket_location"] = location
    check_settings(properties)
    if address := properties.get(GCS_SERVICE_HOST):
        parts = urlsplit(str(address))
        if not parts.scheme or not parts.netloc:
            message = (
                f"{GCS_SERVICE_HOST} is {str(address)[:200]!r}: it needs a scheme and a host, such as https://host"
            )
            raise ValueError(message)
        made |= {"scheme": parts.scheme, "endpoint_override": parts.netloc}
    return made


def _login(properties: Properties) -> dict[str, Any]:
    if str(properties.get(NO_LOGIN, "")).strip().lower() == "true":
        return {"anonymous": True}
    login: dict[str, Any] = {}
    if token := properties.get(GCS_TOKEN):
        login = {"access_token": str(token), "credential_token_expiration": _end(properties)}
    elif account := properties.get(IMPERSONATED):
        login = {"target_service_account": str(account)}
    return login


def _end(properties: Properties) -> datetime:
    """Return when the token expires, which a catalog's answer may say. Raises ValueError."""
    given = str(properties.get(GCS_TOKEN_EXPIRES_AT_MS) or "")
    if not given:
        return _NO_END
    if not (given.isascii() and given.isdecimal() and len(given) < _MAX_DIGITS):
        message = f"{GCS_TOKEN_EXPIRES_AT_MS} is {given[:40]!r}: it needs milliseconds since 1970"
        raise ValueError(message)
    return min(datetime.fromtimestamp(int(given) / 1000, UTC), _NO_END)
