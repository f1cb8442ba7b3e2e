"""How the files of a table are to be written: schema in the file, metrics, sizes, compression."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    StatisticsCollector,
    compute_statistics_plan,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table import TableProperties
from pyiceberg.typedef import Properties
from pyiceberg.types import DoubleType, FloatType, UUIDType
from pyiceberg.utils.properties import property_as_int

from floe.catalogs.pyiceberg_internals import parquet_writer_options
from floe.parquet.arrow_shapes import rename
from floe.parquet.exceptions import UnsupportedColumn, UnsupportedFileFormat
from floe.parquet.leaves import Leaf, leaves
from floe.parquet.null_structs import may_hide, without_hidden_nulls

# PyIceberg warns of these at each file. The first is honoured here, the others are hints for readers.
_NOT_FOR_PYICEBERG = (
    TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
    TableProperties.PARQUET_BLOOM_FILTER_MAX_BYTES,
    TableProperties.PARQUET_BLOOM_FILTER_COLUMN_ENABLED_PREFIX,
)

_NO_METRICS = MetricsMode(MetricModeTypes.NONE)
"""Of columns that Parquet has no statistics of: PyIceberg would warn of each."""

_STEP_ROWS = 1024  # Arrow's own default
# The codecs of Arrow and Iceberg, and whether they have levels: Arrow refuses a level for those that have none.
_CODECS = {"zstd": True, "gzip": True, "brotli": True, "lz4": True, "snappy": False, "uncompressed": False}


@dataclass(frozen=True)
class FileLayout:
    """What all files of one writer have in common. Sizes in bytes; those of row groups are Arrow's, in memory.

    ``hiding``: columns with structs that may be null and require fields. ``uuids``: columns without Parquet statistics,
    with their metrics mode; ``floats``: those that may have a -0.0. ``filled``: columns whose dictionary was full in a file.
    """

    table_schema: pa.Schema
    file_schema: pa.Schema
    hiding: frozenset[str]
    file_size: int
    row_group_bytes: int
    row_group_rows: int
    writer_options: dict[str, Any]
    statistics: dict[int, StatisticsCollector]
    column_ids: dict[str, int]
    uuids: tuple[tuple[Leaf, MetricsMode], ...]
    floats: tuple[Leaf, ...]
    filled: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, schema: Schema, properties: Properties) -> FileLayout:
        """Read the layout from a table's schema and properties. Raises UnsupportedFileFormat."""
        file_format = properties.get(TableProperties.WRITE_FILE_FORMAT, TableProperties.WRITE_FILE_FORMAT_DEFAULT)
        if file_format.upper() != FileFormat.PARQUET:
            problem = (
                f"{TableProperties.WRITE_FILE_FORMAT}={file_format!r}: floe writes Parquet only; set it to parquet"
            )
            raise UnsupportedFileFormat(problem)
        # Names as Iceberg's Java writers put them into files; readers go by field id.
        try:
            in_file = sanitize_column_names(schema)
        except ValueError as error:
            problem = (
                f"{error}: two columns of the table have one name in files, where 'a.b' is a_x2Eb; rename one of them"
            )
            raise UnsupportedColumn(problem) from error
        arrow = schema_to_pyarrow(in_file)
        column_ids = parquet_path_to_id_mapping(in_file)
        statistics = compute_statistics_plan(in_file, _metrics_of(in_file, schema, properties))
        found = leaves(schema, column_ids)
        uuids = {leaf.field_id: leaf for leaf in found if isinstance(leaf.type, UUIDType)}
        options = _writer_options(properties)
        if uuids:
            options["write_statistics"] = [path for path, field_id in column_ids.items() if field_id not in uuids]
        return cls(
            table_schema=schema_to_pyarrow(schema),
            file_schema=arrow,
            hiding=frozenset(one.name for one in arrow if may_hide(one.type, nullable=one.nullable)),
            file_size=_size(
                properties,
                TableProperties.WRITE_TARGET_FILE_SIZE_BYTES,
                TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT,
            ),
            row_group_bytes=_size(
                properties,
                TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
                TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES_DEFAULT,
            ),
            row_group_rows=_size(
                properties, TableProperties.PARQUET_ROW_GROUP_LIMIT, TableProperties.PARQUET_ROW_GROUP_LIMIT_DEFAULT
            ),
            writer_options=options,
            statistics={i: replace(of, mode=_NO_METRICS) if i in uuids else of for i, of in statistics.items()},
            column_ids=column_ids,
            uuids=tuple((leaf, statistics[field_id].mode) for field_id, leaf in uuids.items()),
            floats=tuple(leaf for leaf in found if isinstance(leaf.type, FloatType | DoubleType)),
        )

    def try_out(self) -> None:
        """Write a file without rows into memory. Raises what Arrow raises for options that it does not take."""
        options = self.writer_options
        pq.ParquetWriter(pa.BufferOutputStream(), self.file_schema, store_decimal_as_integer=True, **options).close()

    def in_file(self, rows: pa.Table) -> pa.Table:
        """Give rows of the table's schema the names and nulls they have in files."""
        if self.file_schema.equals(self.table_schema) and not self.hiding:
            return rows
        columns = [
            pa.chunked_array([self._in_file(chunk, field) for chunk in column.chunks], field.type)
            for column, field in zip(rows.columns, self.file_schema, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self.file_schema)

    def _in_file(self, chunk: pa.Array, field: pa.Field) -> pa.Array:
        renamed = rename(chunk, field.type)
        return without_hidden_nulls(renamed) if field.name in self.hiding else renamed


def _writer_options(properties: Properties) -> dict[str, Any]:
    """Read compression and page sizes, where Arrow is stricter than Iceberg's Java writers as they are.

    Raises UnsupportedFileFormat for a codec that there is not.
    """
    taken = {key: value for key, value in properties.items() if not key.startswith(_NOT_FOR_PYICEBERG)}
    codec = properties.get(TableProperties.PARQUET_COMPRESSION, TableProperties.PARQUET_COMPRESSION_DEFAULT)
    taken[TableProperties.PARQUET_COMPRESSION] = codec = codec.strip().lower()
    if codec not in _CODECS:
        problem = (
            f"{TableProperties.PARQUET_COMPRESSION}={codec!r}: floe cannot write it; set one of {', '.join(_CODECS)}"
        )
        raise UnsupportedFileFormat(problem)
    if not _CODECS[codec]:
        taken.pop(TableProperties.PARQUET_COMPRESSION_LEVEL, None)
    options: dict[str, Any] = parquet_writer_options(taken)
    # PyIceberg takes the limit of rows for the size of Arrow's steps. The sizes of pages and dictionaries are looked at
    # only between steps, so that wide rows would make pages of any size.
    page_rows = _size(
        properties, TableProperties.PARQUET_PAGE_ROW_LIMIT, TableProperties.PARQUET_PAGE_ROW_LIMIT_DEFAULT
    )
    return {**options, "max_rows_per_page": page_rows, "write_batch_size": min(page_rows, _STEP_ROWS)}


def _metrics_of(in_file: Schema, schema: Schema, properties: Properties) -> dict[str, str]:
    """Name the columns of ``write.metadata.metrics.column.*`` as they are called in files, for PyIceberg's look-up."""
    prefix = f"{TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX}."
    names = set(schema.column_names)
    taken = {}
    for key, value in properties.items():
        name = key.removeprefix(prefix)
        if name != key and name in names:
            taken[f"{prefix}{in_file.find_column_name(schema.find_field(name).field_id)}"] = value
        else:
            taken[key] = value
    return taken


def _size(properties: Properties, name: str, default: int) -> int:
    size = property_as_int(properties, name, default)
    if size is None or size < 1:
        problem = f"{name}={size!r}: a number of at least 1 is needed"
        raise ValueError(problem)
    return size
