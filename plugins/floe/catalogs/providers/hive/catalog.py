"""PyIceberg's Hive catalog, with floe's commits, connections and locks."""

import time
from typing import Any, Final

from hive_metastore.ttypes import CheckLockRequest, LockState, ShowLocksRequest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier
from thrift.Thrift import TException

from floe.catalogs.exceptions import TableUnsuitable
from floe.catalogs.providers.hive.client import Metastore
from floe.catalogs.providers.staged_commit import DatabaseTables
from floe.config.catalogs.hive import HIVE, LOCK_MAX_WAIT, LOCK_MIN_WAIT, LOCK_TIMEOUT, MAX_COLUMN, addresses

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

    def create_table(self, identifier: str | Identifier, schema: Any, *args: Any, **kwargs: Any) -> Table:
        """Create a table. Raises TableUnsuitable for a name or a column that no metastore takes."""
        name = ".".join(self.identifier_to_tuple(identifier))
        if problem := HIVE.name_problem(name):
            msg = f"table {name!r} cannot be created in the Hive metastore: {problem}. Nothing was created"
            raise TableUnsuitable(msg)
        if isinstance(schema, Schema):
            _check_columns(name, schema)
        return super().create_table(identifier, schema, *args, **kwargs)

    def _update_and_stage_table(self, current_table: Table | None, table_identifier: Identifier, *args: Any) -> Any:
        staged = super()._update_and_stage_table(current_table, table_identifier, *args)
        if current_table is not None and staged.schema() != current_table.schema():
            _check_columns(".".join(table_identifier), staged.schema())
        return staged

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


def _check_columns(table: str, schema: Schema) -> None:
    """Raise TableUnsuitable for columns that a metastore's database does not take: it folds case, and pads with blanks.

    Its own answer would be the text of an INSERT that failed.
    """
    seen: dict[str, str] = {}
    for field in schema.fields:
        if len(field.name) > MAX_COLUMN:
            msg = (
                f"table {table!r} cannot have the column {field.name[:100]!r}…: its name has {len(field.name)} characters, a "
                f"Hive metastore takes {MAX_COLUMN}. Nothing was changed. Shorten the name of the field"
            )
            raise TableUnsuitable(msg)
        other = seen.setdefault(field.name.rstrip(" ").lower(), field.name)
        if other != field.name:
            msg = (
                f"table {table!r} cannot have the columns {other[:100]!r} and {field.name[:100]!r}: they are one name to a "
                "Hive metastore, which stores names in lower case and ignores blanks behind them. Nothing was changed. "
                "Rename one of the fields, by ReplaceField in transforms for example"
            )
            raise TableUnsuitable(msg)


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
