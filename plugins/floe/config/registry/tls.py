"""The TLS options of a registry's client: Java's stores of type PEM, and librdkafka's names of PEM files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from floe.config.keys.option_reader import OptionReader
from floe.config.registry.settings import TlsSettings

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
    """The options of one client. ``store`` prefixes begin Java's names; the other names are of PEM files and texts."""

    stores: tuple[str, ...]
    ca_file: tuple[str, ...]
    certificate_file: tuple[str, ...] = ()
    key_file: tuple[str, ...] = ()

    def store(self, name: str) -> tuple[str, ...]:
        """Return the spellings of an option of a store."""
        return tuple(prefix + name for prefix in self.stores)


CONFLUENT: Final = TlsNames(("ssl.",), ("ssl.ca.location",), ("ssl.certificate.location",), ("ssl.key.location",))
APICURIO: Final = TlsNames(
    ("apicurio.registry.request.ssl.", "apicurio.rest.request.ssl."), ("apicurio.rest.request.ssl.ca-bundle.location",)
)


def read_tls(options: OptionReader, names: TlsNames) -> TlsSettings:
    """Read the options. Stores of other types than PEM are problems: only Java reads them."""
    keystore = _store(options, names, "keystore")
    algorithm = options.key(*names.store("endpoint.identification.algorithm"))
    # given and empty, it switches the check of the name off
    is_off = any(name in options.options for name in _spelled(options, names)) and algorithm is None
    options.ignore(_WITHOUT_EFFECT, "TLS 1.2 and newer are used, with OpenSSL's own choice of ciphers")
    return TlsSettings(
        ca_file=options.text(*names.ca_file) or _store(options, names, "truststore"),
        ca_pem=_pem(options.text(*names.store("truststore.certificates"))),
        certificate_file=(options.text(*names.certificate_file) if names.certificate_file else "") or keystore,
        key_file=(options.text(*names.key_file) if names.key_file else "") or keystore,
        certificate_pem=_pem(options.text(*names.store("keystore.certificate.chain"))),
        key_pem=_pem(options.text(*names.store("keystore.key"))),
        key_password=options.text(*names.store("key.password")),
        verify_hostname=not is_off,
    )


def _spelled(options: OptionReader, names: TlsNames) -> list[str]:
    found = names.store("endpoint.identification.algorithm")
    return [*found, *(options.namespace + name for name in found)]


def _store(options: OptionReader, names: TlsNames, which: str) -> str:
    """Return the file of a store, which must be PEM: by its type, or by the end of its name."""
    at = options.key(*names.store(f"{which}.location"))
    kind = options.text(*names.store(f"{which}.type")).upper()
    passwords = names.store(f"{which}.password")
    path = options.options[at].strip() if at else ""
    is_pem = kind == "PEM" or (not kind and path.lower().endswith(_PEM_FILES))
    if at and not is_pem:
        type_key = f"{at.removesuffix('location')}type"
        options.refuse_value(
            at,
            f"a store of type {kind or 'JKS'} is read by Java only: write its certificates as PEM (keytool -exportcert "
            f"-rfc, openssl pkcs12), and set {options.prefix}{type_key}=PEM",
        )
    options.ignore(passwords, "PEM files have no password; that of a private key is ssl.key.password")
    return path


def _pem(text: str) -> str:
    """Return a PEM text with its line ends, which properties files write as the two characters ``\\n``."""
    return text.replace("\\n", "\n")
