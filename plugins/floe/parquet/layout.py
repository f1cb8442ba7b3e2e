"""How the files of a table are to be written: schema in the file, metrics, sizes, compression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
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
from pyiceberg.types import DoubleType, FloatType, IcebergType, ListType, MapType, PrimitiveType, StructType, UUIDType
from pyiceberg.utils.properties import property_as_int

from floe.catalogs.pyiceberg_internals import parquet_writer_options
from floe.parquet.arrow_shapes import may_hide, rename, without_hidden_nulls
from floe.parquet.exceptions import UnsupportedColumn, UnsupportedFileFormat

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


# The primitive columns of a schema, inside of structs, lists and maps too, and their values in rows.


_Step = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True)
class Leaf:
    """A primitive column. ``path``: Parquet's name for it; ``column``: the place of the column at the root around it."""

    field_id: int
    type: PrimitiveType
    path: str
    column: int
    steps: tuple[_Step, ...]

    def values(self, rows: pa.Table) -> Iterator[pa.Array]:
        """Yield its values in their storage; null where a struct around them is, and none where a list or a map is null."""
        for chunk in rows.column(self.column).chunks:
            inside = chunk
            for step in self.steps:
                inside = step(inside)
            yield inside.storage if isinstance(inside, pa.ExtensionArray) else inside


def leaves(schema: Schema, column_ids: Mapping[str, int]) -> list[Leaf]:
    """Return the primitive columns of a schema; ``column_ids``: Parquet's paths with their field ids."""
    paths = {field_id: path for path, field_id in column_ids.items()}
    return [
        Leaf(field_id, of, paths[field_id], column, steps)
        for column, field in enumerate(schema.fields)
        for field_id, of, steps in _inside(field.field_id, field.field_type, ())
    ]


def _inside(
    field_id: int, of: IcebergType, steps: tuple[_Step, ...]
) -> Iterator[tuple[int, PrimitiveType, tuple[_Step, ...]]]:
    if isinstance(of, StructType):
        for position, field in enumerate(of.fields):
            yield from _inside(field.field_id, field.field_type, (*steps, partial(_field, position=position)))
    elif isinstance(of, ListType):
        yield from _inside(of.element_id, of.element_type, (*steps, _elements))
    elif isinstance(of, MapType):
        yield from _inside(of.key_id, of.key_type, (*steps, _keys))
        yield from _inside(of.value_id, of.value_type, (*steps, _items))
    elif isinstance(of, PrimitiveType):
        yield field_id, of, steps


def _field(array: pa.Array, position: int) -> pa.Array:
    return pc.struct_field(array, [position])


def _elements(array: pa.Array) -> pa.Array:
    return array.flatten()


def _keys(array: pa.Array) -> pa.Array:
    array, start, count = _entries(array)
    return array.keys.slice(start, count)


def _items(array: pa.Array) -> pa.Array:
    array, start, count = _entries(array)
    return array.items.slice(start, count)


def _entries(array: pa.Array) -> tuple[pa.Array, int, int]:
    """Return maps with where their entries are: a null one may have some in memory."""
    if array.null_count == len(array):
        array = array.slice(0, 0)  # of nulls alone Arrow makes no empty array of its own, if UUIDs are inside
    elif array.null_count:
        array = array.drop_null()
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return array, start, end - start
