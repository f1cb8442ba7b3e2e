"""Login modules of Kafka's clients, as librdkafka's settings: Kafka's own, Strimzi's options and AWS's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.kafka.jaas import LOGINS, Entry, JaasUnusable, login_of, read_entry
from floe.config.kafka.msk import MODULE as MSK_MODULE
from floe.config.kafka.msk import OPTIONS_PREFIX as MSK_OPTIONS
from floe.config.kafka.msk import msk_settings

OAUTH_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

NO_GSSAPI: Final = (
    "Kerberos is not in the client that confluent-kafka installs (it has PLAIN, SCRAM and OAUTHBEARER): use a listener with "
    "one of these; or build confluent-kafka on a librdkafka with GSSAPI (pip install --no-binary confluent-kafka "
    "confluent-kafka) and set sasl.mechanism=GSSAPI, sasl.kerberos.principal and sasl.kerberos.keytab, without "
    "sasl.jaas.config"
)
_REFUSED_MODULES: Final = {
    "Krb5LoginModule": NO_GSSAPI,
    "JndiLoginModule": "it looks accounts up in a directory, which is a way to run foreign code (CVE-2023-25194): set "
    "sasl.username and sasl.password",
    "LdapLoginModule": "it looks accounts up in a directory, which is a way to run foreign code (CVE-2025-27818): set "
    "sasl.username and sasl.password",
}
_READ: Final = (
    "floe reads PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule and AWS's IAMLoginModule: set sasl.username and "
    "sasl.password, or sasl.oauthbearer.method=oidc with its client id, client secret and token endpoint"
)


@dataclass(frozen=True)
class LoginSettings:
    """A login in librdkafka's names. ``unused``: the options that have no effect, with the reasons."""

    conf: Mapping[str, str] = field(repr=False)
    unused: Mapping[str, str] = field(default_factory=dict)


def login_settings(jaas: str) -> LoginSettings:
    """Translate a text of ``sasl.jaas.config``. Raises JaasUnusable, whose message quotes no secret."""
    entry = read_entry(jaas)
    if entry.module in LOGINS:
        login = login_of(entry)
        return LoginSettings({"sasl.username": login.user, "sasl.password": login.password})
    if entry.module == MSK_MODULE or _is_of_msk(entry):
        return LoginSettings(*msk_settings(entry.options))
    if entry.module == OAUTH_MODULE:
        return LoginSettings(*oauth_settings(entry.options))
    why = _REFUSED_MODULES.get(entry.module.rpartition(".")[2], _READ)
    msg = f"the login module {entry.name!r} is not read: {why}"
    raise JaasUnusable(msg)


def _is_of_msk(entry: Entry) -> bool:
    """Whether Kafka's module has options of AWS's callback handler."""
    return entry.module == OAUTH_MODULE and any(name.startswith(MSK_OPTIONS) for name in entry.options)


# Options of Kafka's OAuthBearerLoginModule, and of Strimzi's callback handler for it, as librdkafka's settings.


METHOD: Final = "sasl.oauthbearer.method"
_ID, _SECRET = "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret"
_SCOPE, _ENDPOINT = "sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url"
_EXTENSIONS: Final = "sasl.oauthbearer.extensions"
_CA: Final = "https.ca.location"

HANDLERS: Final = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler",
)
"""Callback handlers whose work librdkafka does by itself."""

_OAUTH_OPTIONS: Final = {
    "clientId": _ID,
    "clientSecret": _SECRET,
    "scope": _SCOPE,
    "oauth.client.id": _ID,
    "oauth.client.secret": _SECRET,
    "oauth.scope": _SCOPE,
    "oauth.token.endpoint.uri": _ENDPOINT,
    "ssl.truststore.location": _CA,
    "oauth.ssl.truststore.location": _CA,
    "ssl.truststore.certificates": "https.ca.pem",
    "oauth.ssl.truststore.certificates": "https.ca.pem",
}
_EXTENSION_PREFIXES: Final = ("extension_", "oauth.sasl.extension.")
_STORE_TYPES: Final = ("ssl.truststore.type", "oauth.ssl.truststore.type")
_PEM_FILES: Final = (".pem", ".crt", ".cer")

_BROKERS: Final = "it is for the broker, or for what a client knows of itself"
_CLIENTS: Final = "librdkafka has time limits and repetitions of its own"
_UNUSED_OF_OAUTH: Final = {
    **dict.fromkeys(("oauth.username.claim", "oauth.username.prefix", "oauth.access.token.is.jwt"), _BROKERS),
    **dict.fromkeys(("oauth.fallback.username.claim", "oauth.fallback.username.prefix", "oauth.config.id"), _BROKERS),
    **dict.fromkeys(("oauth.connect.timeout.seconds", "oauth.read.timeout.seconds"), _CLIENTS),
    **dict.fromkeys(
        ("oauth.http.retries", "oauth.http.retry.pause.millis", "oauth.max.token.expiry.seconds"), _CLIENTS
    ),
    "oauth.enable.metrics": "librdkafka reports no such metrics",
    "oauth.include.accept.header": "librdkafka always sends it",
    **dict.fromkeys((*_STORE_TYPES, "ssl.truststore.password", "oauth.ssl.truststore.password"), "PEM files have none"),
    **dict.fromkeys(("ssl.protocol", "oauth.ssl.protocol"), "TLS 1.2 and newer are used, with OpenSSL's own choice"),
}
_CLIENT: Final = (
    "librdkafka gets its tokens with a client id and a client secret: set clientId and clientSecret (Strimzi: oauth.client.id"
    " and oauth.client.secret)"
)
_REFUSED_OPTIONS: Final = {
    "oauth.audience": "librdkafka requests no audience: give the client that audience at the provider, or request it by "
    "scope, and leave the option out",
    **dict.fromkeys(("oauth.access.token", "oauth.access.token.location"), f"a token expires during a run: {_CLIENT}"),
    **dict.fromkeys(("oauth.refresh.token", "oauth.refresh.token.location", "oauth.grant.type"), _CLIENT),
    **dict.fromkeys(("oauth.password.grant.username", "oauth.password.grant.password"), _CLIENT),
    **dict.fromkeys(
        ("oauth.client.assertion", "oauth.client.assertion.location", "oauth.client.assertion.type"),
        "set sasl.oauthbearer.grant.type=urn:ietf:params:oauth:grant-type:jwt-bearer and sasl.oauthbearer.assertion.*, "
        "without sasl.jaas.config",
    ),
    "oauth.ssl.endpoint.identification.algorithm": "the token endpoint is always verified by name: remove it",
}
_UNSECURED: Final = "unsecuredLogin"
_PRINCIPAL: Final = "unsecuredLoginStringClaim_sub"


def oauth_settings(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return librdkafka's settings for the options, and those without effect with reasons. Raises JaasUnusable."""
    if any(name.startswith(_UNSECURED) for name in options):
        return _unsecured(options), {}
    conf: dict[str, str] = {METHOD: "oidc"}
    extensions: dict[str, str] = {}
    for name, value in options.items():
        prefix = next((one for one in _EXTENSION_PREFIXES if name.startswith(one)), None)
        if prefix is not None:
            extensions[name.removeprefix(prefix)] = value
        elif name in _OAUTH_OPTIONS:
            _check_store(name, value, options)
            conf[_OAUTH_OPTIONS[name]] = value.replace("\\n", "\n") if name.endswith("certificates") else value
        elif name not in _UNUSED_OF_OAUTH:
            msg = f"its option {name[:100]!r} is not read: {_REFUSED_OPTIONS.get(name, _CLIENT)}"
            raise JaasUnusable(msg)
    if extensions:
        conf[_EXTENSIONS] = _joined(extensions)
    return conf, {name: why for name, why in _UNUSED_OF_OAUTH.items() if name in options}


def _joined(extensions: Mapping[str, str]) -> str:
    for name, value in extensions.items():
        if "," in value or "=" in name + value:
            msg = (
                f"the value of its extension {name[:100]!r} has a comma or an equals sign, which librdkafka cannot send"
            )
            raise JaasUnusable(msg)
    return ",".join(f"{name}={value}" for name, value in extensions.items())


def _check_store(name: str, value: str, options: Mapping[str, str]) -> None:
    """Raise JaasUnusable for a trust store of the token endpoint that is none of PEM."""
    if _OAUTH_OPTIONS[name] != _CA:
        return
    kind = options.get(name.replace("location", "type"), "").strip().upper()
    if kind != "PEM" and (kind or not value.lower().endswith(_PEM_FILES)):
        msg = (
            f"its option {name} is a store of Java's: write its certificates into a PEM file (keytool -list -rfc), and set "
            f"{_CA} to that file"
        )
        raise JaasUnusable(msg)


def _unsecured(options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of tokens without a signature, as Kafka's own test mode has them."""
    others = sorted(name for name in options if name != _PRINCIPAL)
    if others or not options.get(_PRINCIPAL):
        msg = f"of a token without a signature floe reads {_PRINCIPAL} alone: set it, and no other option"
        raise JaasUnusable(msg)
    config = f"principal={options[_PRINCIPAL]}"
    return {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": config}
