"""The options of Apicurio's converters that are about the registry and about the ids in records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from floe.config.keys.reader import OptionReader
from floe.config.schema_registry.address import APICURIO, read_addresses, read_headers, read_proxy, read_tls, read_url
from floe.config.schema_registry.settings import (
    ID_HEADERS,
    Credentials,
    IdKind,
    OAuthClient,
    RegistryAddress,
    RegistryLimits,
    RegistryLogin,
    RegistrySettings,
    SchemaIdFormat,
)
from floe.config.secrets.detection import is_reference

_URL = "apicurio.registry.url"
_API = "/apis/registry/"
_CCOMPAT = "/apis/ccompat"
_OLD_API = "/api"
_AUTH = ("apicurio.auth.", "apicurio.registry.auth.")
"""Before the options of authentication: in version 2, and in version 3."""
_HEADERS = ("apicurio.registry.request.headers.", "apicurio.rest.request.headers.")
_ID_HANDLERS: Mapping[str, Literal[4, 8]] = {
    "DefaultIdHandler": 8,
    "Legacy4ByteIdHandler": 4,
    "Default4ByteIdHandler": 4,
    "Legacy8ByteIdHandler": 8,
}
_OF_PRODUCERS = (
    "apicurio.registry.auto-register",
    "apicurio.registry.auto-register.if-exists",
    "apicurio.registry.artifact-resolver-strategy",
    "apicurio.registry.artifact.group-id",
    "apicurio.registry.artifact.artifact-id",
    "apicurio.registry.artifact.version",
    "apicurio.registry.artifact.schema.location",
    "apicurio.registry.find-latest",
    "apicurio.registry.serializer.dereference-schema",
    "apicurio.registry.serde.validation-enabled",
    "apicurio.registry.artifact-id",
    "apicurio.registry.canonicalize",
    "apicurio.registry.global-id",
    "apicurio.registry.use-schema-from-headers",
    *(
        f"apicurio.registry.headers.{role}.{name}.name"
        for role in ("key", "value")
        for name in ("schema", "schemaType")
    ),
)
_OF_CACHES = (
    "apicurio.registry.check-period-ms",
    "apicurio.registry.cache-latest",
    "apicurio.registry.fault-tolerant-refresh",
    "apicurio.registry.background-refresh",
    "apicurio.registry.background-refresh.executor-threads",
    "apicurio.registry.background-refresh.timeout-ms",
)
_OF_FALLBACKS = (
    "apicurio.registry.fallback.provider",
    "apicurio.registry.fallback.group-id",
    "apicurio.registry.fallback.artifact-id",
    "apicurio.registry.fallback.version",
)
_OF_REFERENCES = ("apicurio.registry.dereference-schema", "apicurio.registry.deserializer.dereference-schema")


_PROXY = "apicurio.registry."
_PROXY_LOGIN = ("apicurio.registry.proxy.username", "apicurio.registry.proxy.password")
_VERSION = "apicurio.registry.url.version"


def read_apicurio(options: OptionReader) -> RegistrySettings:
    """Read the options of one converter. Where problems are noted, the settings are not to be used."""
    version = int(options.number(_VERSION, 2, 3, 2))
    addresses = tuple(_with_api(options, one, version) for one in read_addresses(options, _URL))
    headers = read_headers(options, *_HEADERS)
    options.ignore(_OF_PRODUCERS, "it is for producers")
    options.ignore(_OF_CACHES, "floe keeps schemas by their id")
    options.ignore(_OF_REFERENCES, "floe reads the schemas that a schema refers to")
    options.ignore(_OF_FALLBACKS, "records that do not name their schema are rejected")
    options.ignore(("apicurio.registry.http.adapter",), "floe has a client of its own")
    if key := options.key(*_PROXY_LOGIN):
        options.refuse(
            key, "floe logs in to no proxy: name one that needs no login, or remove the options of the proxy"
        )
    is_v3 = {f"{_API}v3" in one.url for one in addresses if not is_reference(one.url)}
    if len(is_v3) > 1:
        options.refuse(
            _URL, f"its addresses are of version 2 and of version 3 of {_API}: write one version in all of them"
        )
    return RegistrySettings(
        api="apicurio",
        addresses=addresses,
        credentials=_credentials(options),
        tls=read_tls(options, APICURIO),
        proxy=read_proxy(options, _PROXY),
        headers=tuple(sorted(headers.items())),
        limits=RegistryLimits(
            retries=int(options.number("apicurio.registry.retry-count", RegistryLimits.retries, 100)),
            first_wait=options.seconds("apicurio.registry.retry-backoff-ms", RegistryLimits.first_wait, 0),
        ),
        ids=_ids(options, is_v3=True in is_v3),
        prefix=options.prefix,
    )


def _with_api(options: OptionReader, address: RegistryAddress, version: int) -> RegistryAddress:
    """Return the address of the API, as Java's client completes it: ``/apis/registry/v2`` unless it is there."""
    if is_reference(address.url):
        return address
    if address.url.endswith(_OLD_API):
        options.refuse(
            _URL, f"{address.url!r} is the address of version 1, which floe does not read: write that of {_API}v2"
        )
    if _CCOMPAT in address.url:
        options.refuse(_URL, f"{address.url!r} is the address of Confluent's API: write it without {_CCOMPAT}/…")
    return address if _API in address.url else RegistryAddress(f"{address.url}{_API}v{version}", address.login)


def _credentials(options: OptionReader) -> Credentials | None:
    url = read_url(options, *_auth("service.token.endpoint")) or _endpoint_of_realm(options)
    client, secret = options.text(*_auth("client.id")), options.key(*_auth("client.secret"))
    scope = options.text(*_auth("client.scope"))
    user, password = options.text(*_auth("username")), options.key(*_auth("password"))
    if url:
        if not (client and secret):
            options.miss(f"{options.prefix}{_AUTH[0]}client.id and .client.secret are needed for a token")
            return None
        return OAuthClient(url, client, options.options[secret].strip(), scope, secret)
    if client or secret:
        names = f"{_AUTH[0]}client.id and .client.secret"
        options.miss(f"{options.prefix}{names}: set {options.prefix}{_AUTH[0]}service.token.endpoint, too")
    if bool(user) != bool(password):
        options.miss(f"{options.prefix}{_AUTH[0]}username and .password: give both, or neither")
    return RegistryLogin(user, options.options[password].strip(), password) if user and password else None


def _endpoint_of_realm(options: OptionReader) -> str:
    url, realm = read_url(options, *_auth("service.url")), options.text(*_auth("realm"))
    if bool(url) != bool(realm):
        options.miss(f"{options.prefix}{_AUTH[0]}service.url and .realm: give both, or neither")
    return f"{url}/realms/{realm}/protocol/openid-connect/token" if url and realm else ""


def _auth(name: str) -> tuple[str, ...]:
    return tuple(prefix + name for prefix in _AUTH)


def _ids(options: OptionReader, is_v3: bool) -> SchemaIdFormat:
    """Read where records have their ids. Version 3's defaults are used with an address of its API."""
    nbytes: Literal[4, 8] = 4 if is_v3 else 8
    key = options.key("apicurio.registry.id-handler")
    if key and not is_reference(options.options[key]):
        name = options.options[key].strip().rpartition(".")[2]
        if name not in _ID_HANDLERS:
            options.refuse_value(key, f"floe has {', '.join(_ID_HANDLERS)}")
        nbytes = _ID_HANDLERS.get(name, nbytes)
    if options.boolean("apicurio.registry.as-confluent", False):
        nbytes = 4
    return SchemaIdFormat(
        nbytes=nbytes,
        kind=_kind(options, "contentId" if is_v3 else "globalId"),
        in_headers=options.boolean("apicurio.registry.headers.enabled", not is_v3),
        header_names=tuple(_header_names(options)),
    )


def _kind(options: OptionReader, default: IdKind) -> IdKind:
    key = options.key("apicurio.registry.use-id")
    if key is None or is_reference(options.options[key]):
        return default
    found = options.options[key].strip()
    if found not in ("globalId", "contentId"):
        options.refuse_value(key, "write globalId or contentId")
        return default
    return cast(IdKind, found)


def _header_names(options: OptionReader) -> list[tuple[str, str, str]]:
    names = [(role, name) for role in ("key", "value") for name in ID_HEADERS]
    found = [(role, name, options.text(f"apicurio.registry.headers.{role}.{name}.name")) for role, name in names]
    return [one for one in found if one[2]]
