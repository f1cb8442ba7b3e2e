"""A login of the worker file, and the settings of other places with which others than its brokers could get it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from floe.config.kafka.names import TRUST

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


def has_login(settings: Mapping[str, Any]) -> bool:
    """Whether a place has a user, a password, or what else a login consists of."""
    return any(_is_login(name) for name in settings)


def without_login(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without their login."""
    return {name: value for name, value in settings.items() if not _is_login(name)}


def redirected(below: Mapping[str, Any], above: Mapping[str, Any]) -> list[str]:
    """Return the settings in ``above`` with which others could get a login of ``below``. Both are translated."""
    return [
        name
        for name, safe in _SAFE.items()
        if name in above and not _is_same(name, above, below) and _plain(above[name]).lower() not in safe
    ]


def _is_same(name: str, above: Mapping[str, Any], below: Mapping[str, Any]) -> bool:
    """Whether both places say the same; a mechanism above one that is not named is no other one."""
    if name in _MECHANISMS:
        named = {_plain(below[one]) for one in _MECHANISMS if _plain(below.get(one))}
        return not named or _plain(above[name]) in named
    return _plain(above[name]) == _plain(below.get(name))


def _is_login(name: str) -> bool:
    return name.startswith("sasl.") and name not in _MECHANISMS


def _plain(value: object) -> str:
    return "" if value is None else str(value).strip()
