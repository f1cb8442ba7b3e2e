"""How a schema registry is reached, and how records name a schema: values, read once from a converter's options."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Final, Literal

from floe.tls.store_file import StoreFile

Api = Literal["confluent", "apicurio"]
IdKind = Literal["id", "guid", "globalId", "contentId"]
"""What an id counts: the schemas of Confluent's API, or Apicurio's versions (``globalId``) or contents (``contentId``).

``guid``: it is the number of 16 bytes that a GUID of Confluent's API is.
"""

ID_HEADERS: Final = ("globalId", "contentId", "contentHash", "groupId", "artifactId", "version", "msgType", "encoding")
"""The fields of a schema's identity that Apicurio's producers may put into headers."""


@dataclass(frozen=True)
class RegistryLogin:
    """User and password, for basic authentication. ``key``: the option that gives them, for messages."""

    user: str = field(repr=False)
    password: str = field(repr=False)
    key: str = ""


@dataclass(frozen=True)
class RegistryToken:
    """A token that does not change."""

    token: str = field(repr=False)
    key: str = ""


@dataclass(frozen=True)
class OAuthClient:
    """A client that gets its tokens with OAuth's client credentials, from ``token_url``."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    key: str = ""


Credentials = RegistryLogin | RegistryToken | OAuthClient


@dataclass(frozen=True)
class RegistryAddress:
    """One registry: ``url`` without login and without a slash at its end; ``login`` is the one that the URL had."""

    url: str
    login: RegistryLogin | None = None


@dataclass(frozen=True)
class TlsSettings:
    """Whom the client trusts and how it identifies itself: paths of PEM files, PEM texts, or Java's stores.

    Without ``ca_file``, ``ca_pem`` and ``truststore`` it trusts what the system trusts.
    """

    ca_file: str = ""
    ca_pem: str = ""
    certificate_file: str = ""
    key_file: str = ""
    certificate_pem: str = ""
    key_pem: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)
    truststore: StoreFile | None = None
    keystore: StoreFile | None = None
    verify_hostname: bool = True


@dataclass(frozen=True)
class RegistryLimits:
    """How long one request may take, and how it is repeated: seconds, and a number of retries."""

    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    retries: int = 3
    first_wait: float = 1.0
    max_wait: float = 20.0


@dataclass(frozen=True)
class SchemaIdFormat:
    """Where records have the id of their schema: after the magic byte, in ``nbytes`` bytes, or in headers.

    ``kind``: what the id counts. ``in_headers``: whether the headers are looked at first. ``header_names``: those that do
    not have their default name, by role and field.
    """

    nbytes: Literal[4, 8] = 4
    kind: IdKind = "id"
    in_headers: bool = False
    header_names: tuple[tuple[str, str, str], ...] = ()

    def header(self, role: Literal["key", "value"], name: str) -> str:
        """Return the name of a header; ``name`` is one of ``ID_HEADERS``."""
        given = (header for one, field_, header in self.header_names if (one, field_) == (role, name))
        return next(given, f"apicurio.{role}.{name}")


@dataclass(frozen=True)
class RegistrySettings:
    """A schema registry and its client: picklable; ``repr`` shows no secret.

    ``prefix``: before the keys that messages name. ``headers``: sent with each request.
    """

    api: Api
    addresses: tuple[RegistryAddress, ...]
    credentials: Credentials | None = None
    tls: TlsSettings = TlsSettings()
    proxy: tuple[str, int] | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    limits: RegistryLimits = RegistryLimits()
    ids: SchemaIdFormat = SchemaIdFormat()
    prefix: str = ""

    @property
    def identity(self) -> str:
        """Return a hash of what decides which schemas the client gets: addresses, credentials and headers."""
        login = [
            [one.url, *([one.login.user, one.login.password] if one.login else [])]
            for one in sorted(self.addresses, key=lambda one: one.url)
        ]
        given = vars(self.credentials) if self.credentials else {}
        credentials = {name: value for name, value in given.items() if name in _IDENTIFYING}
        tls = [self.tls.certificate_file, self.tls.certificate_pem]
        tls += [self.tls.keystore.path] if self.tls.keystore else []
        parts = [self.api, login, credentials, tls, sorted(self.headers)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    def secrets(self) -> dict[str, str]:
        """Return what must not be shown, under keys by which secrets are recognised."""
        found = {f"header.{name}": value for name, value in self.headers}
        for at, one in enumerate(self.addresses):
            found |= _secrets_of(one.login, f"url.{at}.") if one.login else {}
        found |= _secrets_of(self.credentials) if self.credentials else {}
        found |= {"ssl.key.password": self.tls.key_password, "ssl.key.pem": self.tls.key_pem}
        found |= {one.password_option: one.password for one in (self.tls.truststore, self.tls.keystore) if one}
        return {name: value for name, value in found.items() if value}


_IDENTIFYING = ("user", "password", "token", "token_url", "client_id", "client_secret", "scope")


def _secrets_of(credentials: Credentials, prefix: str = "") -> dict[str, str]:
    match credentials:
        case RegistryLogin():
            return {f"{prefix}basic.auth.user.info": f"{credentials.user}:{credentials.password}"}
        case RegistryToken():
            return {f"{prefix}bearer.auth.token": credentials.token}
        case OAuthClient():
            return {f"{prefix}bearer.auth.client.secret": credentials.client_secret}
