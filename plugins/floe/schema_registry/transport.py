"""One HTTP request and its whole answer: bounded in time and size, with few redirects, and none to another server."""

from __future__ import annotations

import http.client
import ssl
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from floe.config.schema_registry.settings import RegistryLimits, TlsSettings
from floe.http_answers import Deadline, TimedResponse
from floe.schema_registry.exceptions import NotARegistry, RegistryMisconfigured
from floe.tls.store_file import StoreFile, StoreUnusable
from floe.tls.stores import TlsIdentity, identity, trusted_certificates

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
MAX_REDIRECTS: Final = 3
_REDIRECTS = (301, 302, 307, 308)
_CHUNK_BYTES = 65_536


@dataclass(frozen=True)
class HttpAnswer:
    """An answer; the names of ``headers`` are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Transport:
    """How requests are sent: one connection each, as a worker asks for few schemas."""

    limits: RegistryLimits
    proxy: tuple[str, int] | None = None

    def request(
        self, url: str, headers: Mapping[str, str], context: ssl.SSLContext | None, body: bytes | None = None
    ) -> HttpAnswer:
        """Send GET, or POST with a body, and return the answer, whatever its status.

        The connect timeout and the read timeout together are for the whole exchange, its redirects included. Redirects are
        followed for GET and within the same server, so that credentials go to no other. Raises OSError and HTTPException
        where there is no answer, NotARegistry for an answer that is too large or leads elsewhere.
        """
        with Deadline(self.limits.connect_timeout + self.limits.read_timeout):
            return self._followed(url, headers, context, body)

    def _followed(
        self, url: str, headers: Mapping[str, str], context: ssl.SSLContext | None, body: bytes | None
    ) -> HttpAnswer:
        at = url
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._exchange(at, headers, context, body)
            if answer.status not in _REDIRECTS:
                return answer
            target = _target(at, answer)
            if body is not None or _server(target) != _server(url):
                msg = (
                    f"{url} redirects to {_server(target)}: floe sends credentials to the configured address only. "
                    "Set the address to that server, if it is the registry"
                )
                raise NotARegistry(msg)
            at = target
        msg = f"{url} redirects more than {MAX_REDIRECTS} times: check the address"
        raise NotARegistry(msg)

    def _exchange(
        self, url: str, headers: Mapping[str, str], context: ssl.SSLContext | None, body: bytes | None
    ) -> HttpAnswer:
        parts = urlsplit(url)
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection = self._connection(url, context)
        connection.response_class = TimedResponse
        try:
            connection.connect()
            connection.sock.settimeout(self.limits.read_timeout)
            # a proxy gets the whole address; through a tunnel, the server itself is spoken to
            named = url if self.proxy and parts.scheme == "http" else target
            connection.request("POST" if body is not None else "GET", named, body, dict(headers))
            with connection.getresponse() as response:
                found = {name.lower(): value for name, value in response.getheaders()}
                return HttpAnswer(response.status, self._body(connection, response, url), found)
        finally:
            connection.close()

    def _connection(self, url: str, context: ssl.SSLContext | None) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        via = self.proxy or (host, port)
        if parts.scheme != "https":
            return http.client.HTTPConnection(*via, timeout=self.limits.connect_timeout)
        connection = http.client.HTTPSConnection(*via, timeout=self.limits.connect_timeout, context=context)
        if self.proxy:
            connection.set_tunnel(host, port)
        return connection

    def _body(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, url: str) -> bytes:
        """Read the body, within the read timeout as a whole: a server that sends byte by byte does not hold the task."""
        end = time.monotonic() + self.limits.read_timeout
        parts: list[bytes] = []
        size = 0
        while chunk := response.read1(_CHUNK_BYTES):
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                msg = (
                    f"{url} answered with more than {MAX_BODY_BYTES} bytes, more than any schema has: check the address"
                )
                raise NotARegistry(msg)
            if time.monotonic() > end:
                msg = f"the answer was not complete after {self.limits.read_timeout:g} s"
                raise TimeoutError(msg)
        if response.length:
            rest = response.length
            raise http.client.IncompleteRead(b"".join(parts), rest)
        return b"".join(parts)


def _target(url: str, answer: HttpAnswer) -> str:
    """Return where a redirect leads; "" if it says nothing that is an address."""
    try:
        return urljoin(url, answer.headers.get("location", ""))
    except ValueError:
        return ""


def _server(url: str) -> str:
    """Return scheme, host and port of an address, for comparing and for messages."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        host = None
    if host is None:
        return "an address that cannot be read"
    return f"{parts.scheme}://{host.lower()}:{port}"


# TLS contexts of the standard library, from PEM files and texts and from Java's stores.


def registry_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context of connections to the registry. Raises RegistryMisconfigured."""
    context = _trusting(settings, also_system=False)
    context.check_hostname = settings.verify_hostname
    _identify(context, settings)
    return context


def token_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context for the server of tokens: it trusts the system's authorities besides, and has no certificate.

    Tokens often come from a public service, while the registry has a certificate of an authority of its own.
    """
    return _trusting(settings, also_system=True)


def _trusting(settings: TlsSettings, *, also_system: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    is_given = bool(settings.ca_file or settings.ca_pem or settings.truststore)
    try:
        if settings.truststore:
            _trust_store(context, settings.truststore)
        if settings.ca_file or settings.ca_pem:
            context.load_verify_locations(cafile=settings.ca_file or None, cadata=settings.ca_pem or None)
    except StoreUnusable as error:
        raise _unusable(error) from None
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        where = repr(settings.ca_file) if settings.ca_file else "the given text"
        msg = f"the registry's certificate authorities in {where} cannot be read: {_reason(error)}; PEM is needed"
        raise RegistryMisconfigured(msg) from None
    if also_system or not is_given:
        context.load_default_certs()
    return context


def _trust_store(context: ssl.SSLContext, store: StoreFile) -> None:
    """Trust the certificates of a store, as Java does: each by itself, whoever issued it. Raises StoreUnusable."""
    text = trusted_certificates(store)
    try:
        context.load_verify_locations(cadata=text)
    except ssl.SSLError as error:
        msg = f"{store.option} {store.path!r}: a certificate in it cannot be read: {_reason(error)}"
        raise StoreUnusable(msg) from None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _identify(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Load the client's own certificate, if there is one."""
    try:
        if settings.certificate_file:
            context.load_cert_chain(
                settings.certificate_file, settings.key_file or None, settings.key_password or _no_password
            )
        elif settings.certificate_pem:
            _load_texts(context, TlsIdentity(settings.certificate_pem, settings.key_pem, settings.key_password))
        elif settings.keystore:
            _load_texts(context, identity(settings.keystore, settings.key_password))
    except StoreUnusable as error:
        raise _unusable(error) from None
    except (OSError, ValueError) as error:
        msg = (
            f"the client's certificate and key for the registry, in {_place(settings)}, cannot be used: {_reason(error)}; "
            "they must belong together and be PEM or in a store, and ssl.key.password is needed if the key is encrypted"
        )
        raise RegistryMisconfigured(msg) from None


def _unusable(error: StoreUnusable) -> RegistryMisconfigured:
    msg = f"{error}. Nothing was asked of the registry"
    return RegistryMisconfigured(msg)


def _place(settings: TlsSettings) -> str:
    store = settings.keystore.path if settings.keystore and not settings.certificate_pem else ""
    path = settings.certificate_file or store
    return repr(path) if path else "the given texts"


def _load_texts(context: ssl.SSLContext, one: TlsIdentity) -> None:
    """Load texts through a file, which only this user can read and which is gone afterwards: OpenSSL reads files."""
    with tempfile.TemporaryDirectory(prefix="floe-") as folder:
        file = Path(folder, "client.pem")
        file.touch(mode=0o600)
        file.write_text(f"{one.certificates}\n{one.key}\n")
        context.load_cert_chain(file, None, one.key_password or _no_password)


def _no_password() -> str:
    """Refuse an encrypted key without a password; OpenSSL would ask at the terminal."""
    msg = "the key is encrypted"
    raise ValueError(msg)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "no PEM certificate or key in it"
    return getattr(error, "strerror", None) or str(error)
