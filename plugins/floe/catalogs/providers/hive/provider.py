"""Catalogs of a Hive metastore, over Thrift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floe.catalogs.errors import Answer, answer_of
from floe.catalogs.metadata_files import remove_old_metadata
from floe.catalogs.providers.base import PlainProvider, settings_with_address
from floe.config.catalogs.hive import HIVE
from floe.config.secrets.detection import shown_address

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

    from floe.config.sections.catalog import CatalogSpec

_FORBIDDEN = ("AccessControlException", "HiveAccessControlException", "Permission denied", "does not have privileges")
"""In the messages of metastores that check who calls."""

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
            msg = f"{error.name!r} is not installed here: pip install -r requirements-hive.txt -c constraints.txt"
            raise ImportError(msg) from error
        return CheckedHiveCatalog(spec.name, **settings)

    def classify(self, error: Exception, *, was_sent: bool) -> Answer:
        """Tell a lock that is held, and a metastore that does not permit or have a call, from unknown outcomes."""
        kind, message = type(error).__name__, _message(error)
        if kind == "LockHeld":
            return Answer.UNREACHABLE
        if kind == "MetaException" and any(word in message for word in _FORBIDDEN):
            return Answer.REFUSED
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
