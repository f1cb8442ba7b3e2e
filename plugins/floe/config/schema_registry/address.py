"""Addresses of registries and of token endpoints, the headers that are sent there, and their TLS."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from floe.config.keys.reader import OptionReader
from floe.config.keys.values import parse_list
from floe.config.schema_registry.settings import RegistryAddress, RegistryLogin, TlsSettings
from floe.config.secrets.detection import is_reference, shown_address
from floe.tls.store_file import CONVERT, TYPES, StoreFile

_SCHEMES = ("http", "https")


def read_addresses(options: OptionReader, *names: str) -> tuple[RegistryAddress, ...]:
    """Read one address or several with commas between; one at least is needed."""
    key = options.key(*names)
    if key is None:
        options.miss(f"{options.prefix}{names[0]} is not given: set it to the address of the schema registry")
        return ()
    found = [_address(options, key, part) for part in parse_list(options.options[key])]
    return tuple(address for address in found if address is not None)


def read_url(options: OptionReader, *names: str) -> str:
    """Read an address without a login; "" if it is not given."""
    key = options.key(*names)
    address = _address(options, key, options.options[key].strip()) if key else None
    if address is not None and address.login is not None:
        options.refuse(key, "the address has a login: give user and secret by their own options")
    return address.url if address else ""


def read_login(options: OptionReader, key: str) -> RegistryLogin:
    """Read ``user:password``."""
    text = options.options[key].strip()
    user, has_password, password = text.partition(":")
    if not (has_password and user) and not is_reference(text):
        options.refuse(key, "write it as user:password")
    return RegistryLogin(user, password, key)


def read_proxy(options: OptionReader, namespace: str = "") -> tuple[str, int] | None:
    """Read ``proxy.host`` and ``proxy.port``; Java's default of the port, -1, means that there is no proxy.

    ``namespace``: before both names.
    """
    names = f"{namespace}proxy.host", f"{namespace}proxy.port"
    host, has_port = options.text(names[0]), options.text(names[1]) not in ("", "-1")
    port = int(options.number(names[1], 0, 65_535, 1)) if has_port else 0
    if bool(host) != has_port:
        options.refuse(None, f"{options.prefix}{names[0]} and {names[1]}: give both, or neither")
    return (host, port) if host and port else None


def _address(options: OptionReader, key: str, text: str) -> RegistryAddress | None:
    if is_reference(text):
        return RegistryAddress(text)
    why = _problem(text)
    if why:
        options.refuse(key, f"{shown_address(text)[:200]!r} {why}")
        return None
    parts = urlsplit(text)
    server = parts.netloc.rpartition("@")[2]
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    login = RegistryLogin(user, password, key) if "@" in parts.netloc else None
    return RegistryAddress(f"{parts.scheme}://{server}{parts.path.rstrip('/')}", login)


def _problem(text: str) -> str | None:
    """Return why a text is no address of a server."""
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return "is no address: write http:// or https://, the host, and the port"
    if not text.isascii() or not text.isprintable() or " " in text:
        return "has characters that no address has: write them as %XX"
    if parts.scheme not in _SCHEMES or not has_host:
        return "is no address: write http:// or https://, the host, and the port"
    if parts.query or parts.fragment:
        return "has a query or a fragment: write the address without it"
    return None


# Headers that are sent to a registry with each request.


_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def read_headers(options: OptionReader, *prefixes: str) -> dict[str, str]:
    """Return the headers below the prefixes, by name: texts that HTTP can send (RFC 9110, section 5)."""
    found: dict[str, str] = {}
    for key, value in options.options.items():
        prefix = next((one for one in prefixes if key.startswith(one)), None)
        if prefix is None:
            continue
        options.used.add(key)
        name = key.removeprefix(prefix)
        if not _NAME.fullmatch(name):
            options.refuse(
                key[:100], "what follows the prefix is no name of a header: write letters, digits and hyphens"
            )
        check_sendable(options, key, value)
        found[name] = value
    return found


def check_sendable(options: OptionReader, key: str, value: str) -> None:
    """Refuse a value that no header can have; it may be a secret and is not shown."""
    if not (_VALUE.fullmatch(value) or is_reference(value)):
        options.refuse(key, "the value has a line break or another character that no header can have: remove it")


# The TLS options of a registry's client: Java's stores, and librdkafka's names of PEM files.


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
