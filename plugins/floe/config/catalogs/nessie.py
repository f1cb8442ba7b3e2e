"""Nessie, by its Iceberg REST endpoint, in the keys of Java's NessieCatalog."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs.base import (
    PREFIX,
    CatalogKey,
    CatalogType,
    KeyTable,
    by_pyicebergs_names,
    no_effect,
    refused,
    taken,
    translated,
)
from floe.config.connection_fields import ConnectionFields
from floe.config.engine import Engine
from floe.config.secrets.detection import is_reference

AUTH_TYPE: Final = "authentication.type"
TOKEN: Final = "authentication.token"  # noqa: S105 - the name of a key
USERNAME: Final = "authentication.username"
PASSWORD: Final = "authentication.password"  # noqa: S105 - the name of a key
CLIENT_ID: Final = "authentication.oauth2.client-id"
CLIENT_SECRET: Final = "authentication.oauth2.client-secret"  # noqa: S105 - the name of a key
TOKEN_ENDPOINT: Final = "authentication.oauth2.token-endpoint"  # noqa: S105 - the name of a key
GRANT: Final = "authentication.oauth2.grant-type"

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "NONE": (),
    "BEARER": (TOKEN,),
    "BASIC": (USERNAME, PASSWORD),
    "OAUTH2": (CLIENT_ID, CLIENT_SECRET, TOKEN_ENDPOINT),
}
_API: Final = re.compile(r"/api/v[12]/?$")
_ICEBERG: Final = re.compile(r"/iceberg(/[^/]*)?/?$")
_OF_JAVAS_CLIENT: Final = "it is for Java's HTTP client"
_LOGIN: Final = (
    "floe logs in by client credentials only. Remove it, and set authentication.oauth2.client-id, client-secret and "
    "token-endpoint"
)

_KEYS: Final[tuple[CatalogKey, ...]] = (
    taken("uri", "…/api/v1, …/api/v2 or …/iceberg: floe asks the server at …/iceberg"),
    taken("warehouse", "a name or a location of nessie.catalog.warehouses; without it Nessie's default-warehouse"),
    taken("ref", "a branch of Nessie; without it the server's default branch"),
    refused("ref.hash", "at a hash nothing can be written. Remove it; ref names the branch"),
    taken(AUTH_TYPE, "NONE, BEARER, BASIC or OAUTH2; without it no login"),
    translated(TOKEN, "token", "for BEARER"),
    taken(USERNAME, "for BASIC"),
    taken(PASSWORD, "for BASIC"),
    taken(CLIENT_ID, "for OAUTH2; with client-secret it is PyIceberg's credential"),
    taken(CLIENT_SECRET, "for OAUTH2"),
    translated(TOKEN_ENDPOINT, "oauth2-server-uri", "for OAUTH2"),
    translated("authentication.oauth2.client-scopes", "scope", "for OAUTH2"),
    taken(GRANT, "client_credentials only"),
    refused(
        "authentication.oauth2.issuer-url",
        "set authentication.oauth2.token-endpoint to the token_endpoint of <issuer>/.well-known/openid-configuration",
    ),
    refused("authentication.oauth2.*", _LOGIN),
    refused("authentication.aws.*", "set authentication.type BEARER, BASIC or OAUTH2"),
    no_effect("client-api-version", "floe uses Nessie's Iceberg REST endpoint, which has one version"),
    no_effect("cache-enabled", "floe asks the catalog each time"),
    no_effect("cache.*", "floe asks the catalog each time"),
    refused("client-builder-impl", "it names a Java class. Remove it"),
    no_effect("client-builder-name", _OF_JAVAS_CLIENT),
    no_effect("transport.*", _OF_JAVAS_CLIENT),
    no_effect("http-redirects", _OF_JAVAS_CLIENT),
    no_effect("http2-upgrade", _OF_JAVAS_CLIENT),
    no_effect("disable-compression", _OF_JAVAS_CLIENT),
    no_effect("force-url-connection-client", _OF_JAVAS_CLIENT),
    no_effect("enable-api-compatibility-check", _OF_JAVAS_CLIENT),
    no_effect("tracing", _OF_JAVAS_CLIENT),
    refused("ssl.*", "Java's key stores are not read. Set REQUESTS_CA_BUNDLE for Airflow's and Spark's workers"),
)
_TABLE: Final = KeyTable(_KEYS)


def iceberg_address(uri: str, ref: str) -> str:
    """Return the address of the Iceberg REST endpoint, of a branch if ``ref`` is not empty. Raises ValueError."""
    from urllib.parse import quote

    plain = uri.strip()
    if _API.search(plain):
        base = _API.sub("", plain)
    elif _ICEBERG.search(plain):
        found = _ICEBERG.search(plain)
        in_address = (found[1] or "").strip("/") if found else ""
        if in_address and ref and in_address != quote(ref, safe=""):
            msg = f"uri has the branch {in_address[:100]!r} and ref says {ref[:100]!r}: remove one"
            raise ValueError(msg)
        base = _ICEBERG.sub("", plain)
        if in_address and not ref:
            return f"{base}/iceberg/{in_address}"
    else:
        msg = "uri is no address of Nessie: it ends in /api/v1, /api/v2 or /iceberg"
        raise ValueError(msg)
    return f"{base}/iceberg/{quote(ref, safe='')}" if ref else f"{base}/iceberg"


def _problems(given: Mapping[str, str]) -> Iterator[str]:
    uri, ref = given.get("uri", ""), given.get("ref", "")
    if uri and not is_reference(uri) and not is_reference(ref):
        try:
            iceberg_address(uri, ref)
        except ValueError as error:
            yield f"{PREFIX}{error}"
    if "@" in ref or "|" in ref:
        yield f"{PREFIX}ref {ref[:100]!r}: a branch's name has no '@' and no '|'. Write the name alone"
    kind = given.get(AUTH_TYPE, "NONE").strip().upper()
    if kind not in _NEEDED:
        yield f"{PREFIX}{AUTH_TYPE} {kind[:100]!r} is not supported: set {', '.join(_NEEDED)}"
        return
    yield from (f"{PREFIX}{key} is missing: {AUTH_TYPE} {kind} needs it" for key in _NEEDED[kind] if key not in given)
    optional = (GRANT, "authentication.oauth2.client-scopes") if kind == "OAUTH2" else ()
    for key in sorted({one for needed in _NEEDED.values() for one in needed} | {GRANT}):
        if key in given and key not in (*_NEEDED[kind], *optional):
            yield f"{PREFIX}{key} has no use with {AUTH_TYPE} {kind}: remove it, or set {AUTH_TYPE}"
    grant = given.get(GRANT, "client_credentials")
    if grant != "client_credentials":
        yield f"{PREFIX}{GRANT} {grant[:100]!r} is not supported: set client_credentials"


def _to_pyiceberg(given: Mapping[str, str]) -> dict[str, str]:
    made = {key: value for key, value in given.items() if key not in (CLIENT_ID, CLIENT_SECRET, GRANT)}
    if CLIENT_ID in given:
        made["credential"] = f"{given[CLIENT_ID]}:{given.get(CLIENT_SECRET, '')}"
    return made


def _to_spark(given: Mapping[str, str]) -> dict[str, str]:
    """Return what Java's REST catalog takes, on the endpoint that floe uses. Raises ValueError for another address."""
    made = _to_pyiceberg(by_pyicebergs_names(given, _TABLE))
    made |= {"type": "rest", "uri": iceberg_address(given.get("uri", ""), made.pop("ref", ""))}
    login = made.pop(USERNAME, None), made.pop(PASSWORD, None)
    if made.pop(AUTH_TYPE, "NONE").strip().upper() == "BASIC":
        made["rest.auth.type"] = "basic"
        made |= {
            f"rest.auth.basic.{key}": value for key, value in zip(("username", "password"), login, strict=True) if value
        }
    return made


def _of_nessie(connection: ConnectionFields, known: Mapping[str, str]) -> dict[str, str]:
    made = {"uri": connection.address}
    if connection.password and not connection.login and "authentication.type" not in known:
        made |= {"authentication.type": "BEARER", "authentication.token": connection.password}
    return made


NESSIE: Final = CatalogType(
    "nessie",
    Engine("floe.catalogs.providers.nessie.provider:NessieProvider"),
    conn_types=("iceberg", "http", "https", "generic", ""),
    of_connection=_of_nessie,
    warehouse="name",
    library="rest",
    implementations=("org.apache.iceberg.nessie.NessieCatalog",),
    keys=_KEYS,
    problems=_problems,
    to_pyiceberg=_to_pyiceberg,
    to_spark=_to_spark,
)
