"""Catalogs of a Hive metastore: Java's HiveCatalog."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs.base import PREFIX, CatalogType, no_effect, refused, taken
from floe.config.connection_fields import ConnectionFields
from floe.config.engine import Engine
from floe.config.secrets.detection import is_reference, shown_address

_ADDRESS: Final = re.compile(r"thrift://(\[[0-9A-Fa-f:.]+\]|[^:/@?#\s\[\]]+):(\d{1,5})/?")

_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
MAX_DATABASE, MAX_TABLE, MAX_COLUMN = 128, 256, 767
"""Characters of names in a metastore's database, from Hive 2 on."""

LOCK_TIMEOUT: Final = "iceberg.hive.lock-timeout-ms"
LOCK_MIN_WAIT: Final = "iceberg.hive.lock-check-min-wait-ms"
LOCK_MAX_WAIT: Final = "iceberg.hive.lock-check-max-wait-ms"
_NUMBERS: Final = (LOCK_TIMEOUT, LOCK_MIN_WAIT, LOCK_MAX_WAIT)

_KERBEROS: Final = (
    "floe does not log in to a metastore by Kerberos. Put a metastore without it, or a REST catalog, before it"
)
_CONNECTIONS: Final = "floe opens a connection for each request and closes it"
_LOCK_REQUEST: Final = "a lock is requested once; if its answer is lost, it is released and the commit is tried again"


def _of_hive(connection: ConnectionFields, _: Mapping[str, str]) -> dict[str, str]:
    return {"uri": f"thrift://{connection.server}" if connection.host else ""}


HIVE: Final = CatalogType(
    "hive",
    Engine("floe.catalogs.providers.hive.provider:HiveProvider"),
    conn_types=("hive_metastore", "generic", ""),
    of_connection=_of_hive,
    warehouse="address",
    implementations=("org.apache.iceberg.hive.HiveCatalog",),
    keys=(
        taken("ugi", "`user:group`: who calls the metastore"),
        taken("hive.hive2-compatible", "`true`: times with a zone are `timestamp` to Hive, as Hive 2 has no other"),
        taken(LOCK_TIMEOUT, "how long a commit waits for the table's lock; 180000"),
        taken(LOCK_MIN_WAIT, "first pause between questions about a lock; 50"),
        taken(LOCK_MAX_WAIT, "longest pause between questions about a lock; 5000"),
        no_effect("iceberg.hive.lock-creation-*", _LOCK_REQUEST),
        no_effect(
            "iceberg.hive.lock-heartbeat-interval-ms",
            "a lock is renewed, and must still be held, right before the table is changed",
        ),
        no_effect("iceberg.hive.table-level-lock-evict-ms", "commits of one process wait for the lock as others do"),
        no_effect("iceberg.hive.metadata-refresh-max-retries", "reads are tried again as for every catalog"),
        no_effect("iceberg.hive.table-property-max-size", "no property of floe is longer than 3,500 characters"),
        no_effect("iceberg.engine.hive.enabled", "floe describes each table to Hive as PyIceberg does"),
        refused(
            "iceberg.engine.hive.lock-enabled",
            "a metastore before 4 changes a table in one step only under its lock. Remove it; floe always takes the lock",
        ),
        refused("engine.hive.lock-enabled", "remove it: floe always takes the lock"),
        no_effect("clients", _CONNECTIONS),
        no_effect("client-pool-cache-keys", _CONNECTIONS),
        no_effect("client.pool.cache.eviction-interval-ms", _CONNECTIONS),
        no_effect("list-all-tables", "floe lists Iceberg's tables only"),
        refused("hive.kerberos-authentication", _KERBEROS, unless="false"),
        refused("hive.kerberos-service-name", _KERBEROS),
        no_effect("hive.metastore.uris", "the address is iceberg.catalog.uri: set that"),
        no_effect("hive.metastore.*", "there is no Hadoop in floe; address and locks have keys of their own"),
        refused("hive.metastore.sasl.*", _KERBEROS, unless="false"),
        refused("hive.metastore.kerberos.*", _KERBEROS),
        refused(
            "hive.metastore.use.SSL",
            "floe speaks to a metastore without TLS. Remove it, or use a REST catalog",
            unless="false",
        ),
        no_effect("lock-check-retries", f"the time counts: set {PREFIX}{LOCK_TIMEOUT}"),
        no_effect("lock-check-min-wait-time", f"set {PREFIX}{LOCK_MIN_WAIT}"),
        no_effect("lock-check-max-wait-time", f"set {PREFIX}{LOCK_MAX_WAIT}"),
    ),
    problems=lambda given: _problems(given),
    name_problem=lambda table: _name_problem(table),
    folds_case=True,
)


def addresses(uri: str) -> list[tuple[str, int]]:
    """Return host and port of each metastore of an address. Raises ValueError, which says what to set."""
    found = []
    for one in uri.split(","):
        match = _ADDRESS.fullmatch(one.strip())
        if match is None or not 0 < int(match[2]) < 65_536:
            msg = f"uri {shown_address(uri)[:200]!r}: write thrift://host:9083, several with commas between them"
            raise ValueError(msg)
        found.append((match[1].strip("[]"), int(match[2])))
    return found


def _name_problem(table: str) -> str | None:
    """Return why a metastore takes no table of that name: by its own rule, and by the columns of its database."""
    parts = table.split(".")
    if len(parts) != 2:
        return "a metastore has databases without others in them: write it as database.table"
    for part, most in zip(parts, (MAX_DATABASE, MAX_TABLE), strict=True):
        if not _NAME.fullmatch(part):
            return (
                f"a metastore takes letters a to z, digits and '_' only, which {part[:100]!r} is not made of: rename it"
            )
        if len(part) > most:
            return f"{part[:40]!r}… has {len(part)} characters, a metastore takes {most}: shorten it"
    return None


def _problems(given: Mapping[str, str]) -> Iterator[str]:
    uri = given.get("uri")
    if uri is not None and not is_reference(uri):
        try:
            addresses(uri)
        except ValueError as error:
            yield f"{PREFIX}{error}"
    for key in _NUMBERS:
        value = given.get(key, "1")
        if not (is_reference(value) or re.fullmatch(r"[1-9]\d{0,8}", value.strip())):
            yield f"{PREFIX}{key} {value[:50]!r} is no number of milliseconds from 1"
