"""PyIceberg's Hive catalog, with floe's commits, connections and locks."""

import time
from typing import Any, Final

from hive_metastore.ttypes import CheckLockRequest, LockState, ShowLocksRequest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.table import Table
from thrift.Thrift import TException

from floe.catalogs.providers.database_tables import DatabaseTables
from floe.catalogs.providers.hive.client import Metastore
from floe.config.catalogs.hive import LOCK_MAX_WAIT, LOCK_MIN_WAIT, LOCK_TIMEOUT, addresses

_DEFAULTS: Final = {LOCK_TIMEOUT: "180000", LOCK_MIN_WAIT: "50", LOCK_MAX_WAIT: "5000"}
"""Milliseconds, as in Java."""


class LockHeld(Exception):
    """A table's lock was not free in time; nothing was committed."""


class CheckedHiveCatalog(DatabaseTables, HiveCatalog):
    """The Hive catalog that floe opens instead of PyIceberg's."""

    service = "Hive"
    migration = "Migrate it (Spark's CALL system.migrate)"

    @staticmethod
    def _create_hive_client(properties: dict[str, str]) -> Metastore:  # type: ignore[override]
        return Metastore(addresses(properties["uri"]), properties.get("ugi"))

    def _convert_hive_into_iceberg(self, table: Any) -> Table:
        return self.table_at((table.dbName, table.tableName), table.parameters)

    def _wait_for_lock(self, database_name: str, table_name: str, lockid: int, open_client: Any) -> Any:
        """Wait for a lock that others hold, for a bounded time. Raises LockHeld, which says how it is released."""
        timeout, pause, longest = (
            float(self.properties.get(key, default)) / 1000 for key, default in _DEFAULTS.items()
        )
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(pause, left))
            answer = open_client.check_lock(CheckLockRequest(lockid=lockid))
            if answer.state == LockState.ACQUIRED:
                return answer
            pause = min(pause * 1.5, longest)
        raise LockHeld(_held(open_client, database_name, table_name, timeout))


def _held(client: Any, database: str, table: str, timeout: float) -> str:
    """Say who holds a lock, and how it is released, in a line of 300 characters."""
    try:
        locks = client.show_locks(ShowLocksRequest(dbname=database, tablename=table)).locks or ()
    except TException:
        locks = ()
    holder = next((lock for lock in locks if lock.state == LockState.ACQUIRED), None)
    if holder is None:
        return f"the lock on {database}.{table} was not free within {timeout:g} s. Nothing was committed"
    return (
        f"{holder.user}@{holder.hostname} holds lock {holder.lockid} on {database}.{table}, longer than {timeout:g} s. "
        "Nothing was committed. It ends with the metastore's txn.timeout (300 s); if its process is gone: "
        f"delete it from HIVE_LOCKS (HL_LOCK_EXT_ID = {holder.lockid}) in the metastore's database"
    )
