"""Addresses of servers, tried by TCP connections all at once, and what listens there."""

from __future__ import annotations

import enum
import ipaddress
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, TypeVar

from cryptography import x509

from floe.side_by_side import side_by_side

# Addresses of servers: taken apart, and tried by TCP connections, all at once.


T = TypeVar("T")

CONNECT_SECONDS = 4.0
MAX_SECONDS = 20.0
"""For all servers that are asked at once."""


def servers_of(text: str, default_port: int) -> Iterator[tuple[str, int]]:
    """Yield host and port of each server in a list like ``a:9092, [::1]:9092, SASL_SSL://b:9093``.

    A port that is no number is 0, which nothing listens on.
    """
    for one in (part.strip() for part in text.split(",")):
        if not one:
            continue
        address = one.rpartition("://")[2]
        host, colon, port = address.rpartition(":")
        if not colon or address.endswith("]"):
            yield address.strip("[]"), default_port
        else:
            yield host.strip("[]"), int(port) if port.isdecimal() and len(port) < 6 else 0


def named(host: str, port: int) -> str:
    """Write host and port as an address has them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def unreachable(host: str, port: int, seconds: float = CONNECT_SECONDS) -> str | None:
    """Try to connect; return why not, None where it works."""
    try:
        with socket.create_connection((host, port), timeout=seconds):
            return None
    except TimeoutError:
        return f"no connection within {seconds:g} s"
    except socket.gaierror as error:
        return f"the name is not known ({error.strerror})"
    except (OSError, OverflowError, UnicodeError) as error:
        return getattr(error, "strerror", None) or str(error)


def ask_all(
    servers: Sequence[tuple[str, int]], ask: Callable[[str, int], T], seconds: float = MAX_SECONDS
) -> dict[str, T | None]:
    """Return what each server answers, by its address; None for one that has not answered in time."""
    jobs = {named(*server): partial(ask, *server) for server in servers}
    found = dict(side_by_side(jobs, len(jobs), time.monotonic() + seconds))
    return {name: found.get(name) for name in jobs}


# What listens at an address: Kafka, TLS, HTTP, or something that sends nothing. It is asked in each protocol's own
# bytes.


ANSWER_SECONDS: Final = 5.0

_CORRELATION: Final = b"floe"
_API_VERSIONS: Final = struct.pack(">hh4sh", 18, 0, _CORRELATION, -1)
"""A request of Kafka that needs no login (key 18, version 0), without its size."""
_KAFKA_REQUEST: Final = struct.pack(">i", len(_API_VERSIONS)) + _API_VERSIONS
_HTTP_REQUEST: Final = b"GET / HTTP/1.0\r\n\r\n"
_HTTP2_REQUEST: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""The preface of a client, and its settings, which are empty."""
_HTTP2_SETTINGS: Final = 4
"""The kind of the frame that a server sends first."""
_HEAD_BYTES: Final = 8
_ALERT: Final = b"\x15\x03"
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "EOF", "RECORD_LAYER", "PACKET_LENGTH", "HTTP")
"""In the reasons for which a handshake failed because the other side does not speak TLS."""


class Spoken(enum.Enum):
    """What was found to be spoken, in words for a finding."""

    KAFKA = "speaks Kafka without TLS"
    TLS = "speaks TLS"
    HTTP = "speaks HTTP: it is no broker"
    NOTHING = "takes connections and sends no answer"


class Certificate(NamedTuple):
    """A server's certificate. ``names``: hosts that it is for, as it has them."""

    begin: datetime
    end: datetime
    names: tuple[str, ...]

    def fault(self, host: str, now: datetime) -> str | None:
        """Return why a client that connects to ``host`` does not take it, as far as dates and names go."""
        if now > self.end:
            return f"has a certificate that expired at {self.end:%Y-%m-%d %H:%M} UTC"
        if now < self.begin:
            return f"has a certificate that is not valid before {self.begin:%Y-%m-%d %H:%M} UTC"
        if self.names and not any(_is_of(name.lower(), host.lower()) for name in self.names):
            return f"has a certificate for {', '.join(map(repr, self.names[:5]))}"
        return None


class Listener(NamedTuple):
    """What listens; ``certificate``: None where none was seen."""

    spoken: Spoken
    certificate: Certificate | None = None


def listener_at(host: str, port: int, *, tls: bool) -> Listener:
    """Ask in the protocol that is expected first, then in the others; about four times ``ANSWER_SECONDS`` at most."""
    if not tls and (plain := _plain(host, port, _KAFKA_REQUEST)) is not None:
        return Listener(plain)
    if (found := _with_tls(host, port)) is not None:
        return found
    if tls and (plain := _plain(host, port, _KAFKA_REQUEST)) is not None:
        return Listener(plain)
    return Listener(_plain(host, port, _HTTP_REQUEST) or Spoken.NOTHING)


def speaks_http2(host: str, port: int, *, tls: bool) -> bool:
    """Whether a server begins HTTP/2, as those of gRPC do."""
    head = b""
    try:
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS) as connection:
            connection.settimeout(ANSWER_SECONDS)
            context = _trusting()
            context.set_alpn_protocols(["h2"])
            with context.wrap_socket(connection, server_hostname=host) if tls else connection as one:
                head = _exchange(one, _HTTP2_REQUEST)
    except (OSError, ValueError):
        return False
    return len(head) > 3 and head[3] == _HTTP2_SETTINGS


def _plain(host: str, port: int, request: bytes) -> Spoken | None:
    """Send a request and look at the beginning of the answer; None where that says nothing."""
    try:
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS) as connection:
            connection.settimeout(ANSWER_SECONDS)
            head = _exchange(connection, request)
    except OSError:
        return None
    if head[4:] == _CORRELATION:
        return Spoken.KAFKA
    if head.startswith(b"HTTP"):
        return Spoken.HTTP
    return Spoken.TLS if head.startswith(_ALERT) else None


def _with_tls(host: str, port: int) -> Listener | None:
    """Begin TLS; None where the other side does not speak it. Nothing is sent, so no certificate has to be trusted."""
    context = _trusting()
    try:
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS) as connection:
            connection.settimeout(ANSWER_SECONDS)
            with context.wrap_socket(connection, server_hostname=host) as tls:
                der = tls.getpeercert(binary_form=True)
    except ssl.SSLError as error:
        reason = str(error.reason or error)
        return None if any(one in reason.upper() for one in _NO_TLS) else Listener(Spoken.TLS)
    except (OSError, ValueError):
        return None
    return Listener(Spoken.TLS, None if der is None else _certificate(der))


def _trusting() -> ssl.SSLContext:
    """Return settings that take any certificate: nothing that is sent by them is a secret."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _exchange(connection: socket.socket, request: bytes) -> bytes:
    """Send a request; return the first bytes of what arrives, which may be none. Raises OSError where sending fails."""
    connection.sendall(request)
    head = b""
    with suppress(OSError):  # what arrived before says enough
        while len(head) < _HEAD_BYTES and (more := connection.recv(_HEAD_BYTES - len(head))):
            head += more
    return head


def _certificate(der: bytes) -> Certificate | None:
    """Read a certificate; None for one that cannot be read: the client of Kafka says what is wrong with it."""
    try:
        found = x509.load_der_x509_certificate(der)
        begin, end = found.not_valid_before_utc, found.not_valid_after_utc
        extension = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return Certificate(begin, end, ())
    except ValueError:
        return None
    addresses = extension.get_values_for_type(x509.IPAddress)
    return Certificate(begin, end, (*extension.get_values_for_type(x509.DNSName), *map(str, addresses)))


def _is_of(name: str, host: str) -> bool:
    """Whether a name of a certificate, ``*.example.com`` too, is that of a host."""
    try:
        return ipaddress.ip_address(name) == ipaddress.ip_address(host)
    except ValueError:
        pass  # at least one of them is a name
    if name.startswith("*."):
        return host.partition(".")[2] == name[2:]
    return name == host.removesuffix(".")
