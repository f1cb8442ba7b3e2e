"""How the files of a table are to be written: schema in the file, metrics, sizes, compression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import (
    StatisticsCollector,
    _get_parquet_writer_kwargs,
    compute_statistics_plan,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table import TableProperties
from pyiceberg.typedef import Properties
from pyiceberg.utils.properties import property_as_int

from floe_job.decode.arrays import rename
from floe_job.exceptions import UnsupportedFileFormat

# PyIceberg warns of these at each file. The first is honoured here, the others are hints for readers.
_NOT_FOR_PYICEBERG = (
    TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
    TableProperties.PARQUET_BLOOM_FILTER_MAX_BYTES,
    TableProperties.PARQUET_BLOOM_FILTER_COLUMN_ENABLED_PREFIX,
)


@dataclass(frozen=True)
class FileLayout:
    """What all files of one writer have in common. Sizes in bytes; those of row groups are Arrow's, in memory."""

    table_schema: pa.Schema
    file_schema: pa.Schema
    file_size: int
    row_group_bytes: int
    row_group_rows: int
    writer_options: dict[str, Any]
    statistics: dict[int, StatisticsCollector]
    column_ids: dict[str, int]

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
        in_file = sanitize_column_names(schema)
        return cls(
            table_schema=schema_to_pyarrow(schema),
            file_schema=schema_to_pyarrow(in_file),
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
            writer_options=_get_parquet_writer_kwargs(
                {key: value for key, value in properties.items() if not key.startswith(_NOT_FOR_PYICEBERG)}
            ),
            statistics=compute_statistics_plan(in_file, properties),
            column_ids=parquet_path_to_id_mapping(in_file),
        )

    def in_file(self, rows: pa.Table) -> pa.Table:
        """Give rows of the table's schema the names they have in files."""
        if self.file_schema.equals(self.table_schema):
            return rows
        return pa.Table.from_arrays(
            [
                pa.chunked_array([rename(chunk, field.type) for chunk in column.chunks], field.type)
                for column, field in zip(rows.columns, self.file_schema, strict=True)
            ],
            schema=self.file_schema,
        )


def _size(properties: Properties, name: str, default: int) -> int:
    size = property_as_int(properties, name, default)
    if size is None or size < 1:
        problem = f"{name}={size!r}: a number of at least 1 is needed"
        raise ValueError(problem)
    return size
