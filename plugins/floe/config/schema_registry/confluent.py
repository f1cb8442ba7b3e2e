"""The options of Confluent's converters that are about the registry."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from floe.config.kafka.jaas import JaasUnusable
from floe.config.kafka.jaas import read_login as read_login_of
from floe.config.keys.reader import OptionReader
from floe.config.providers.reference import providers_in
from floe.config.schema_registry.address import (
    CONFLUENT,
    check_sendable,
    read_addresses,
    read_headers,
    read_login,
    read_proxy,
    read_tls,
    read_url,
)
from floe.config.schema_registry.settings import (
    Credentials,
    OAuthClient,
    RegistryLimits,
    RegistryLogin,
    RegistrySettings,
    RegistryToken,
    SchemaIdFormat,
)

NAMESPACE: Final = "schema.registry."
_URL = "schema.registry.url"
_BASIC, _BEARER = "basic.auth.credentials.source", "bearer.auth.credentials.source"
_USER_INFO, _OLD_USER_INFO = "basic.auth.user.info", "schema.registry.basic.auth.user.info"
_TOKEN = "bearer.auth.token"  # noqa: S105 - a key
_CLIENT = {
    "client_id": "bearer.auth.client.id",
    "client_secret": "bearer.auth.client.secret",
    "token_url": "bearer.auth.issuer.endpoint.url",
}
_SENT = {
    "bearer.auth.logical.cluster": "target-sr-cluster",
    "bearer.auth.identity.pool.id": "Confluent-Identity-Pool-Id",
}

_HEADER = "request.header."
_OF_PRODUCERS = (
    "auto.register.schemas",
    "normalize.schemas",
    "id.compatibility.strict",
    "latest.compatibility.strict",
    "key.subject.name.strategy",
    "value.subject.name.strategy",
    "reference.subject.name.strategy",
    "reference.lookup.only",
    "schema.format",
)
_OF_CACHES = (
    "max.schemas.per.subject",
    "latest.cache.size",
    "latest.cache.ttl.sec",
    "missing.cache.size",
    "missing.id.cache.ttl.sec",
    "missing.version.cache.ttl.sec",
    "missing.schema.cache.ttl.sec",
    "bearer.auth.cache.expiry.buffer.seconds",
)
_JAAS = "sasl.jaas.config"
_OF_SASL = ("sasl.mechanism",)
_CONTEXT = "context.name.strategy"
_RULES = "rule."
_BACKUP = "schema.backup.enabled"
_OF_TOKENS = ("bearer.auth.scope.claim.name", "bearer.auth.sub.claim.name")


def read_confluent(options: OptionReader) -> RegistrySettings:
    """Read the options of one converter. Where problems are noted, the settings are not to be used."""
    options = replace(options, namespace=NAMESPACE)
    addresses = read_addresses(options, _URL)
    credentials = _credentials(options)
    if credentials is not None:
        addresses = tuple(type(one)(one.url) for one in addresses)
    headers = read_headers(options, _HEADER)
    if isinstance(credentials, RegistryToken | OAuthClient):
        headers |= {header: text for name, header in _SENT.items() if (text := options.text(name))}
    else:
        options.ignore(_SENT, f"they are sent with tokens only: see {_BEARER}")
    options.ignore(_OF_PRODUCERS, "it is for producers")
    options.ignore(_OF_CACHES, "floe keeps schemas by their id, and tokens until they end")
    options.ignore(_OF_TOKENS, "floe does not look into tokens")
    options.ignore(_rules(options), "floe runs no rules of schemas: values that are encrypted by them are rejected")
    _check_context(options)
    if options.boolean(_BACKUP, False):
        options.refuse_value(_BACKUP, "it puts each value into another, for connectors of Confluent's; set it to false")
    options.ignore(("url.randomize",), "the addresses are asked in their order, beginning with the last that answered")
    return RegistrySettings(
        api="confluent",
        addresses=addresses,
        credentials=credentials,
        tls=read_tls(options, CONFLUENT),
        proxy=read_proxy(options),
        headers=tuple(sorted(headers.items())),
        limits=_limits(options),
        ids=SchemaIdFormat(in_headers=_reads_headers(options)),
        prefix=options.prefix,
    )


def _rules(options: OptionReader) -> list[str]:
    return [name for name in options.options if name.removeprefix(NAMESPACE).startswith(_RULES)]


def _check_context(options: OptionReader) -> None:
    """Refuse contexts by a class: the same id is another schema in each context."""
    if options.text(_CONTEXT).rpartition(".")[2] not in ("", "NullContextNameStrategy"):
        why = (
            "floe has no classes of yours: remove it, and name the context in the address: https://HOST/contexts/.NAME"
        )
        options.refuse_value(_spelled(options, _CONTEXT), why)


def _credentials(options: OptionReader) -> Credentials | None:
    basic, bearer = options.text(_BASIC).upper(), options.text(_BEARER).upper()
    if basic and bearer:
        options.refuse(None, f"{options.prefix}{_BASIC} and {_BEARER} are both given: remove one of them")
        return None
    # Java's default of the second is STATIC_TOKEN
    if bearer or (not basic and options.key(_TOKEN)):
        options.ignore((_USER_INFO,), f"it needs {_BASIC}=USER_INFO, and there is a token")
        return _bearer(options, bearer or "STATIC_TOKEN")
    options.ignore((_TOKEN, *_CLIENT.values(), "bearer.auth.scope"), f"it needs {_BEARER}")
    return _basic(options, basic or "URL")


def _basic(options: OptionReader, source: str) -> Credentials | None:
    if source == "URL":
        options.ignore((_USER_INFO,), f"it needs {_BASIC}=USER_INFO")
        return None
    if source == "SASL_INHERIT":
        return _of_kafka_client(options)
    if source != "USER_INFO":
        remedy = f"set it to USER_INFO, with {options.prefix}{_USER_INFO}=user:password, or to URL"
        options.refuse_value(_spelled(options, _BASIC), f"unknown; {remedy}")
        return None
    key = options.key(_USER_INFO)
    if key is None:
        options.miss(f"{options.prefix}{_BASIC} is USER_INFO: set {options.prefix}{_USER_INFO} to user:password")
        return None
    return read_login(options, key)


def _of_kafka_client(options: OptionReader) -> Credentials | None:
    """Read the login of a Kafka client, which the converter has among its own options."""
    key = options.key(_JAAS)
    if key is None:
        options.miss(
            f"{options.prefix}{_BASIC} is SASL_INHERIT, the login of {options.prefix}{_JAAS}, which is not given: set that, "
            f"or USER_INFO with {options.prefix}{_USER_INFO}=user:password"
        )
        return None
    options.ignore(_OF_SASL, f"the login is that of {_JAAS}")
    try:
        login = read_login_of(options.options[key])
    except JaasUnusable as error:
        if not providers_in(options.options[key]):  # else it is known when they are resolved
            options.refuse(key, str(error))
        return None
    return RegistryLogin(login.user, login.password, key)


def _bearer(options: OptionReader, source: str) -> Credentials | None:
    if source == "STATIC_TOKEN":
        key = options.key(_TOKEN)
        if key is None:
            options.miss(f"{options.prefix}{_BEARER} is STATIC_TOKEN: set {options.prefix}{_TOKEN}")
            return None
        token = options.options[key].strip()
        check_sendable(options, key, token)
        return RegistryToken(token, key)
    if source != "OAUTHBEARER":
        options.refuse_value(_spelled(options, _BEARER), "floe has STATIC_TOKEN and OAUTHBEARER (client credentials)")
        return None
    key = options.key(_CLIENT["client_secret"])
    url, client_id = read_url(options, _CLIENT["token_url"]), options.text(_CLIENT["client_id"])
    if not (key and url and client_id):
        wanted = ", ".join(options.prefix + name for name in _CLIENT.values() if not options.key(name))
        if wanted:
            options.miss(f"{options.prefix}{_BEARER} is OAUTHBEARER: set {wanted}")
        return None
    return OAuthClient(url, client_id, options.options[key].strip(), options.text("bearer.auth.scope"), key)


def _spelled(options: OptionReader, name: str) -> str:
    return options.key(name) or name


def _reads_headers(options: OptionReader) -> bool:
    """Whether schemas may be named in headers, as it is unless the class that reads ids is the one that does not."""
    role = "key" if options.prefix.startswith("key.") else "value"
    return options.text(f"{role}.schema.id.deserializer").rpartition(".")[2] != "PrefixSchemaIdDeserializer"


def _limits(options: OptionReader) -> RegistryLimits:
    return RegistryLimits(
        connect_timeout=options.seconds("http.connect.timeout.ms", RegistryLimits.connect_timeout),
        read_timeout=options.seconds("http.read.timeout.ms", RegistryLimits.read_timeout),
        retries=int(options.number("max.retries", RegistryLimits.retries, 100)),
        first_wait=options.seconds("retries.wait.ms", RegistryLimits.first_wait, 0),
        max_wait=options.seconds("retries.max.wait.ms", RegistryLimits.max_wait, 0),
    )
