"""Connections to a Hive metastore, and its locks: a lock whose request was lost, that expired, or that cannot be released.

A metastore before 4 changes a table whatever it is by then. Only the table's lock keeps two commits
apart. So it has to be held until a change is known to be made or not.
"""

import logging
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final

from hive_metastore.ThriftHiveMetastore import Client
from hive_metastore.ttypes import (
    CheckLockRequest,
    EnvironmentContext,
    LockState,
    MetaException,
    NoSuchLockException,
    ShowLocksRequest,
    UnlockRequest,
)
from pyiceberg.exceptions import CommitFailedException
from thrift.protocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TException
from thrift.transport import TSocket, TTransport

log = logging.getLogger(__name__)

TIMEOUT_MS: Final = 300_000
"""For one answer: a metastore may wait for its database."""

MAX_TEXT, MAX_ITEMS = 64 << 20, 1_000_000
"""Bytes of one text, and items of one list or map, that an answer may have: no metastore's has as many."""

_POINTER: Final = "metadata_location"
_BASE: Final = "previous_metadata_location"
_SETTLES_WITHIN: Final = 10.0
_PAUSE: Final = 0.2
_MODIFIED: Final = "The table has been modified"


class Metastore(AbstractContextManager[Client]):
    """One or more metastores of the same tables. Each ``with`` is a connection to the first one that answers."""

    def __init__(self, addresses: list[tuple[str, int]], ugi: str | None = None) -> None:
        self._addresses = addresses
        self._ugi = ugi.split(":") if ugi else None
        self._open = threading.local()

    def __enter__(self) -> Client:
        transport = self._connected()
        protocol = TBinaryProtocol.TBinaryProtocol(
            transport, string_length_limit=MAX_TEXT, container_length_limit=MAX_ITEMS
        )
        client = MetastoreClient(protocol, self)
        self._transports().append(transport)
        try:
            if self._ugi:
                client.set_ugi(self._ugi[0], self._ugi[1:])
        except BaseException:
            self._transports().pop().close()
            raise
        return client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transports().pop().close()

    def _transports(self) -> list[Any]:
        if not hasattr(self._open, "transports"):
            self._open.transports = []
        found: list[Any] = self._open.transports
        return found

    def _connected(self) -> Any:
        *others, last = self._addresses
        for host, port in others:
            try:
                return _opened(host, port)
            except TTransport.TTransportException as error:
                log.warning("the Hive metastore at %s:%d does not answer (%s): trying the next one", host, port, error)
        return _opened(*last)


class _TimedSocket(TSocket.TSocket):  # type: ignore[misc]
    """A socket on which each answer as a whole is there in time: its own limit counts for each read alone."""

    _end = float("inf")

    def write(self, buff: bytes) -> None:
        """Send a call; the time for its answer begins."""
        self._end = time.monotonic() + TIMEOUT_MS / 1000
        if self.handle is not None:
            self.handle.settimeout(TIMEOUT_MS / 1000)  # the last answer's end may have left less
        super().write(buff)

    def read(self, sz: int) -> bytes:
        """Read a part of the answer. Raises TTransportException once the time is over."""
        left = self._end - time.monotonic()
        if left <= 0:
            msg = f"the answer was not complete within {TIMEOUT_MS / 1000:g} s"
            raise TTransport.TTransportException(TTransport.TTransportException.TIMED_OUT, msg)
        if self.handle is not None:
            self.handle.settimeout(min(left, TIMEOUT_MS / 1000))
        part: bytes = super().read(sz)
        return part


def _opened(host: str, port: int) -> Any:
    socket = _TimedSocket(host, port)
    socket.setTimeout(TIMEOUT_MS)
    transport = TTransport.TBufferedTransport(socket)
    transport.open()
    return transport


class MetastoreClient(Client):  # type: ignore[misc]
    """One connection; a lock that it requested is known to it."""

    def __init__(self, protocol: Any, metastore: Metastore) -> None:
        super().__init__(protocol)
        self._metastore = metastore
        self._lock_id: int | None = None
        self._unsettled: tuple[str, str, str] | None = None

    def get_table(self, dbname: str, tbl_name: str) -> Any:
        """Return a table; a metastore of Hive 4 has no such call, and is named by its version."""
        try:
            return super().get_table(dbname, tbl_name)
        except TApplicationException as error:
            if error.type == TApplicationException.UNKNOWN_METHOD:
                error.message = f"it is of version {self.getVersion()} ({error.message})"
            raise

    def get_table_objects_by_name(self, dbname: str, tbl_names: list[str]) -> Any:
        """Return tables; none for no names."""
        return super().get_table_objects_by_name(dbname, tbl_names) if tbl_names else []

    def lock(self, rqst: Any) -> Any:
        """Request a lock. If the answer is lost, the lock is looked for and released."""
        rqst.agentInfo = f"floe-{uuid.uuid4()}"
        try:
            answer = super().lock(rqst)
        except TTransport.TTransportException:
            self._release_lost(rqst)
            raise
        self._lock_id = answer.lockid
        return answer

    def _release_lost(self, rqst: Any) -> None:
        component = rqst.component[0]
        try:
            with self._metastore as other:
                asked = ShowLocksRequest(dbname=component.dbname, tablename=component.tablename)
                for found in other.show_locks(asked).locks or ():
                    if found.agentInfo == rqst.agentInfo:
                        other.unlock(UnlockRequest(lockid=found.lockid))
        except TException as error:
            log.warning(
                "a lock on table %s.%s may remain until it expires (%s)", component.dbname, component.tablename, error
            )

    def alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: Any, environment_context: Any
    ) -> None:
        """Change a table if its lock is still held. Raises CommitFailedException if it is not, or for another's change.

        Newer metastores compare what the change is based on themselves.
        """
        if self._lock_id is None:
            super().alter_table_with_environment_context(dbname, tbl_name, new_tbl, environment_context)
            return
        self._check_held(dbname, tbl_name)
        context = _comparing(environment_context, new_tbl.parameters)
        self._unsettled = (dbname, tbl_name, new_tbl.parameters.get(_POINTER, ""))
        try:
            super().alter_table_with_environment_context(dbname, tbl_name, new_tbl, context)
        except TTransport.TTransportException:
            raise
        except MetaException as error:
            self._unsettled = None
            if _MODIFIED in str(error.message):
                msg = f"Table has been updated by another process: {dbname}.{tbl_name}"
                raise CommitFailedException(msg) from error
            raise
        except TException:
            self._unsettled = None
            raise
        self._unsettled = None

    def _check_held(self, dbname: str, tbl_name: str) -> None:
        try:
            held = self.check_lock(CheckLockRequest(lockid=self._lock_id)).state == LockState.ACQUIRED
        except NoSuchLockException:
            held = False
        if not held:
            msg = f"the lock on table {dbname}.{tbl_name} expired before the table was changed"
            raise CommitFailedException(msg)

    def unlock(self, rqst: Any) -> None:
        """Release a lock, by another connection if this one broke. A lock that cannot be released is logged.

        While it is not known whether a change of the table is still under way, its lock is kept, until it expires.
        """
        try:
            if self._unsettled is not None:
                self._release_settled(rqst, *self._unsettled)
                return
            try:
                super().unlock(rqst)
            except TTransport.TTransportException:
                with self._metastore as other:
                    other.unlock(rqst)
        except NoSuchLockException:
            return  # it expired
        except TException as error:
            log.warning("lock %d of the Hive metastore remains until it expires (%s)", rqst.lockid, error)
        finally:
            self._lock_id = None

    def _release_settled(self, rqst: Any, dbname: str, tbl_name: str, location: str) -> None:
        """Release the lock as soon as the table is what it was to become."""
        until = time.monotonic() + _SETTLES_WITHIN
        while True:
            with self._metastore as other:
                if other.get_table(dbname, tbl_name).parameters.get(_POINTER) == location:
                    other.unlock(rqst)
                    return
            if time.monotonic() > until:
                break
            time.sleep(_PAUSE)
        log.warning(
            "the change of table %s.%s was sent to the Hive metastore and not answered. It may still be made. So the table's "
            "lock %d is kept until it expires in the metastore",
            dbname,
            tbl_name,
            rqst.lockid,
        )


def _comparing(context: Any, parameters: Mapping[str, str]) -> Any:
    """Return a context by which a metastore that can do so changes the table only from what the change is based on."""
    base = parameters.get(_BASE)
    if not base:
        return context
    compared = {"expected_parameter_key": _POINTER, "expected_parameter_value": base}
    return EnvironmentContext(properties={**context.properties, **compared})
