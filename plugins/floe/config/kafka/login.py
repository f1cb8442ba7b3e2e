"""A login of Kafka's clients, and the settings of other places with which others than its brokers could get it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from floe.config.kafka.msk import IS_MSK
from floe.config.kafka.names import BROKERS, TRUST
from floe.config.secrets.logins import plain, redirecting

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
