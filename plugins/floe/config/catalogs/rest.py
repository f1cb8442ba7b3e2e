"""Iceberg's REST catalogs, Unity, Polaris, Lakekeeper, S3 Tables and Glue's REST endpoint among them."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs.base import PREFIX, CatalogKey, CatalogType, no_effect, refused, taken
from floe.config.connection_fields import ConnectionFields
from floe.config.engine import Engine
from floe.config.keys.spelling import spelled_as
from floe.config.secrets.detection import is_reference

AUTH_TYPE: Final = "rest.auth.type"
DELEGATE: Final = "rest.auth.sigv4.delegate-auth-type"
SIGNED: Final = "rest.sigv4-enabled"
DELEGATION: Final = "x-iceberg-access-delegation"
VENDED: Final = "vended-credentials"

AUTH_TYPES: Final[Mapping[str, str]] = {
    "none": "org.apache.iceberg.rest.auth.NoopAuthManager",
    "basic": "org.apache.iceberg.rest.auth.BasicAuthManager",
    "oauth2": "org.apache.iceberg.rest.auth.OAuth2Manager",
    "sigv4": "org.apache.iceberg.aws.RESTSigV4AuthManager",
    "google": "org.apache.iceberg.gcp.auth.GoogleAuthManager",
}
"""Values of ``rest.auth.type``, and Java's classes that mean the same."""

_NUMBERS: Final = (
    "token-expires-in-ms",
    "rest.client.max-retries",
    "rest.client.connection-timeout-ms",
    "rest.client.socket-timeout-ms",
    "rest.client.proxy.port",
)
_FLAGS: Final = (SIGNED, "token-refresh-enabled", "s3.remote-signing-enabled")
_ONE_LINE: Final = ("token", "credential", "scope", "audience", "resource", "header.")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_REMOTE: Final = (
    "floe signs its requests to S3 itself: remote signing is not supported. Remove it, and let the catalog vend credentials, "
    "or set s3.access-key-id and s3.secret-access-key"
)
_NO_CACHE: Final = "floe asks the catalog each time"
_SDK: Final = "it is for the HTTP client of Java's AWS SDK"
_POOL: Final = "a task has one client, with a pool of its own"

_LOGIN: Final = (
    taken("token", "sent as a bearer token: a PAT, or a token that you renew yourself"),
    taken("credential", "client-id:client-secret, for a login by OAuth2; counts over token"),
    taken("oauth2-server-uri", "where the login is; without it, oauth/tokens of the catalog, which is deprecated"),
    taken("scope", "catalog without it; Databricks: all-apis"),
    taken("audience"),
    taken("resource"),
    taken(AUTH_TYPE, "none, basic, oauth2, sigv4, google; without it, what the other keys say"),
    taken("rest.auth.basic.username"),
    taken("rest.auth.basic.password"),
    taken(DELEGATE, "a login beside the signature: none, basic, oauth2, google"),
    taken("gcp.auth.credentials-path", "for google; without it, Google's default credentials"),
    taken("gcp.auth.scopes", "for google, with commas"),
    taken("token-refresh-enabled", "false: one login for each task, none before the token expires or after a 401"),
    taken("token-expires-in-ms", "for tokens of a login that names no expiry; an hour without it"),
    refused(
        "rest.auth.oauth2.*",
        "floe's own login has other names: set credential to client-id:client-secret, oauth2-server-uri to the token's "
        "endpoint, and scope",
    ),
    no_effect("token-exchange-enabled", "floe logs in again with credential, and exchanges no tokens"),
    no_effect("auth.session-timeout-ms", "a task has one session, as long as it runs"),
)
_SIGNATURE: Final = (
    taken(SIGNED, "the same as rest.auth.type sigv4"),
    taken("rest.signing-region"),
    taken("rest.signing-name", "execute-api without it; s3tables, glue"),
    taken("rest.access-key-id", "without it, client.access-key-id, or what the AWS SDK finds in the environment"),
    taken("rest.secret-access-key"),
    taken("rest.session-token"),
)
_CLIENT: Final = (
    taken("rest.client.max-retries", "after 429 and 503, and 502 and 504 of what only reads; 5 without it"),
    taken("rest.client.connection-timeout-ms", "30 s without it"),
    taken("rest.client.socket-timeout-ms", "with the connection's, for an answer as a whole; 5 minutes without it"),
    taken("rest.client.proxy.hostname"),
    taken("rest.client.proxy.port"),
    taken("rest.client.proxy.username"),
    taken("rest.client.proxy.password"),
    refused(
        "rest.client.tls.configurer-impl",
        "it names a Java class. Remove it, and set REQUESTS_CA_BUNDLE for Airflow's and Spark's workers",
    ),
    no_effect("rest.client.user-agent", "PyIceberg sends its own"),
    no_effect("rest.client.max-connections", _POOL),
    no_effect("rest.client.connections-per-route", _POOL),
    no_effect("http-client.*", _SDK),
    no_effect("client.pool.*", _POOL),
    no_effect("client-pool-cache-keys", _POOL),
    no_effect("clients", _POOL),
)
_OTHERS: Final = (
    taken("s3.remote-signing-enabled", "false only: credentials of your own are used where the catalog wants to sign"),
    *(
        refused(key, _REMOTE)
        for key in ("s3.signer", "s3.signer.uri", "s3.signer.endpoint", "signer.uri", "signer.endpoint")
    ),
    no_effect("rest-metrics-reporting-enabled", "PyIceberg reports no metrics to the catalog"),
    no_effect("metrics-reporter-impl", "it names a Java class; floe's metrics are Airflow's"),
    no_effect("cache-enabled", _NO_CACHE),
    no_effect("cache.*", _NO_CACHE),
    no_effect("rest-table-cache.*", _NO_CACHE),
    no_effect("rest-scan-planning.*", "floe plans its scans itself"),
    no_effect("io.manifest.*", "manifests are read once"),
    no_effect("unique-table-location", "the catalog's server chooses the location"),
    no_effect("app-id", "it is of Spark"),
    no_effect("app-name", "it is of Spark"),
    refused("table-default.*", "set iceberg.tables.auto-create-props.*"),
    refused("table-override.*", "set iceberg.tables.auto-create-props.*"),
    refused("encryption.*", "PyIceberg writes no encrypted tables. Remove it"),
)
_KEYS: Final[tuple[CatalogKey, ...]] = (*_LOGIN, *_SIGNATURE, *_CLIENT, *_OTHERS)


def auth_type(value: str) -> str:
    """Return the short name of a login that ``rest.auth.type`` has, by name or by Java's class. Raises ValueError."""
    low = value.strip().lower()
    for name, class_name in AUTH_TYPES.items():
        if low == name or value.strip() == class_name:
            return name
    msg = f"{value[:100]!r} is not supported: set {', '.join(AUTH_TYPES)}"
    raise ValueError(msg)


def _problems(given: Mapping[str, str]) -> Iterator[str]:
    plain = {key: value for key, value in given.items() if not is_reference(value)}
    for key, value in plain.items():
        if problem := _problem(key, value):
            yield f"{PREFIX}{key} {problem}"


def _problem(key: str, value: str) -> str | None:
    """Return what is wrong with one value. Values of secrets are not quoted."""
    low, shown = value.strip().lower(), repr(value[:100])
    match key:
        case _ if key in _NUMBERS and not low.isdecimal():
            return f"{shown} is no whole number: write milliseconds or a count"
        case _ if key in _FLAGS and low not in ("true", "false"):
            return f"{shown} is no flag: write true or false"
        case "s3.remote-signing-enabled" if low == "true":
            return f"is refused: {_REMOTE}"
        case "snapshot-loading-mode" if low != "all":
            return f"{shown} is refused: floe looks for its own commits among all snapshots. Remove it, or set all"
        case _ if key in (AUTH_TYPE, DELEGATE):
            return _login_problem(value)
    return _header_problem(key, value)


def _header_problem(key: str, value: str) -> str | None:
    if key.lower() == f"header.{DELEGATION}" and value.strip().lower() != VENDED:
        return f"{value[:100]!r} is refused: floe takes vended credentials only. Set {VENDED}"
    if key.lower() != f"header.{DELEGATION}" and spelled_as(key.lower(), (f"header.{DELEGATION}",)):
        return f"is refused: the nearest known key is {PREFIX}header.{DELEGATION}"
    if key.startswith(_ONE_LINE) and _CONTROL.search(value):
        return "has a line break or another control character, which no header may have: remove it"
    return None


def _login_problem(value: str) -> str | None:
    try:
        auth_type(value)
    except ValueError as error:
        return str(error)
    return None


def _of_rest(connection: ConnectionFields, known: Mapping[str, str]) -> dict[str, str]:
    made = {"uri": connection.address}
    if not (connection.login or connection.password) or not known.keys().isdisjoint(("credential", "token")):
        return made
    kind = known.get("rest.auth.type", "").strip().lower()
    if kind == "basic":
        return made | {
            "rest.auth.basic.username": connection.login,
            "rest.auth.basic.password": connection.password,
        }
    if kind not in ("", "oauth2"):
        return made  # SigV4 and the like have no login of this form
    if connection.login:
        return made | {"credential": f"{connection.login}:{connection.password}"}
    return made | {"token": connection.password}


REST: Final = CatalogType(
    "rest",
    Engine("floe.catalogs.providers.rest.provider:RestProvider"),
    conn_types=("iceberg", "http", "https", "generic", ""),
    of_connection=_of_rest,
    warehouse="name",
    library="rest",
    implementations=("org.apache.iceberg.rest.RESTCatalog",),
    keys=_KEYS,
    problems=_problems,
)
