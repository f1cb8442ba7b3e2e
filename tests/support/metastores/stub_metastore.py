"""A Hive metastore in memory, over real Thrift: it answers with exceptions that a real one does not raise when asked to."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any

from hive_metastore import ThriftHiveMetastore
from hive_metastore.ttypes import Database, LockResponse, LockState, NoSuchObjectException, ShowLocksResponse
from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

from stack.settings import LOOPBACK


class _Handler:
    def __init__(self) -> None:
        self.failures: dict[str, Exception] = {}
        self.tables: dict[tuple[str, str], Any] = {}

    def __getattribute__(self, name: str) -> Any:
        failure = object.__getattribute__(self, "failures").get(name)
        if failure is None:
            return object.__getattribute__(self, name)

        def fail(*_: Any) -> None:
            raise failure

        return fail

    def create_database(self, database: Any) -> None:
        """Take every database."""

    def get_database(self, name: str) -> Database:
        return Database(name, parameters={})

    def create_table(self, table: Any) -> None:
        self.tables[table.dbName, table.tableName] = table

    def get_table(self, database: str, table: str) -> Any:
        found = self.tables.get((database, table))
        if found is None:
            msg = f"{database}.{table} table not found"
            raise NoSuchObjectException(msg)
        return found

    def alter_table_with_environment_context(self, database: str, table: str, new: Any, _: Any) -> None:
        self.tables[database, table] = new

    def lock(self, _: Any) -> LockResponse:
        return LockResponse(lockid=1, state=LockState.ACQUIRED)

    def check_lock(self, _: Any) -> LockResponse:
        return LockResponse(lockid=1, state=LockState.ACQUIRED)

    def show_locks(self, _: Any) -> ShowLocksResponse:
        return ShowLocksResponse(locks=[])

    def unlock(self, _: Any) -> None:
        """Release it."""


class StubMetastore:
    """Serves tables of one process. ``failures``: the exception that a method answers with, by its name."""

    def __init__(self) -> None:
        self._handler = _Handler()
        self.failures = self._handler.failures
        self._listener = socket.create_server((LOOPBACK, 0))
        self.uri = f"thrift://{LOOPBACK}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, name="stub metastore", daemon=True).start()

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError, TTransport.TTransportException):
            connection = TSocket.TSocket()
            connection.setHandle(client)
            protocol = TBinaryProtocol.TBinaryProtocol(TTransport.TBufferedTransport(connection))
            processor = ThriftHiveMetastore.Processor(self._handler)
            while True:
                processor.process(protocol, protocol)
