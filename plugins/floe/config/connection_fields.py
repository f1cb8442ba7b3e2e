"""The fields of an Airflow connection, as a task reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

_SCHEMES: Final = ("http", "https")


@dataclass(frozen=True)
class ConnectionFields:
    """One Airflow connection. Printing it shows no secret."""

    conn_id: str
    conn_type: str = ""
    host: str = field(default="", repr=False)
    schema: str = ""
    port: int | None = None
    login: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    extra: Mapping[str, object] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, conn_id: str, found: Any) -> "ConnectionFields":
        """Return the fields of a connection as Airflow has it."""
        return cls(
            conn_id,
            found.conn_type or "",
            found.host or "",
            found.schema or "",
            found.port,
            found.login or "",
            found.password or "",
            found.extra_dejson,
        )

    @property
    def address(self) -> str:
        """The HTTP address that host, port and schema give; "" without a host.

        As Airflow's HTTP hook reads them: a host may be a whole address, and ``schema`` is http or https. Another schema is
        the path, as in a connection that is written as an address.
        """
        if not self.host:
            return ""
        if "://" in self.host:
            parts = urlsplit(self.host)
            has_port = self.port is None or parts.netloc.rpartition(":")[2].isdecimal()
            return self.host if has_port else parts._replace(netloc=f"{parts.netloc}:{self.port}").geturl()
        scheme = self.schema if self.schema in _SCHEMES else "https" if self.conn_type == "https" else "http"
        path = "" if self.schema in _SCHEMES else self.schema.strip("/")
        return f"{scheme}://{self.server}" + (f"/{path}" if path else "")

    @property
    def server(self) -> str:
        """Host and port, as an address has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port is not None else host


def text_of(value: object) -> str:
    """Return a value of the extra field as a configuration file would have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
