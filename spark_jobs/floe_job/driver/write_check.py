"""Checks before a slice is read that files can be written for a table. If not, it refuses, and the others continue."""

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import BucketTransform, TruncateTransform, UnknownTransform

from floe.catalogs.exceptions import TableUnsuitable
from floe.config.converters.base import PLAIN_JSON
from floe.parquet.exceptions import UnsupportedColumn, UnsupportedFileFormat
from floe.parquet.table_writer import TableWriter
from floe.tables.file_checks import is_inside, roots_of
from floe_job.contract.target import TableTarget
from floe_job.convert.context import ConverterContext, LookupRecorder
from floe_job.convert.makers import converters_of
from floe_job.write.table_rows import TableRows

_MAX_PARAMETER = 2**31 - 1
_UNSUPPORTED = (UnsupportedColumn, UnsupportedFileFormat)
_UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, NotImplementedError, pa.ArrowException)
"""What libraries raise for values of properties that they cannot read."""


def check_writable(target: TableTarget) -> None:
    """Create what a worker creates for a table, and a file without rows in memory.

    Raises TableUnsuitable for columns, partitions, sort orders, properties and locations that no file can be written with.
    Whether the store accepts files there is not checked.
    """
    if target.metadata is None or target.io is None:
        return
    try:
        # the columns that no row can be made for are the same for all converters
        TableRows(target, 0, converters_of(PLAIN_JSON, ConverterContext.of_attempt("", LookupRecorder())))
        properties = dict(target.properties)
        metadata, schema = target.metadata, target.metadata.schema()
        writer = TableWriter(metadata, target.io, schema, metadata.spec(), properties, "check")
        writer.try_out()
        _check_partitions(metadata.spec(), schema)
        _check_location(writer.location(), metadata, target.io)
    except _UNSUPPORTED as error:
        raise _unsuitable(target, str(error)) from error
    except _UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}. Check the table's properties and iceberg.tables.write-props.*"
        raise _unsuitable(target, reason) from error


def _check_partitions(spec: PartitionSpec, schema: Schema) -> None:
    """Raise ValueError for a partition field that no row has a value of. Some of them crash the process that tries."""
    for part in spec.fields:
        transform, source = part.transform, schema.find_type(part.source_id)
        parameter = 1
        if isinstance(transform, BucketTransform):
            parameter = transform.num_buckets
        elif isinstance(transform, TruncateTransform):
            parameter = transform.width
        is_known = not isinstance(transform, UnknownTransform) and transform.can_transform(source)
        if not is_known or not 1 <= parameter <= _MAX_PARAMETER:
            msg = f"partition field {part.name!r} is {transform} of a {source}"
            raise ValueError(msg)


def _check_location(location: str, metadata: TableMetadata, io: FileIO) -> None:
    """Raise ValueError for a location that is not the table's, or in a store that PyIceberg does not know."""
    if not is_inside(location, roots_of(metadata)):
        msg = f"its files would be at {location!r}, which is not inside {roots_of(metadata)}"
        raise ValueError(msg)
    if "\0" in location:
        msg = f"its files would be at {location!r}, and no path has a NUL"
        raise ValueError(msg)
    io.new_output(location)


def _unsuitable(target: TableTarget, reason: str) -> TableUnsuitable:
    return TableUnsuitable(
        f"table {target.name!r} cannot be written: {reason}. Nothing was written for it. Fix the table",
        code="FLOE-418",
    )
