"""PyIceberg's FileIO for Azure's stores: the container and the account are in the location, as Java has it.

PyIceberg's own takes ``container@account.dfs.core.windows.net`` for the name of a container, and knows one SAS token for all
accounts.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from pyarrow.fs import AzureFileSystem, FileSystem
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
)
from pyiceberg.typedef import EMPTY_DICT, Properties

from floe.catalogs.arrow_file_io import ArrowFileIO, check_settings
from floe.catalogs.exceptions import StoreAddressRefused
from floe.config.catalogs.store_address import account_problem, warehouses_account

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
        return AzureFileSystem(**arguments(host.lower(), self.properties))


def arguments(host: str, properties: Properties) -> dict[str, Any]:
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
