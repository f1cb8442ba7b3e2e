"""Catalogs in an SQL database: PyIceberg's ``sql``, which shares its tables with Java's JdbcCatalog."""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from floe.config.catalogs.base import PREFIX, CatalogType, no_effect, refused, taken, translated
from floe.config.catalogs.jdbc_address import (
    DATABASES,
    MYSQL_TLS,
    NO_EFFECT,
    OF_MYSQL,
    PROPERTIES,
    START,
    AddressRefused,
    JdbcAddress,
)
from floe.config.connection_fields import ConnectionFields
from floe.config.engine import Engine
from floe.config.secrets.detection import is_reference

_DIALECT: Final = re.compile(r"(sqlite|postgresql|mysql|mariadb|mssql|oracle)(\+[a-z0-9_]+)?")
_DRIVER: Final = "jdbc."
_VERSION: Final = "schema_version"
_POOL_CHECK: Final = "pool_pre_ping"

_KEYS: Final = (
    translated(
        f"{_DRIVER}schema-version", _VERSION, "V0 or V1; tables that floe creates are of V1, which V0's readers read"
    ),
    translated(f"{_DRIVER}init-catalog-tables", "init_catalog_tables", "false: floe creates no tables in the database"),
    no_effect(f"{_DRIVER}strict-mode", "floe creates a table's namespace before the table, and needs none without one"),
    refused("user", "the login to the database is jdbc.user and jdbc.password: set those"),
    no_effect("clients", "floe uses one connection at a time, and more where threads need them"),
    no_effect("retryable_status_codes", "floe decides by the database's error whether to try again"),
    *(no_effect(f"{_DRIVER}{name}", reason) for name, reason in NO_EFFECT.items()),
    *(taken(f"{_DRIVER}{name}") for name in PROPERTIES),
    refused(
        f"{_DRIVER}*",
        f"floe knows no such property of a driver of {DATABASES}. Remove it, or set the one of the same meaning "
        "that the documentation of SQL catalogs has",
    ),
)


def to_pyiceberg(given: Mapping[str, str]) -> dict[str, str]:
    """Return SQLAlchemy's address for JDBC's, with user and password.

    What cannot be translated is returned as it is, and so are the driver's properties while there is no address: it may be
    in PyIceberg's own configuration. :func:`problems` says what is wrong with them.
    """
    made = dict(given)
    if _VERSION in made:
        made[_VERSION] = made[_VERSION].strip().lower()
    uri = given.get("uri", "")
    if uri.startswith(START):
        try:
            made["uri"] = JdbcAddress.of(uri, _driver_properties(given)).for_sqlalchemy()
        except AddressRefused:
            return made
        made = {key: value for key, value in made.items() if not key.startswith(_DRIVER)}
    elif uri.startswith("postgresql:"):
        made["uri"] = f"postgresql+psycopg:{uri.partition(':')[2]}"  # whatever this SQLAlchemy's own default is
    if uri and not uri.startswith(("sqlite", f"{START}sqlite")):
        made.setdefault(_POOL_CHECK, "true")  # a connection that a restart of the server broke is replaced
    return made


def to_spark(given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of Java's JdbcCatalog; SQLAlchemy's addresses of SQLite and PostgreSQL become JDBC's."""
    made = {**given, "type": "jdbc"}
    for name, key in ((_VERSION, "schema-version"), ("init_catalog_tables", "init-catalog-tables")):
        if name in made:
            made[f"{_DRIVER}{key}"] = made.pop(name)
    made.pop(_POOL_CHECK, None)
    made.pop("echo", None)
    uri = given.get("uri", "")
    kind, _, rest = uri.partition(":")
    if kind.startswith("sqlite"):
        made["uri"] = f"{START}sqlite:{unquote(rest.removeprefix('///'))}"
    elif kind.startswith(("postgresql", "mysql")):
        found = urlsplit(uri)
        hosts = found.netloc.rpartition("@")[2]
        query = f"?{found.query}" if found.query else ""
        made["uri"] = f"{START}{kind.partition('+')[0]}://{hosts}{found.path}{query}"
        login = {"user": found.username, "password": found.password}
        made |= {f"{_DRIVER}{name}": unquote(value) for name, value in login.items() if value}
    return made


def problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with an address and a driver's properties. The address may be a secret."""
    version = given.get(f"{_DRIVER}schema-version", given.get(_VERSION, "V1"))
    if not is_reference(version) and version.strip().upper() not in ("V0", "V1"):
        yield f"{PREFIX}{_DRIVER}schema-version is none that a catalog has: set V0 or V1"
    uri = given.get("uri")
    if uri is None or is_reference(uri):
        return
    if uri.startswith(START):
        yield from _jdbc_problems(uri, given)
        return
    if not _DIALECT.fullmatch(uri.partition(":")[0]):
        yield (
            f"{PREFIX}uri is of no database that SQLAlchemy has: sqlite, postgresql, mysql, mariadb, mssql and oracle; "
            f"or give Java's address, {DATABASES}"
        )
    if beside := sorted(_driver_properties(given)):
        yield (
            f"{PREFIX}{_DRIVER}{beside[0]} goes with an address of JDBC, and {PREFIX}uri is SQLAlchemy's: set it to "
            f"{DATABASES}, or write user, password and options into it"
        )
    if re.search(r"[?&]plugin=", uri):
        yield f"{PREFIX}uri names a plugin of SQLAlchemy, which is code: only the operator's environment does. Leave it out"


def _jdbc_problems(uri: str, given: Mapping[str, str]) -> Iterator[str]:
    plain = {name: value for name, value in _driver_properties(given).items() if not is_reference(value)}
    others = [name for name in MYSQL_TLS if name in plain] if uri.startswith(f"{START}postgresql:") else []
    for name in others:
        yield f"{PREFIX}{OF_MYSQL.format(name=name)}"
    try:
        JdbcAddress.of(uri, {name: value for name, value in plain.items() if name not in others}).for_sqlalchemy()
    except AddressRefused as error:
        yield f"{PREFIX}{error}"


def _driver_properties(given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a driver without their prefix; those that every table of keys refuses are left to it."""
    names = {*PROPERTIES, *NO_EFFECT}
    found = {key.removeprefix(_DRIVER): value for key, value in given.items() if key.startswith(_DRIVER)}
    return {name: value for name, value in found.items() if name in names}


_JDBC: Final = {"postgres": "postgresql", "mysql": "mysql"}


def _of_sql(connection: ConnectionFields, known: Mapping[str, str]) -> dict[str, str]:
    made = {}
    if dialect := _JDBC.get(connection.conn_type):
        made["uri"] = f"jdbc:{dialect}://{connection.server}/{connection.schema}" if connection.host else ""
    if known.keys().isdisjoint(("jdbc.user", "jdbc.password")):
        made |= {"jdbc.user": connection.login, "jdbc.password": connection.password}
    return made


SQL: Final = CatalogType(
    "sql",
    Engine("floe.catalogs.providers.sql.provider:SqlProvider"),
    conn_types=("postgres", "mysql", "generic", ""),
    of_connection=_of_sql,
    warehouse="address",
    library="sql",
    aliases=("jdbc",),
    implementations=("org.apache.iceberg.jdbc.JdbcCatalog",),
    keys=_KEYS,
    problems=problems,
    to_pyiceberg=to_pyiceberg,
    to_spark=to_spark,
)
