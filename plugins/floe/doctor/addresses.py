"""Addresses of servers: taken apart, and tried by a TCP connection."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator

CONNECT_SECONDS = 4.0


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


def unreachable_ones(servers: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Return which of some servers cannot be reached, and why."""
    return {named(host, port): why for host, port in servers if (why := unreachable(host, port))}
