"""PyIceberg's SQL catalog, with commits as of Iceberg's Java library, and with the errors of database servers."""

import os
import weakref
from collections.abc import Callable
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergNamespaceProperties, IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NamespaceAlreadyExistsError
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from pyiceberg.types import strtobool
from sqlalchemy import event, inspect, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError, IntegrityError

from floe.catalogs.metadata_files import read_metadata
from floe.catalogs.providers.sql.errors import is_conflict, refusal_of
from floe.catalogs.providers.staged_commit import StagedCommit, committed_table, merge_updated, relevant_part
from floe.catalogs.table_trust import check_table_properties

__all__ = ["CheckedSqlCatalog", "merge_updated", "relevant_part"]

_TABLES = IcebergTables.__tablename__, IcebergNamespaceProperties.__tablename__
_TYPE = "iceberg_type"
"""The column of schema V1, which distinguishes tables from views."""

LOCK_TIMEOUT = "10s"
"""How long a change waits in PostgreSQL for another session's, which by default is for ever: a host that has crashed may hold
a row for hours. Other databases have a limit of their own."""

_CHANGES = ("UPDATE", "INSERT", "DELETE")


def _limit_locks(_connection: Any, cursor: Any, statement: str, *_: object) -> None:
    """Limit the wait of a change's transaction, unless the server or the connection does so already."""
    if statement.lstrip()[:6].upper() in _CHANGES:
        # not for the session: a pool may give it to others
        cursor.execute(
            f"SELECT set_config('lock_timeout', '{LOCK_TIMEOUT}', true) WHERE current_setting('lock_timeout') = '0'"
        )


def _dispose(engine: Engine, pid: int) -> None:
    if os.getpid() == pid:
        engine.dispose()


class CheckedSqlCatalog(StagedCommit, SqlCatalog):
    """The SQL catalog that floe opens instead of PyIceberg's."""

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit as PyIceberg does; ``table`` is not read again if it is still the current version.

        Raises CommitFailedException also if the database itself chose another commit.
        """
        try:
            return super().commit_table(table, requirements, updates)
        except DBAPIError as error:
            if not is_conflict(error):
                raise
            msg = f"Table has been updated by another process: {'.'.join(table.name())} ({error.orig})"
            raise CommitFailedException(msg) from error

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        """Create a namespace. Raises NamespaceAlreadyExistsError also if another process created it meanwhile."""
        try:
            super().create_namespace(namespace, properties)
        except IntegrityError as error:
            msg = f"Namespace {namespace} already exists"
            raise NamespaceAlreadyExistsError(msg) from error

    def _init_catalog(self) -> None:
        """Create what is missing, and find out which schema there is by asking.

        PyIceberg's own takes every error for a table that is missing, and reads all tables. It creates tables of V1, which
        Java reads whichever version it is set to.
        """
        event.listen(self.engine, "handle_error", refusal_of, retval=True)
        if self.engine.dialect.name == "postgresql":
            event.listen(self.engine, "before_cursor_execute", _limit_locks)
        # who opens a catalog does not always close it: its connections end with it, but not those of a fork's parent
        weakref.finalize(self, _dispose, self.engine, os.getpid())
        self._schema_version = self._prepared_schema()

    def _prepared_schema(self) -> str:
        version = str(self.properties.get("schema_version", "v0"))
        if version not in ("v0", "v1"):
            msg = f"schema_version {version!r}: set iceberg.catalog.jdbc.schema-version to V0 or V1"
            raise ValueError(msg)
        if missing := self._missing():
            if not strtobool(self.properties.get("init_catalog_tables", "true")):
                msg = (
                    f"its database has no table {' and no table '.join(missing)}: create them, or set "
                    "iceberg.catalog.jdbc.init-catalog-tables to true"
                )
                raise ValueError(msg)
            self._create(self.create_tables, lambda: not self._missing())
        if version == "v1" and not self._has_types():
            self._create(self._add_types, self._has_types)
        return "v1" if self._has_types() else "v0"

    def _missing(self) -> list[str]:
        with self.engine.connect() as connection:
            return [name for name in _TABLES if not inspect(connection).has_table(name)]

    def _has_types(self) -> bool:
        with self.engine.connect() as connection:
            return any(column["name"] == _TYPE for column in inspect(connection).get_columns(_TABLES[0]))

    def _add_types(self) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(f"ALTER TABLE {_TABLES[0]} ADD COLUMN {_TYPE} VARCHAR(5)"))

    @staticmethod
    def _create(create: Callable[[], None], is_there: Callable[[], bool]) -> None:
        """Create something in the database, which another process may create at the same time."""
        try:
            create()
        except DBAPIError:
            if not is_there():
                raise

    def _convert_orm_to_iceberg(self, orm_table: IcebergTables) -> Table:
        location = orm_table.metadata_location
        if not location:
            return super()._convert_orm_to_iceberg(orm_table)
        known = committed_table()
        if known is not None and known.metadata_location == location:
            metadata = known.metadata  # a metadata file is written once, and never changed
        else:
            metadata = read_metadata(self._load_file_io(location=location).new_input(location))
        identifier = (*Catalog.identifier_to_tuple(orm_table.table_namespace), orm_table.table_name)
        check_table_properties(".".join(identifier), metadata.properties)
        return Table(identifier, metadata, location, self._load_file_io(metadata.properties, location), self)
