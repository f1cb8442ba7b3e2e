"""Addresses of servers: taken apart, and tried by TCP connections, all at once."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from floe.side_by_side import side_by_side

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
