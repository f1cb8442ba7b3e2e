"""Java's key and trust stores in a client's settings. A task reads them, for librdkafka wants PEM texts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from floe.tls.store_file import CONVERT, TYPES, StoreFile

_TEXTS: Final = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
"""Java's names of PEM texts, and librdkafka's."""

NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})

_TRUST, _KEYS = "ssl.truststore.", "ssl.keystore."
_INSTEAD: Final = {
    _TRUST: ("ssl.ca.pem", "ssl.ca.location", "ssl.ca.certificate.stores"),
    _KEYS: ("ssl.certificate.pem", "ssl.certificate.location", "ssl.key.pem", "ssl.key.location"),
}
"""What librdkafka has in the place of each store: the first is the one that gets it."""

JAVA_NAMES: Final = (*_TEXTS, *(f"{_TRUST}{name}" for name in ("location", "type", "password")), f"{_KEYS}type")
"""Settings of stores that librdkafka does not have."""

_JAVA_FILES: Final = (".jks", ".pem", ".crt", ".cer", ".key")


def note_stores(conf: dict[str, Any], problems: dict[str, str], *, is_java: bool) -> None:
    """Prepare the stores that one place names, which may have passwords of other places.

    What ``conf`` says in librdkafka's own names counts over a store. ``is_java``: every store is Java's; elsewhere
    ``ssl.keystore.location`` without a type is librdkafka's, a PKCS12 file that the client itself reads.
    """
    for name, own in _TEXTS.items():
        if text := _text(conf.pop(name, None)):
            conf.setdefault(own, text.replace("\\n", "\n"))  # properties files have line ends as these two characters
    for prefix, own_names in _INSTEAD.items():
        location, type_ = f"{prefix}location", f"{prefix}type"
        kind, path = _text(conf.pop(type_, None)), _text(conf.get(location))
        if kind and kind.upper() not in TYPES:
            problems[type_] = f"{kind[:20]!r} is none of {', '.join(TYPES)}: {CONVERT}"
        is_javas = prefix == _TRUST or is_java or bool(kind) or path.lower().endswith(_JAVA_FILES)
        if is_javas and (not path or any(name in conf for name in own_names)):
            conf.pop(location, None)
        if is_javas and prefix == _KEYS and (kind or path):
            conf[type_] = kind or TYPES[0]


def take_stores(conf: Mapping[str, Any], spelled: Mapping[str, str] = NO_NAMES) -> dict[str, Any]:
    """Return the settings of all places with a StoreFile for each store of Java's. ``spelled``: their names, for messages."""
    made = dict(conf)
    for prefix, own_names in _INSTEAD.items():
        location = f"{prefix}location"
        kind = made.pop(f"{prefix}type", None)
        if prefix == _KEYS and not kind:
            continue
        path, password = _text(made.pop(location, None)), _text(made.pop(f"{prefix}password", None))
        if path and not any(name in made for name in own_names):
            made[own_names[0]] = StoreFile(path, password, spelled.get(location, location))
    return made


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()
