"""Logins, and the settings of another place that would send them elsewhere.

A login goes where the place that gives it says, and nowhere else. Who writes a connector may name a catalog or a connection
without knowing its login; an address beside that name must not get it. The rule is the same for all places of settings:
named catalogs, Airflow connections, the worker file, stored secrets, params of a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from floe.config.secrets.detection import is_secret

ADDRESS: Final = re.compile(
    r"""(^|[._-]) (ur[il]s? | servers? | hosts? | hostname | endpoints? | prox(y|ies) | address(es)? | brokers?
        | broker[._-]list | quorum | account[._-](host|name) | issuer | authority ) $""",
    re.IGNORECASE | re.VERBOSE,
)
"""Names of settings with an address; a name of an account at Azure is a part of one."""

_SAFETY: Final = re.compile(
    r"""(^|[._-]) (ports? | proxy[._-].* | realm | tenant[._-]id | scheme | session[._-]kwargs
        | kerberosServerName | gssEncMode | channelBinding | (use|require)?ssl(mode)? | verif(y|ication)
        | verifyServerCertificate | sslrootcert | security[.]protocol | sasl[.]mechanisms? | https[.]ca[.].*
        | sasl[.]jaas[.]config | sasl[.].*handler[.]class | cabundle
        | (ssl|tls)[._-](?!keystore|key[._-]|certificate|client).*) $""",
    re.IGNORECASE | re.VERBOSE,
)
"""Names of settings of who is trusted with a login, and of how it travels."""

_PLACE: Final = re.compile(r"iceberg\.catalog(\.(type|catalog-impl))?|(key|value)\.converter|.*conn-id", re.IGNORECASE)
"""Keys of connectors that say by a name where a login goes: a catalog's, a connection's, that of a class of converters."""

_SAFE: Final[Mapping[str, tuple[str, ...]]] = {
    "jdbc.sslmode": ("verify-full",),
    "jdbc.sslMode": ("verify_identity",),
    "adls.blob-storage-scheme": ("https",),
    "adls.dfs-storage-scheme": ("https",),
    **dict.fromkeys(("jdbc.ssl", "jdbc.useSSL", "jdbc.requireSSL", "jdbc.verifyServerCertificate"), ("true",)),
}
_IDENTITY: Final = re.compile(
    r"""(^|[._-]) (user(name)? | ugi | client[._-]id | access[._-]key[._-]id | profile[._-]name | role[._-]arn
        | service[._-]account | auth(entication)?([.-]type)?) $""",
    re.IGNORECASE | re.VERBOSE,
)
"""Names of what is a login, or whose, without a secret: of an identity that the process has anyway."""

_AWS: Final = "aws"
_CATALOG: Final = "catalog"
_STORES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("s3", "glue", "client"), _AWS),
    **{name: name for name in ("adls", "gcs", "hf", "hdfs")},
}
_CATALOGS_URI: Final = "uri"
_WAREHOUSE: Final = "warehouse"
_AZURE: Final = "adls"
_ACCOUNT: Final = "adls.account-name"
_AZURE_LOCATION: Final = re.compile(r"(abfs|wasb)s?://([^/?#@]*@(?P<host>[^/?#@]+))?", re.IGNORECASE)

_ORIGIN: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#@]*@)?([^/?#@:\[\]]+|\[[^\[\]/?#@]*\])(:\d+)?", re.IGNORECASE)
_PORTS: Final = {"http": ":80", "https": ":443"}

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class StrayLogin:
    """A login of the lower place, and the settings of the upper one that would send it elsewhere.

    ``is_replaced``: the upper place gives a login beside them, so the lower one is not needed.
    """

    logins: tuple[str, ...]
    settings: tuple[str, ...]
    is_replaced: bool

    def problem(self, below: str, above: Callable[[str], str], remedy: str) -> str:
        """Return what is wrong and what to do. ``below``: the place of the login; ``above``: names a setting for people."""
        return (
            f"{_listed(map(above, self.settings))} would send the login of {below} ({_listed(self.logins)}) elsewhere than "
            f"that says. Nothing was sent. Remove it, give a login beside it, or {remedy}"
        )


def redirecting(
    below: Settings,
    above: Settings,
    is_redirect: Callable[[str, object], bool],
    safe: Mapping[str, tuple[str, ...]],
) -> list[str]:
    """Return the settings of the upper place that say where a login goes and who is trusted with it, otherwise than below.

    ``safe``: values that no login suffers from, in lower case.
    """
    changed = (name for name, value in above.items() if plain(value) != plain(below.get(name)))
    return [
        name
        for name in changed
        if is_redirect(name, above[name]) and plain(above[name]).lower() not in safe.get(name, ())
    ]


def stray_login(below: Settings, above: Settings, group_of: Callable[[str], str]) -> StrayLogin | None:
    """Return the login of the lower place that the upper one would send elsewhere; None if there is none.

    ``group_of``: what a setting is about, as the catalog or a store: a login is for the addresses of its group.
    """
    found = redirecting(below, above, is_redirect, _SAFE)
    found = [name for name in found if not (name == _WAREHOUSE and _is_own_account(above[name], below))]
    if not found:
        return None
    groups = {_AZURE if name == _WAREHOUSE else group_of(name) for name in found}
    has_other_catalog = _CATALOGS_URI in found and bool(plain(below.get(_CATALOGS_URI)))
    logins = tuple(
        name
        for name, value in below.items()
        if name not in above and is_login(name, value) and (has_other_catalog or group_of(name) in groups)
    )
    if not logins:
        return None
    own = {group_of(name) for name, value in above.items() if is_login(name, value)}
    used = {group_of(name) for name in logins}
    is_cause = tuple(
        name
        for name in found
        if group_of(name) in used or name == _WAREHOUSE or (name == _CATALOGS_URI and has_other_catalog)
    )
    return StrayLogin(logins, is_cause, used <= own)


def is_redirect(name: str, value: object = "") -> bool:
    """Whether a setting says where a login goes, or who is trusted with it. Azure's locations have a host."""
    is_azure = name.endswith(_WAREHOUSE) and bool(_AZURE_LOCATION.match(plain(value)))
    return is_azure or bool(ADDRESS.search(name) or _SAFETY.search(name))


def directs_login(key: str, value: object = "") -> bool:
    """Whether a key of a connector says where a login goes, by an address or by the name of a place."""
    return is_redirect(key, value) or bool(_PLACE.fullmatch(key))


def is_login(name: str, value: object) -> bool:
    """Whether a setting is a part of a login: a secret, a user, an address with a login in it."""
    text = plain(value)
    return text.lower() not in ("", "true", "false", "none") and (is_secret(name, text) or bool(_IDENTITY.search(name)))


def group_in_catalog(name: str) -> str:
    """Return what a property of a catalog is about: the catalog, or a store. S3 and Glue share logins."""
    return _STORES.get(name.partition(".")[0], _CATALOG)


def plain(value: object) -> str:
    """Return a value as it is compared: without what makes no other address of it, as the case of a host."""
    text = "" if value is None else str(value).strip().rstrip("/")
    found = _ORIGIN.match(text) if text.isascii() else None
    if found is None:
        return text
    scheme, login, host, port = (part or "" for part in found.groups())
    scheme, port = scheme.lower(), "" if port == _PORTS.get(scheme.lower()) else port
    return f"{scheme}://{login}{host.lower()}{port}{text[found.end() :]}"


def _azure_host(location: object) -> str:
    found = _AZURE_LOCATION.match(plain(location))
    return (found["host"] or "").lower() if found else ""


def _is_own_account(location: object, below: Settings) -> bool:
    """Whether a location is at the account of Azure's that a place names beside its login."""
    host, owner = _azure_host(location), plain(below.get(_ACCOUNT))
    own = (_azure_host(below.get(_WAREHOUSE)), owner and f"{owner}.dfs.core.windows.net")
    return bool(host) and host in own


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))[:500]
