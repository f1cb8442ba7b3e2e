"""Whether files can be written for a table at all, asked before a slice is read: it refuses, and the others go on."""

import pyarrow as pa

from floe.catalogs.exceptions import TableUnsuitable
from floe.parquet import TableWriter
from floe.parquet.exceptions import UnsupportedColumn, UnsupportedFileFormat
from floe_job.target import Target
from floe_job.target_writer import TargetWriter

_UNSUPPORTED = (UnsupportedColumn, UnsupportedFileFormat)
_UNREADABLE = (ValueError, TypeError, KeyError, OverflowError, NotImplementedError, pa.ArrowException)
"""What libraries raise for values of properties that they cannot read."""


def check_writable(target: Target) -> None:
    """Make what a worker makes for a table, and a file without rows in memory.

    Raises TableUnsuitable for columns, partitions, sort orders and properties that no file can be written with.
    """
    if target.metadata is None or target.io is None:
        return
    try:
        TargetWriter(target, 0)
        properties = dict(target.properties)
        metadata, schema = target.metadata, target.metadata.schema()
        TableWriter(metadata, target.io, schema, metadata.spec(), properties, "check").try_out()
    except _UNSUPPORTED as error:
        raise _unsuitable(target, str(error)) from error
    except _UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}. Check the table's properties and iceberg.tables.write-props.*"
        raise _unsuitable(target, reason) from error


def _unsuitable(target: Target, reason: str) -> TableUnsuitable:
    return TableUnsuitable(
        f"table {target.name!r} cannot be written: {reason}. Nothing was written for it; its rows wait until it is fixed"
    )
