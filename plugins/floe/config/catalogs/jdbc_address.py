"""Addresses of JDBC, and the properties of Java's database drivers, as SQLAlchemy's addresses.

A driver's property may be in the address, after ``?``, and as ``jdbc.<property>`` beside it; the address counts, as in
Java. Texts of errors have no values: an address may contain a password.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlencode

START: Final = "jdbc:"
DATABASES: Final = "jdbc:postgresql://, jdbc:mysql:// or jdbc:sqlite:"

_LOGIN: Final = ("user", "password")
MYSQL_TLS: Final = ("useSSL", "requireSSL", "verifyServerCertificate", "sslMode")
"""Properties of MySQL's driver for TLS."""
OF_MYSQL: Final = (
    "jdbc.{name} is not translated for postgresql, as it is of MySQL's driver: remove it, and set jdbc.sslmode, to "
    "verify-full for TLS with a certificate that is checked"
)
_SERVER_TYPES: Final = {
    "any": "any",
    "primary": "primary",
    "master": "primary",
    "preferPrimary": "any",
    "secondary": "standby",
    "slave": "standby",
    "preferSecondary": "prefer-standby",
    "preferSlave": "prefer-standby",
}
_TLS_MODES: Final[Mapping[str, Mapping[str, str]]] = {
    "DISABLED": {"ssl_disabled": "true"},
    "PREFERRED": {},
    "REQUIRED": {"ssl_verify_cert": "false"},
    "VERIFY_CA": {"ssl_verify_cert": "true"},
}
"""PyMySQL's settings, by the driver's modes."""

NO_EFFECT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("prepareThreshold", "preparedStatementCacheQueries", "preparedStatementCacheSizeMiB"),
            *("databaseMetadataCacheFields", "databaseMetadataCacheFieldsMiB", "defaultRowFetchSize"),
            *("reWriteBatchedInserts", "binaryTransfer", "preferQueryMode", "autosave", "cleanupSavepoints"),
            *("assumeMinServerVersion", "disableColumnSanitiser", "stringtype", "unknownLength"),
            *("cachePrepStmts", "prepStmtCacheSize", "prepStmtCacheSqlLimit", "useServerPrepStmts"),
            *("rewriteBatchedStatements", "useUnicode", "characterEncoding", "serverTimezone", "autoReconnect"),
        ),
        "it tunes Java's driver, which floe does not use",
    ),
    **dict.fromkeys(
        ("loggerLevel", "loggerFile", "logUnclosedConnections"),
        "it is of the log of Java's driver, which floe does not use",
    ),
    "socketTimeout": "floe's driver has no such limit; set jdbc.tcpKeepAlive to true, so that a dead connection is noticed",
}
"""Properties of Java's drivers that change nothing a catalog is asked for, and why they do nothing here."""


class AddressRefused(ValueError):
    """An address, or a driver's property, that has no counterpart here. The text completes ``iceberg.catalog.``."""


def _milliseconds(value: str) -> str:
    return str(max(1, round(int(value) / 1000)))


def _flag(value: str) -> str:
    return "1" if value.strip().lower() == "true" else "0"


def _balance(value: str) -> str:
    return "random" if value.strip().lower() == "true" else "disable"


def _server_type(value: str) -> str:
    return _SERVER_TYPES[value]


def _same(value: str) -> str:
    return value


Convert = Callable[[str], str]

_POSTGRESQL: Final[Mapping[str, tuple[str, Convert]]] = {
    **{name: (name, _same) for name in ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "options")},
    "ApplicationName": ("application_name", _same),
    "connectTimeout": ("connect_timeout", _same),
    "loginTimeout": ("connect_timeout", _same),
    "tcpKeepAlive": ("keepalives", _flag),
    "targetServerType": ("target_session_attrs", _server_type),
    "loadBalanceHosts": ("load_balance_hosts", _balance),
    "gssEncMode": ("gssencmode", _same),
    "channelBinding": ("channel_binding", _same),
    "kerberosServerName": ("krbsrvname", _same),
}
_MYSQL: Final[Mapping[str, tuple[str, Convert]]] = {"connectTimeout": ("connect_timeout", _milliseconds)}
_SQLITE: Final[Mapping[str, tuple[str, Convert]]] = {"busy_timeout": ("timeout", _milliseconds)}
_OWN: Final = {"postgresql": ("ssl", "currentSchema"), "mysql": MYSQL_TLS, "sqlite": ()}
"""Properties that are not one of the library's."""
_TABLES: Final = {"postgresql": _POSTGRESQL, "mysql": _MYSQL, "sqlite": _SQLITE}

PROPERTIES: Final = tuple(
    sorted({*_LOGIN, *(name for kind, table in _TABLES.items() for name in (*table, *_OWN[kind]))})
)
"""Every property of a driver that is translated, for one database or another."""


@dataclass(frozen=True)
class JdbcAddress:
    """A database. ``hosts``: with their ports, empty for SQLite and for a local socket; ``properties``: Java's, by name."""

    kind: str
    hosts: str
    database: str
    properties: Mapping[str, str]

    @classmethod
    def of(cls, address: str, given: Mapping[str, str]) -> JdbcAddress:
        """Read an address; ``given``: properties from elsewhere. Raises AddressRefused."""
        kind, _, rest = address.removeprefix(START).partition(":")
        plain, _, query = rest.partition("?")
        if kind == "sqlite":
            found = cls(kind, "", _sqlite_file(plain), {})
        elif kind in _TABLES:
            found = cls(kind, *_server(plain), {})
        else:
            msg = (
                f"uri is of a database that is not known, {START}{kind[:50]}: set {DATABASES}, or SQLAlchemy's own "
                "address of another one, as mssql+pyodbc://…, and install its driver"
            )
            raise AddressRefused(msg)
        pairs = (pair.partition("=") for pair in re.split("[&;]", query) if pair)
        own = {unquote(name): unquote(value) for name, _, value in pairs}
        return cls(found.kind, found.hosts, found.database, {**given, **own})

    def for_sqlalchemy(self) -> str:
        """Return SQLAlchemy's address, with login and password. Raises AddressRefused for a property without counterpart."""
        query = urlencode(self._query())
        end = f"?{query}" if query else ""
        database = quote(self.database, safe="/")
        if self.kind == "sqlite":
            return f"sqlite:///{database}{end}"
        user, password = (quote(self.properties.get(name, ""), safe="") for name in _LOGIN)
        login = f"{user}:{password}@" if password else f"{user}@" if user else ""
        driver = "postgresql+psycopg" if self.kind == "postgresql" else "mysql+pymysql"
        if "," not in self.hosts:
            return f"{driver}://{login}{self.hosts}/{database}{end}"
        hosts = "&".join(f"host={quote(one, safe=':[]')}" for one in self.hosts.split(","))
        return f"{driver}://{login}/{database}?{hosts}{f'&{query}' if query else ''}"

    def _query(self) -> dict[str, str]:
        table, made = _TABLES[self.kind], dict[str, str]()
        for name, value in self.properties.items():
            if name in _LOGIN or name in NO_EFFECT or name in _OWN[self.kind]:
                continue
            if name not in table:
                raise AddressRefused(self._unknown(name))
            key, convert = table[name]
            try:
                made[key] = convert(value)
            except (ValueError, KeyError):
                msg = f"jdbc.{name} has a value that Java's driver does not have either: correct it"
                raise AddressRefused(msg) from None
        return {**self._own_query(), **made}

    def _own_query(self) -> dict[str, str]:
        given = self.properties
        if self.kind == "mysql":
            return _mysql_tls(given)
        made = {}
        if self.kind == "postgresql" and given.get("ssl", "").strip().lower() == "true":
            made["sslmode"] = "verify-full"  # as Java's driver
        if schema := given.get("currentSchema") if self.kind == "postgresql" else None:
            if "options" in given:
                msg = "jdbc.currentSchema and jdbc.options are both set: add -c search_path=<schema> to jdbc.options alone"
                raise AddressRefused(msg)
            made["options"] = "-csearch_path=" + re.sub(r"([\\\s])", r"\\\1", schema)
        return made

    def _unknown(self, name: str) -> str:
        if self.kind == "postgresql" and name in MYSQL_TLS:
            return OF_MYSQL.format(name=name)
        known = sorted({*_LOGIN, *_TABLES[self.kind], *_OWN[self.kind]})
        return (
            f"jdbc.{name[:100]} is not translated for {self.kind}: remove it, or set one of "
            f"{', '.join(f'jdbc.{one}' for one in known)}"
        )


def _sqlite_file(plain: str) -> str:
    path = plain.removeprefix("file:")
    path = f"/{path.lstrip('/')}" if path.startswith("/") else path
    if not path or path == ":memory:":
        msg = (
            "uri is of a database in memory, which every process has for itself: name a file, jdbc:sqlite:/folder/file"
        )
        raise AddressRefused(msg)
    return path


def _server(plain: str) -> tuple[str, str]:
    if not plain.startswith("//"):  # jdbc:postgresql:database
        return "localhost", _name_of(unquote(plain.lstrip("/")))
    hosts, _, database = plain.removeprefix("//").partition("/")
    if "@" in hosts:
        msg = "uri has a login before the host, which no address of JDBC has: set jdbc.user and jdbc.password"
        raise AddressRefused(msg)
    return hosts or "localhost", _name_of(unquote(database))


def _name_of(database: str) -> str:
    """Return a database's name. Raises AddressRefused for what other drivers write behind it, which may be a login."""
    if re.search(r"[;\x00-\x1f]", database):
        msg = "uri has a ; or a control character in the database's name: write the driver's properties after ?"
        raise AddressRefused(msg)
    return database


def _mysql_tls(given: Mapping[str, str]) -> dict[str, str]:
    """Return PyMySQL's settings for TLS. Their texts are read by it: any text of an identity check means yes."""
    is_on = {name: given.get(name, "").strip().lower() == "true" for name in MYSQL_TLS}
    mode = given.get("sslMode", "").strip().upper()
    if not mode:
        is_off = given.get("useSSL", "true").strip().lower() == "false"
        is_required = "REQUIRED" if is_on["requireSSL"] else "PREFERRED"
        mode = "DISABLED" if is_off else "VERIFY_CA" if is_on["verifyServerCertificate"] else is_required
    if mode == "VERIFY_IDENTITY":
        msg = (
            "jdbc.sslMode VERIFY_IDENTITY needs the authority's certificate in a file: set uri to "
            "mysql+pymysql://user:password@host/database?ssl_ca=<file>&ssl_verify_identity=true"
        )
        raise AddressRefused(msg)
    if mode not in _TLS_MODES:
        msg = f"jdbc.sslMode is none of {', '.join(_TLS_MODES)}: set one of them"
        raise AddressRefused(msg)
    return dict(_TLS_MODES[mode])
