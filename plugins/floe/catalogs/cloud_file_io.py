"""FileIOs for Azure and Google Cloud: one file system of Arrow for each place, none of which goes to a worker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from pyarrow.fs import AzureFileSystem, FileSystem, GcsFileSystem
from pyiceberg.io import (
    ADLS_ACCOUNT_KEY,
    ADLS_ACCOUNT_NAME,
    ADLS_BLOB_STORAGE_AUTHORITY,
    ADLS_BLOB_STORAGE_SCHEME,
    ADLS_CLIENT_ID,
    ADLS_CLIENT_SECRET,
    ADLS_DFS_STORAGE_AUTHORITY,
    ADLS_DFS_STORAGE_SCHEME,
    ADLS_SAS_TOKEN,
    ADLS_TENANT_ID,
    GCS_DEFAULT_LOCATION,
    GCS_SERVICE_HOST,
    GCS_TOKEN,
    GCS_TOKEN_EXPIRES_AT_MS,
)
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import EMPTY_DICT, Properties

from floe.catalogs.exceptions import StoreAddressRefused
from floe.config.catalogs.store_address import account_problem, place_problem, setting_problems, warehouses_account

# What the FileIOs of floe's own share: one file system of Arrow for each place, none of which goes to a worker.


def check_place(scheme: str, place: str) -> None:
    """Check what stands between a location's scheme and its path, before a client sees it. Raises StoreAddressRefused."""
    if problem := place_problem(scheme, place):
        msg = (
            f"the location {scheme}://… is refused: {problem}. Nothing was read or written there. Correct the location"
        )
        raise StoreAddressRefused(msg)


def check_settings(properties: Mapping[str, Any]) -> None:
    """Check properties that become a part of an address. Raises StoreAddressRefused."""
    if found := next(setting_problems(properties), None):
        key, problem = found
        msg = (
            f"{key} is refused: {problem}. Nothing was sent. Correct it in iceberg.catalog.* or PyIceberg's "
            "environment; if the catalog answers with it, there"
        )
        raise StoreAddressRefused(msg)


class ArrowFileIO(PyArrowFileIO):
    """PyIceberg's FileIO with another way to a file system; it goes to Spark's workers without those it has made."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self.fs_by_scheme = lru_cache(self._checked)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.fs_by_scheme = lru_cache(self._checked)

    def _checked(self, scheme: str, netloc: str | None = None) -> FileSystem:
        check_place(scheme, netloc or "")
        return self.file_system(scheme, netloc)

    @abstractmethod
    def file_system(self, _: str, netloc: str | None = None) -> FileSystem:
        """Return the file system of a location's scheme and host. Raises ValueError."""


# PyIceberg's FileIO for Azure's stores: the container and the account are in the location, as Java has it.
#
# PyIceberg's own takes ``container@account.dfs.core.windows.net`` for the name of a container, and knows one SAS
# token for all accounts.


CLOUDS: Final = ("core.windows.net", "core.chinacloudapi.cn", "core.usgovcloudapi.net", "storage.azure.net")
"""Where Azure's accounts are. To another host no credentials are sent, unless the operator or the connector names it."""

_SERVICES: Final = (".dfs.", ".blob.")


class AzureFileIO(ArrowFileIO):
    """Reads and writes by Arrow's client, each account with its own credentials.

    They are the first that there are of: a SAS token of the account (``adls.sas-token.<account>``, with or without the
    rest of its host), ``adls.sas-token``, ``adls.account-key``, ``adls.client-id`` with its secret and tenant, and what
    the process has (environment, managed identity). ``adls.account-name`` says whose the key and the plain token are;
    without it, the warehouse's address does. Where neither does, the catalog vended them, for the table's location.
    """

    @staticmethod
    def parse_location(location: str, properties: Properties = EMPTY_DICT) -> tuple[str, str, str]:
        """Return scheme, ``container@host`` and the path with its container. ``abfs://container/path`` has no host."""
        parts = urlsplit(location)
        container, _, _ = parts.netloc.partition("@")
        return parts.scheme, parts.netloc, f"{container}{parts.path}"

    def file_system(self, _: str, netloc: str | None = None) -> FileSystem:
        """Return Arrow's file system for the host of ``container@host``. Raises ValueError."""
        _, _, host = (netloc or "").partition("@")
        return AzureFileSystem(**azure_arguments(host.lower(), self.properties))


def azure_arguments(host: str, properties: Properties) -> dict[str, Any]:
    """Return the arguments of Arrow's file system for one host. Raises ValueError."""
    named = str(properties.get(ADLS_ACCOUNT_NAME) or "")
    account = host.partition(".")[0] or named
    if not account:
        message = (
            "the location names no account: write container@account.dfs.core.windows.net, or set adls.account-name"
        )
        raise ValueError(message)
    if problem := account_problem(account):
        message = f"no credentials are sent to that account: {problem}"
        raise StoreAddressRefused(message)
    check_settings(properties)
    return {
        "account_name": account,
        **_addresses(host, properties),
        **_credentials(account, host, properties, is_owner=(named or warehouses_account(properties)) in ("", account)),
    }


def _addresses(host: str, properties: Properties) -> dict[str, str]:
    arguments = {
        "blob_storage_authority": properties.get(ADLS_BLOB_STORAGE_AUTHORITY),
        "dfs_storage_authority": properties.get(ADLS_DFS_STORAGE_AUTHORITY),
        "blob_storage_scheme": properties.get(ADLS_BLOB_STORAGE_SCHEME),
        "dfs_storage_scheme": properties.get(ADLS_DFS_STORAGE_SCHEME),
    }
    given = {name: str(value) for name, value in arguments.items() if value}
    if not host or "blob_storage_authority" in given or "dfs_storage_authority" in given:
        return given
    for service in _SERVICES:
        begin, found, cloud = host.partition(service)
        if found and any(cloud == one or cloud.endswith(f".{one}") for one in CLOUDS):
            zone = begin[len(begin.partition(".")[0]) :]
            made = {"blob_storage_authority": f"{zone}.blob.{cloud}", "dfs_storage_authority": f"{zone}.dfs.{cloud}"}
            return {**made, **given}
    message = (
        f"the location is at {host[:200]!r}, which is no host of Azure's storage: credentials are not sent there. Set "
        "adls.blob-storage-authority and adls.dfs-storage-authority if it is right"
    )
    raise ValueError(message)


def _credentials(account: str, host: str, properties: Properties, *, is_owner: bool) -> dict[str, str]:
    tokens = (f"{ADLS_SAS_TOKEN}.{host}", f"{ADLS_SAS_TOKEN}.{account}", *([ADLS_SAS_TOKEN] if is_owner else []))
    for key in tokens:
        if token := properties.get(key):
            return {"sas_token": f"?{str(token).removeprefix('?')}"}  # Arrow adds it to addresses as it is
    if is_owner and (secret := properties.get(ADLS_ACCOUNT_KEY)):
        return {"account_key": str(secret)}
    login = {
        "client_id": properties.get(ADLS_CLIENT_ID),
        "client_secret": properties.get(ADLS_CLIENT_SECRET),
        "tenant_id": properties.get(ADLS_TENANT_ID),
    }
    given = {name: str(value) for name, value in login.items() if value}
    if len(given) < len(login) and given.keys() - {"client_id"}:  # alone it names a managed identity
        missing = ", ".join(f"adls.{name.replace('_', '-')}" for name in login if name not in given)
        message = f"the login of an Entra application is not whole: set {missing} too"
        raise ValueError(message)
    return given


# PyIceberg's FileIO for Google's store, with the logins that Java's has: a token without an end, another's, none.


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
        return GcsFileSystem(**gcs_arguments(self.properties))


def gcs_arguments(properties: Properties) -> dict[str, Any]:
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
