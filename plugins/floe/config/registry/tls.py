"""The TLS options of a registry's client: Java's stores, and librdkafka's names of PEM files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from floe.config.keys.option_reader import OptionReader
from floe.config.registry.settings import TlsSettings
from floe.config.secrets.detection import is_reference
from floe.tls.store_file import CONVERT, TYPES, StoreFile

_IN_PEM = "-----BEGIN"
_SHORT_NAME = "P12"
"""Apicurio's other name of PKCS12."""

_PEM_FILES = (".pem", ".crt", ".cer", ".key")
_WITHOUT_EFFECT = (
    "ssl.protocol",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
    "ssl.provider",
    "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm",
    "ssl.secure.random.implementation",
)


@dataclass(frozen=True)
class TlsNames:
    """The options of one client. ``stores`` begin Java's names; the other names are of PEM files and texts.

    ``certificates``: paths or texts of certificates that are trusted. ``verify_host``, ``trust_all``: switches.
    """

    stores: tuple[str, ...]
    ca_file: tuple[str, ...] = ()
    certificate_file: tuple[str, ...] = ()
    key_file: tuple[str, ...] = ()
    certificates: str = ""
    verify_host: str = ""
    trust_all: str = ""

    def store(self, name: str) -> tuple[str, ...]:
        """Return the spellings of an option of a store."""
        return tuple(prefix + name for prefix in self.stores)


CONFLUENT: Final = TlsNames(("ssl.",), ("ssl.ca.location",), ("ssl.certificate.location",), ("ssl.key.location",))
APICURIO: Final = TlsNames(
    ("apicurio.registry.request.ssl.", "apicurio.rest.request.ssl.", "apicurio.registry.tls."),
    ("apicurio.rest.request.ssl.ca-bundle.location",),
    certificates="apicurio.registry.tls.certificates",
    verify_host="apicurio.registry.tls.verify-host",
    trust_all="apicurio.registry.tls.trust-all",
)
"""With the options of version 2 and, below ``tls.``, of version 3."""


def read_tls(options: OptionReader, names: TlsNames) -> TlsSettings:
    """Read the options. No file is read: the paths are those of the machines that connect."""
    keystore, truststore = _store(options, names, "keystore"), _store(options, names, "truststore")
    algorithm = options.key(*names.store("endpoint.identification.algorithm"))
    # given and empty, it switches the check of the name off
    is_off = any(name in options.options for name in _spelled(options, names)) and algorithm is None
    is_off |= bool(names.verify_host) and not options.boolean(names.verify_host, True)
    if names.trust_all and options.boolean(names.trust_all, False):
        options.refuse_value(
            names.trust_all, "floe trusts no server without its certificate: name a truststore, or false"
        )
    ca_file, ca_pem = _certificates(options, names)
    options.ignore(_WITHOUT_EFFECT, "TLS 1.2 and newer are used, with OpenSSL's own choice of ciphers")
    return TlsSettings(
        ca_file=ca_file,
        ca_pem=ca_pem,
        certificate_file=options.text(*names.certificate_file) if names.certificate_file else "",
        key_file=options.text(*names.key_file) if names.key_file else "",
        certificate_pem=_pem(options.text(*names.store("keystore.certificate.chain"))),
        key_pem=_pem(options.text(*names.store("keystore.key"))),
        key_password=options.text(*names.store("key.password")),
        truststore=truststore,
        keystore=keystore,
        verify_hostname=not is_off,
    )


def _spelled(options: OptionReader, names: TlsNames) -> list[str]:
    found = names.store("endpoint.identification.algorithm")
    return [*found, *(options.namespace + name for name in found)]


def _certificates(options: OptionReader, names: TlsNames) -> tuple[str, str]:
    """Return what is trusted besides a store: the path of a PEM file, and a PEM text."""
    path, text = options.text(*names.ca_file), options.text(*names.store("truststore.certificates"))
    either = options.text(names.certificates) if names.certificates else ""
    if _IN_PEM in either:
        text = either
    elif "," in either:
        options.refuse_value(names.certificates, "floe reads one file: put the certificates of all of them into one")
    else:
        path = either or path
    return path, _pem(text)


def _store(options: OptionReader, names: TlsNames, which: str) -> StoreFile | None:
    """Return a store; None if none is named."""
    at = options.key(*names.store(f"{which}.location"))
    kind = options.key(*names.store(f"{which}.type"))
    passwords = names.store(f"{which}.password")
    kind_name = options.options[kind].strip().upper() if kind else ""
    if kind and not is_reference(kind_name) and kind_name not in (*TYPES, _SHORT_NAME):
        options.refuse_value(kind, f"floe reads stores of the types {', '.join(TYPES)}: {CONVERT}")
    path = options.options[at].strip() if at else ""
    if not at or kind_name == "PEM" or path.lower().endswith(_PEM_FILES):
        why = "PEM files have no password; that of a private key is ssl.key.password" if at else f"no {which} is named"
        options.ignore(passwords, why)
        return StoreFile(path, option=options.prefix + at) if at else None
    return StoreFile(path, options.text(*passwords), options.prefix + at)


def _pem(text: str) -> str:
    """Return a PEM text with its line ends, which properties files write as the two characters ``\\n``."""
    return text.replace("\\n", "\n")
