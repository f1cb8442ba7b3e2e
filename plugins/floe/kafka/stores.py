"""Java's key and trust stores as the PEM texts that librdkafka takes: read here, Spark's workers need no file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from floe.kafka.exceptions import KafkaMisconfigured
from floe.tls.exceptions import StoreUnusable
from floe.tls.store_file import StoreFile
from floe.tls.stores import identity, trusted_certificates

_TRUST, _CERTIFICATE, _KEY, _KEY_PASSWORD = "ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem", "ssl.key.password"
_SETTINGS: Final = (_TRUST, _CERTIFICATE)


def with_texts(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the content of their stores. Raises KafkaMisconfigured."""
    made = dict(conf)
    trust, keys = (made.get(name) for name in _SETTINGS)
    try:
        if isinstance(trust, StoreFile):
            made[_TRUST] = trusted_certificates(trust)
        if isinstance(keys, StoreFile):
            found = identity(keys, str(made.pop(_KEY_PASSWORD, "")))
            made |= {_CERTIFICATE: found.certificates, _KEY: found.key}
            made |= {_KEY_PASSWORD: found.key_password} if found.key_password else {}
    except StoreUnusable as error:
        msg = f"{error}. Nothing was read or written"
        raise KafkaMisconfigured(msg) from None
    return made
