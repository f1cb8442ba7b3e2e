"""Groups of client settings: where brokers are and how to log in, and those of which a client has one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from floe.config.kafka.msk import IS_MSK
from floe.config.secrets.logins import plain, redirecting

BROKERS: Final = ("bootstrap.servers", "metadata.broker.list")

TRUST: Final = ("ssl.ca.location", "ssl.ca.pem", "ssl.ca.certificate.stores", "ssl.truststore.location")

_SECURITY_PREFIXES: Final = ("sasl.", "ssl.", "https.ca.", "security.")
_SECURITY: Final = ("enable.ssl.certificate.verification", "enable.sasl.oauthbearer.unsecure.jwt")

_CERTIFICATE: Final = ("ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location")
_KEY: Final = ("ssl.key.location", "ssl.key.pem", "ssl.keystore.location")

_ALTERNATIVES: Final = (
    BROKERS,
    ("sasl.mechanism", "sasl.mechanisms", IS_MSK),
    TRUST,
    ("https.ca.location", "https.ca.pem"),
    ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.credentials.client.id"),
    ("sasl.oauthbearer.client.secret", "sasl.oauthbearer.client.credentials.client.secret"),
    _CERTIFICATE,
    _KEY,
)
"""Settings that say one thing in several ways. Passwords are none: a place may have the password of another's store."""


def is_security(name: str) -> bool:
    """Whether a setting is about encryption or login: it is for the brokers that it was given with, and for no others."""
    return name.startswith(_SECURITY_PREFIXES) or name in _SECURITY


def gives_brokers(settings: Mapping[str, Any]) -> bool:
    """Whether a place that has client settings says where the brokers are."""
    return any(str(settings.get(name) or "").strip() for name in BROKERS)


def without_cluster(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is for any cluster: neither brokers nor security."""
    return {name: value for name, value in settings.items() if name not in BROKERS and not is_security(name)}


def over(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Put translated settings over others. What says the same in another way is gone from the lower ones."""
    replaced = {one for names in _ALTERNATIVES if _has_any(names, upper) for one in names}
    if "ssl.keystore.location" in upper:
        replaced.add("ssl.keystore.type")  # it says whose store the other one was
    return {name: value for name, value in lower.items() if name not in replaced} | dict(upper)


def half_identity(settings: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the setting of a certificate without its private key, or reversed, and the one that is missing."""
    certificate, key = (next((one for one in names if settings.get(one)), None) for names in (_CERTIFICATE, _KEY))
    if certificate and not key:
        return certificate, certificate.replace("certificate", "key")
    if key and not certificate:
        return key, key.replace("key", "certificate")
    return None


def _has_any(names: Iterable[str], settings: Mapping[str, Any]) -> bool:
    return any(name in settings for name in names)


# A login of Kafka's clients, and the settings of other places with which others than its brokers could get it.


_MECHANISMS: Final = ("sasl.mechanism", "sasl.mechanisms")
_SAFE: Final[Mapping[str, tuple[str, ...]]] = {
    "sasl.oauthbearer.token.endpoint.url": (),
    "security.protocol": ("sasl_ssl", "ssl", "plaintext"),  # the last two send no login
    "enable.ssl.certificate.verification": ("true", "t", "1"),
    "ssl.endpoint.identification.algorithm": ("https",),
    "ssl.cipher.suites": (),
    **dict.fromkeys(_MECHANISMS, ("scram-sha-256", "scram-sha-512", "gssapi", "oauthbearer")),  # none sends a password
    **dict.fromkeys((*TRUST, "https.ca.location", "https.ca.pem"), ()),
}
"""Settings of where a login is sent, and of who is trusted with it, with the values that no login suffers from."""

_LOGIN: Final = re.compile(
    r"sasl\.(username|password|oauthbearer\.(config|.*client\.(id|secret)|assertion\..*)|kerberos\.(keytab|principal))"
    rf"|{re.escape(IS_MSK)}"
)


def has_login(settings: Mapping[str, Any]) -> bool:
    """Whether a place has a user, a password, or what else a login consists of."""
    return any(_is_login(name) for name in settings)


def without_login(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without their login."""
    return {name: value for name, value in settings.items() if not _is_login(name)}


def gives_login(settings: Mapping[str, Any]) -> bool:
    """Whether a place has what a broker or a server of tokens accepts: a user, a secret, a key, a way of MSK's."""
    return any(_LOGIN.fullmatch(name) and str(value or "").strip() for name, value in settings.items())


def redirected(below: Mapping[str, Any], above: Mapping[str, Any]) -> list[str]:
    """Return the settings in ``above`` with which others could get a login of ``below``. Both are translated."""
    found = redirecting(below, above, lambda name, _: name in _SAFE, _SAFE)
    return [name for name in found if not (name in _MECHANISMS and _is_same(name, above, below))]


def other_brokers(below: Mapping[str, Any], above: Mapping[str, Any]) -> list[str]:
    """Return the setting in ``above`` that names brokers that ``below`` does not, if one does; some of them are no others."""
    return [name for name in BROKERS if plain(above.get(name)) and not _servers(above) <= _servers(below)]


def _servers(settings: Mapping[str, Any]) -> set[str]:
    servers = (server.strip() for name in BROKERS for server in str(settings.get(name) or "").split(","))
    return {server.lower() if server.isascii() else server for server in servers if server}


def _is_same(name: str, above: Mapping[str, Any], below: Mapping[str, Any]) -> bool:
    """Whether both places name one mechanism; one above none that is named is no other one."""
    named = {plain(below[one]) for one in _MECHANISMS if plain(below.get(one))}
    return not named or plain(above[name]) in named


def _is_login(name: str) -> bool:
    return name.startswith("sasl.") and name not in _MECHANISMS
