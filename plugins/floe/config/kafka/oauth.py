"""Options of Kafka's OAuthBearerLoginModule, and of Strimzi's callback handler for it, as librdkafka's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from floe.config.kafka.jaas import JaasUnusable

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

_TAKEN: Final = {
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
_UNUSED: Final = {
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
_REFUSED: Final = {
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
        elif name in _TAKEN:
            _check_store(name, value, options)
            conf[_TAKEN[name]] = value.replace("\\n", "\n") if name.endswith("certificates") else value
        elif name not in _UNUSED:
            msg = f"its option {name[:100]!r} is not read: {_REFUSED.get(name, _CLIENT)}"
            raise JaasUnusable(msg)
    if extensions:
        conf[_EXTENSIONS] = _joined(extensions)
    return conf, {name: why for name, why in _UNUSED.items() if name in options}


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
    if _TAKEN[name] != _CA:
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
