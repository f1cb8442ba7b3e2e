"""Every private name of PyIceberg that floe uses, under a public one. Tested with PyIceberg 0.12.0 only."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.io.pyarrow import _get_parquet_writer_kwargs as parquet_writer_options
from pyiceberg.io.pyarrow import _read_all_delete_files as read_delete_files
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update.schema import UpdateSchema

from floe.private_names import PrivateName

__all__ = [
    "PRIVATE_NAMES",
    "changed_metadata",
    "changed_schema",
    "parents_of",
    "parquet_writer_options",
    "read_delete_files",
    "record_batches",
]

VERSION: Final = "0.12.0"

_SQL = "an expired parent has to stay named, as in Java; PyIceberg takes its id away"
_JAVA_EXPIRY = "metadata updates of PyIceberg that do what Java's TableMetadata does"
_TRUST = "what a catalog answers is checked before a FileIO is made of it"
_LOGIN = "PyIceberg's session waits for ever, follows redirects, and its login sends a token of None"
_OWN_SESSION = "a public way to give a REST catalog its session and its login"
_HOOK = "a public hook between a catalog's answer and the FileIO"

PRIVATE_NAMES: Final = (
    PrivateName(
        "pyiceberg.table.update:UpdateTableMetadata._transaction",
        "the metadata of the table that an update of its schema changes",
        "a public table of an update",
    ),
    PrivateName(
        "pyiceberg.io.pyarrow:_read_all_delete_files",
        "rows of one file are read without those that deletes took out",
        "a public scan of given files, batch by batch",
        ("io", "tasks"),
    ),
    PrivateName(
        "pyiceberg.io.pyarrow:ArrowScan._record_batches_from_scan_tasks_and_deletes",
        "to_record_batches reads ahead, and a file may be larger than memory",
        "a public scan of given files, batch by batch",
        ("self", "tasks", "deletes_per_file"),
    ),
    PrivateName(
        "pyiceberg.io.pyarrow:_get_parquet_writer_kwargs",
        "the options of Parquet files are those that PyIceberg writes with",
        "a public writer of data files with a budget and a sort order",
        ("table_properties",),
    ),
    PrivateName(
        "pyiceberg.schema:Schema._lazy_id_to_parent", "the structs around a field", "a public index of parents"
    ),
    PrivateName(
        "pyiceberg.table.update.schema:UpdateSchema._schema",
        "an update is made for the schema that it begins with, which a retry may have read again",
        "a public schema of an update",
    ),
    PrivateName("pyiceberg.catalog.sql:SqlCatalog._convert_orm_to_iceberg", _TRUST, _HOOK, ("self", "orm_table")),
    *(
        PrivateName(
            f"pyiceberg.catalog.sql:SqlCatalog.{name}",
            "every error is taken for a table that is missing, one of the database's permissions too",
            "PyIceberg asks the database which tables and columns it has",
        )
        for name in ("_init_catalog", "_schema_version")
    ),
    PrivateName(
        "pyiceberg.catalog:MetastoreCatalog._update_and_stage_table",
        _SQL,
        _JAVA_EXPIRY,
        ("self", "current_table", "table_identifier", "requirements", "updates"),
    ),
    PrivateName(
        "pyiceberg.catalog:Catalog._convert_schema_if_needed",
        "a catalog takes schemas of Arrow, too",
        "a public conversion for catalogs that others write",
        ("schema", "format_version"),
    ),
    PrivateName("pyiceberg.catalog:Catalog._load_file_io", _TRUST, _HOOK, ("self", "properties", "location")),
    PrivateName("pyiceberg.catalog.rest:RestCatalog._fetch_config", _TRUST, _HOOK, ("self",)),
    PrivateName("pyiceberg.catalog.rest:RestCatalog._create_session", _LOGIN, _OWN_SESSION, ("self",)),
    PrivateName("pyiceberg.catalog.rest:RestCatalog._config_headers", _LOGIN, _OWN_SESSION, ("self", "session")),
    PrivateName("pyiceberg.catalog.rest:RestCatalog._refresh_token", _LOGIN, _OWN_SESSION, ("self",)),
    PrivateName("pyiceberg.catalog.rest:RestCatalog._auth_manager", _LOGIN, _OWN_SESSION),
    *(
        PrivateName(
            f"pyiceberg.catalog.rest:RestCatalog.{name}", _TRUST, _HOOK, ("self", "identifier_tuple", "table_response")
        )
        for name in ("_response_to_table", "_response_to_staged_table")
    ),
    PrivateName(
        "pyiceberg.partitioning:PartitionKey.partition",
        "a public name, computed once: floe sets it, as PyIceberg refuses two transforms of one column",
        "apache/iceberg-python with partition keys of such specs",
    ),
)


def record_batches(scan: ArrowScan, task: FileScanTask, deletes: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Read one file batch by batch, without the rows that ``deletes`` removed."""
    return scan._record_batches_from_scan_tasks_and_deletes([task], dict(deletes))


def changed_schema(update: UpdateSchema) -> Schema:
    """Return the schema that an update changes."""
    return update._schema


def changed_metadata(update: UpdateSchema) -> TableMetadata:
    """Return the metadata of the table that an update changes."""
    return update._transaction.table_metadata


def parents_of(schema: Schema) -> Mapping[int, int]:
    """Return the id of each field's parent, by id."""
    return schema._lazy_id_to_parent
