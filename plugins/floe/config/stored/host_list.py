"""The hosts that a connector made by REST may name, and the only form of address that is compared with them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from floe.config.secrets.detection import shown_address

VARIABLE: Final = "FLOE_REST_HOSTS"

_ADDRESS: Final = re.compile(
    r"""
    (?:(?P<scheme>(?:jdbc:)?[A-Za-z][A-Za-z0-9+._-]*)://)?
    (?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])
    (?::(?P<port>[0-9]{1,5}))?
    (?P<path>/[A-Za-z0-9._~/:=+-]*)?
    """,
    re.VERBOSE | re.ASCII,
)
_PORTS: Final = {"http": "80", "https": "443"}
_NO_HOST: Final = ("file", "sqlite")
_SHOWN: Final = 200


@dataclass(frozen=True)
class Address:
    """The parts of an address; in lower case, but for ``path``. An address with a login or a query is none."""

    scheme: str
    host: str
    port: str
    path: str

    @classmethod
    def of(cls, text: str) -> Address | None:
        found = _ADDRESS.fullmatch(text)
        if found is None or ".." in (found["path"] or ""):
            return None
        scheme = (found["scheme"] or "").lower()
        if scheme.removeprefix("jdbc:").partition("+")[0] in _NO_HOST:
            return None
        return cls(scheme, found["host"].lower(), found["port"] or _PORTS.get(scheme, ""), found["path"] or "")


@dataclass(frozen=True)
class HostPattern:
    """One entry of the list: ``host``, ``host:port`` or ``scheme://host:port``; ``*`` in a host and as a port is any.

    Without a port: that of http or https, else any.
    """

    scheme: str
    host: str
    port: str

    @classmethod
    def of(cls, text: str) -> HostPattern:
        scheme, has_scheme, rest = text.strip().lower().rpartition("://")
        host, has_port, port = rest.rpartition(":")
        if not has_port or rest.endswith("]"):
            host, port = rest, ""
        scheme = scheme if has_scheme else ""
        return cls(scheme, host, "" if port == "*" else port or _PORTS.get(scheme, ""))

    def allows(self, address: Address) -> bool:
        """Whether an address is of this entry."""
        return (
            self.scheme in ("", address.scheme)
            and fnmatchcase(address.host, self.host.replace("[", "[[]"))
            and self.port in ("", address.port)
        )


@dataclass(frozen=True)
class HostList:
    """The entries of ``FLOE_REST_HOSTS``; without any, no address is allowed."""

    patterns: tuple[HostPattern, ...] = ()

    @classmethod
    def of(cls, text: str) -> HostList:
        """Read entries with commas between."""
        return cls(tuple(HostPattern.of(part) for part in text.split(",") if part.strip()))

    def problem(self, text: str) -> str | None:
        """Return why a list of addresses is not allowed; None if each of them is."""
        for part in text.split(","):
            address = Address.of(part.strip())
            if address is None:
                shown = shown_address(part.strip())[:_SHOWN]
                return (
                    f"{shown!r} is no address that a connector made by REST may name: it is written "
                    "scheme://host:port/path, without a login and a query"
                )
            if not any(pattern.allows(address) for pattern in self.patterns):
                return f"{part.strip()[:_SHOWN]!r} is not in {VARIABLE} of Airflow's environment: the operator adds it there"
        return None
