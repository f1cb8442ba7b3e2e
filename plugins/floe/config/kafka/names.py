"""Groups of client settings: where brokers are and how to log in, and those of which a client has one at a time."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from floe.config.kafka.msk import IS_MSK

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
