"""Locations of stores, and the keys whose values become a part of an address: what is a host, a bucket, a region, a port.

A store's client makes addresses of names. A name with a slash, an ``@`` or a port in it leads the login elsewhere, and
Arrow's client for Azure ends the process at a port that is none. So names are checked before any client sees them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

AZURE: Final = ("abfs", "abfss", "wasb", "wasbs")
_GOOGLE: Final = ("gs", "gcs")
_S3: Final = ("s3", "s3a", "s3n", "oss")
_HADOOP: Final = ("hdfs", "viewfs")

_LABEL: Final = r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_HOST: Final = rf"{_LABEL}(\.{_LABEL}){{0,20}}"
_PORT: Final = r"0*([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])"
_HOST_AND_PORT: Final = re.compile(rf"({_HOST}|\[[0-9A-Fa-f:.]{{2,45}}\])(:{_PORT})?")
_AUTHORITY: Final = re.compile(rf"\.?{_HOST}(:{_PORT})?")
_ACCOUNT: Final = re.compile(r"[a-z0-9]{3,24}")
_AZURE_PLACE: Final = re.compile(rf"[A-Za-z0-9$][A-Za-z0-9$_.-]{{0,62}}(@{_HOST})?")
_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,221}")
_REGION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_SCHEME: Final = re.compile("https?")

_REGIONS: Final = ("s3.region", "client.region", "glue.region", "rest.signing-region")
_URLS: Final = ("s3.endpoint", "s3.proxy-uri", "gcs.service.host", "glue.endpoint")
_AUTHORITIES: Final = ("adls.blob-storage-authority", "adls.dfs-storage-authority")
_SCHEMES: Final = ("adls.blob-storage-scheme", "adls.dfs-storage-scheme")
_TEXTS: Final = {
    "hdfs.host": (re.compile(rf"((hdfs|viewfs)://)?{_HOST}"), "host"),
    "hdfs.port": (re.compile(_PORT), "port"),
    "adls.tenant-id": (re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,254}"), "tenant: its id or its domain"),
}
PARTS: Final = frozenset(("adls.account-name", *_REGIONS, *_URLS, *_AUTHORITIES, *_SCHEMES, *_TEXTS))
"""Keys whose values become a part of an address."""

_SHOWN: Final = 100


def account_problem(account: str) -> str | None:
    """Return why a text is no account of Azure's storage; None if it may be one."""
    if _ACCOUNT.fullmatch(account):
        return None
    return (
        f"{account[:_SHOWN]!r} is no account of Azure's storage, which has 3 to 24 of the characters a to z and 0 to 9"
    )


def place_problem(scheme: str, place: str) -> str | None:
    """Return why what stands between ``scheme://`` and the path is no place of a store; None if it may be one."""
    rule, what = _PLACES.get(scheme, (None, ""))
    if rule is None or rule.fullmatch(place) or (not place and scheme in _HADOOP):
        return None
    login, at, host = place.rpartition("@")
    shown = f"…@{host}" if at and (scheme not in AZURE or ":" in login) else place
    return f"{shown[:_SHOWN]!r} is no {what}"


_PLACES: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    **dict.fromkeys(AZURE, (_AZURE_PLACE, "container@account.dfs.core.windows.net; a host has no port here")),
    **dict.fromkeys(_GOOGLE, (_BUCKET, "bucket's name")),
    **dict.fromkeys(_S3, (_BUCKET, "bucket's name; name an access point by its alias")),
    **dict.fromkeys(_HADOOP, (_HOST_AND_PORT, "host, or host:port")),
}


def location_problem(location: str) -> str | None:
    """Return why a location is no address of a store; None if it may be one, or has no scheme of a store."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return "it is no address"  # it may have a login
    return place_problem(parts.scheme.lower(), parts.netloc)


def warehouses_account(settings: Mapping[str, object]) -> str:
    """Return the account at Azure that a catalog's warehouse is in; empty if its address has none, or is a name."""
    parts = urlsplit(str(settings.get("warehouse") or ""))
    return parts.netloc.partition("@")[2].partition(".")[0].lower() if parts.scheme in AZURE else ""


def ownerless_login(settings: Mapping[str, object]) -> str | None:
    """Return the login of one account at Azure whose account a process' own settings do not say; None without one.

    The locations of tables are the catalog's to say: it could have the login sent to an account of its own.
    """
    if settings.get("adls.account-name") or warehouses_account(settings):
        return None
    return next((key for key in ("adls.sas-token", "adls.account-key") if settings.get(key)), None)


def setting_problems(settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield keys whose values become a part of an address and are none, and why."""
    for key, value in settings.items():
        if value in (None, "") or not isinstance(value, str):
            continue
        if (problem := _setting_problem(key, value)) is not None:
            yield key, problem


def _setting_problem(key: str, value: str) -> str | None:
    if key == "adls.account-name":
        return account_problem(value)
    if key in _REGIONS:
        return None if _REGION.fullmatch(value) else f"{value[:_SHOWN]!r} is no region"
    if key in _TEXTS:
        rule, what = _TEXTS[key]
        return None if rule.fullmatch(value) else f"{value[:_SHOWN]!r} is no {what}"
    if key in _AUTHORITIES:
        return None if _AUTHORITY.fullmatch(value) else f"{value[:_SHOWN]!r} is no host, or host:port"
    if key in _SCHEMES:
        return None if _SCHEME.fullmatch(value) else f"{value[:_SHOWN]!r} is neither http nor https"
    return _url_problem(value) if key in _URLS else None


def _url_problem(value: str) -> str | None:
    """Return why a text is no ``scheme://host:port``, with a path or without. A login in it is not told."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return "it is no address"
    place = parts.netloc.rpartition("@")[2] if "://" in value else value.partition("/")[0]
    return None if _HOST_AND_PORT.fullmatch(place) else f"{place[:_SHOWN]!r} is no host, or host:port"
