"""Java's key and trust stores in a client's settings. A task reads them, for librdkafka wants PEM texts."""

from __future__ import annotations

from typing import Any, Final

from floe.tls.store_file import TYPES, StoreFile

_TEXTS: Final = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
"""Java's names of PEM texts, and librdkafka's."""

_TRUST, _KEYS = "ssl.truststore.", "ssl.keystore."
_INSTEAD: Final = {
    _TRUST: ("ssl.ca.pem", "ssl.ca.location", "ssl.ca.certificate.stores"),
    _KEYS: ("ssl.certificate.pem", "ssl.certificate.location", "ssl.key.pem", "ssl.key.location"),
}
"""What librdkafka has in the place of each store: the first is the one that gets it."""

JAVA_NAMES: Final = (*_TEXTS, *(f"{_TRUST}{name}" for name in ("location", "type", "password")), f"{_KEYS}type")
"""Settings of stores that librdkafka does not have."""

_JAVA_FILES: Final = (".jks", ".pem", ".crt", ".cer", ".key")
_REMEDY: Final = "convert the store (keytool -importkeystore -deststoretype PKCS12)"


def take_stores(conf: dict[str, Any], problems: dict[str, str], *, is_java: bool) -> None:
    """Put what Java's stores say under librdkafka's names in ``conf``: PEM texts, and StoreFile for a file to be read.

    What ``conf`` says in librdkafka's own names counts over a store. ``is_java``: every store is Java's; elsewhere
    ``ssl.keystore.location`` without a type is librdkafka's, a PKCS12 file that the client itself reads.
    """
    for name, own in _TEXTS.items():
        if text := _text(conf.pop(name, None)):
            conf.setdefault(own, text.replace("\\n", "\n"))  # properties files have line ends as these two characters
    for prefix, own_names in _INSTEAD.items():
        kind = _text(conf.pop(f"{prefix}type", None))
        if kind and kind.upper() not in TYPES:
            problems[f"{prefix}type"] = f"{kind[:20]!r} is none of {', '.join(TYPES)}: {_REMEDY}"
        path = _text(conf.get(f"{prefix}location"))
        if prefix == _KEYS and not (is_java or kind or path.lower().endswith(_JAVA_FILES)):
            continue
        conf.pop(f"{prefix}location", None)
        password = _text(conf.pop(f"{prefix}password", None))
        if path and not any(name in conf for name in own_names):
            conf[own_names[0]] = StoreFile(path, password, f"{prefix}location")


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()
