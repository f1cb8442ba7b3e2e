"""Catalogs of a Hive metastore, over Thrift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from floe.catalogs.errors import Answer, Rows, answer_in, answer_of
from floe.catalogs.metadata_files import remove_old_metadata
from floe.catalogs.providers.base import PlainProvider, settings_with_address
from floe.config.catalogs.hive import HIVE
from floe.config.secrets.detection import shown_address

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

    from floe.config.sections.catalog import CatalogSpec

_THRIFT: Final = "hive_metastore.ttypes."
_ROWS: Final[Rows] = {
    **dict.fromkeys(
        (
            f"{_THRIFT}{name}"
            for name in (
                *("InvalidObjectException", "InvalidOperationException", "InvalidInputException"),
                *("InvalidPartitionException", "UnknownDBException", "UnknownTableException"),
                *("UnknownPartitionException", "ConfigValSecurityException"),
                *("NoSuchObjectException", "AlreadyExistsException"),
            )
        ),
        Answer.REFUSED,
    ),
    # the lock, or the transaction that it belongs to, expired: the table was not changed
    f"{_THRIFT}NoSuchLockException": Answer.CONFLICT,
    f"{_THRIFT}NoSuchTxnException": Answer.CONFLICT,
    f"{_THRIFT}TxnAbortedException": Answer.CONFLICT,
    f"{_THRIFT}TxnOpenException": Answer.CONFLICT,
    "thrift.transport.TTransport.TTransportException": (Answer.UNREACHABLE, Answer.UNKNOWN),
    "floe.catalogs.providers.hive.catalog.LockHeld": Answer.UNREACHABLE,
}
"""MetaException has no row: by it a metastore answers to a refusal and to an outage of its database alike."""

_REFUSALS: Final = (
    *("AccessControlException", "HiveAccessControlException", "Permission denied", "does not have privileges"),
    *("maximum length", "Duplicate column", "duplicate column", "not a valid", "IllegalArgumentException"),
)
"""In the messages of MetaException: who calls is not permitted to, or a name or a value is not taken."""

_OUTAGES: Final = (
    *("test connection to the given database", "Communications link failure", "Connection is not available"),
    *("Pool empty", "Connection refused", "Connection reset", "No route to host", "SQLTransientConnectionException"),
)
"""In the messages of MetaException: the metastore's own database is away."""

_NO_THRIFT: Final = (5, 6)
"""TTransportException of a negative and of a too large size: another server answers."""

_UNKNOWN_METHOD = "Invalid method name"


class HiveProvider(PlainProvider):
    """A Hive metastore. The client writes metadata files, and changes the table's pointer under its lock."""

    modules = ("thrift", "floe.catalogs.providers.hive.catalog")

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open it. Raises ValueError for an address that is none, ImportError without thrift."""
        settings = settings_with_address(spec)
        if problem := next(HIVE.problems(settings), None):
            raise ValueError(problem)
        try:
            from floe.catalogs.providers.hive.catalog import CheckedHiveCatalog
        except ModuleNotFoundError as error:
            msg = f"{error.name!r} is not installed here: pip install 'airflow-provider-floe[hive]'"
            raise ImportError(msg) from error
        return CheckedHiveCatalog(spec.name, **settings)

    def classify(self, error: Exception, *, was_sent: bool) -> Answer:
        """Tell what a metastore refuses, what it does later and what has expired from unknown outcomes."""
        found = answer_in(_ROWS, error, was_sent=was_sent)
        if found is not None:
            is_no_thrift = getattr(error, "type", None) in _NO_THRIFT and type(error).__name__ == "TTransportException"
            return Answer.UNKNOWN if is_no_thrift else found
        if type(error).__name__ == "MetaException":
            message = _message(error)
            if any(one in message for one in _REFUSALS):
                return Answer.REFUSED
            is_outage = not was_sent and any(one in message for one in _OUTAGES)
            return Answer.UNREACHABLE if is_outage else Answer.UNKNOWN
        if was_sent and _is_unknown_method(error):
            return Answer.REFUSED
        return answer_of(error, was_sent=was_sent)

    def misconfiguration(self, spec: CatalogSpec, error: Exception) -> str | None:
        """Name a metastore whose version has not the methods that are called."""
        if not _is_unknown_method(error):
            return None
        address = shown_address(str(settings_with_address(spec)["uri"]))
        return (
            f"the Hive metastore at {address} cannot be used: {_message(error)}, and "
            "PyIceberg speaks to versions 2 and 3 only. "
            "Nothing was read or written. Use a metastore of version 3, or an Iceberg REST catalog (Hive 4 has one)."
        )

    def tidy(self, table: Table, after: TableMetadata) -> None:
        """Remove old metadata files: the metastore does not."""
        remove_old_metadata(table, after)


def _message(error: Any) -> str:
    return str(getattr(error, "message", None) or error)


def _is_unknown_method(error: Exception) -> bool:
    return type(error).__name__ == "TApplicationException" and _UNKNOWN_METHOD in _message(error)
