"""One Parquet file of a table, from its first row group to its entry in a manifest."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO, OutputFile
from pyiceberg.io.fileformat import DataFileStatistics
from pyiceberg.io.pyarrow import MetricModeTypes, MetricsMode, data_file_statistics_from_parquet_metadata
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType

from floe.parquet.layout import FileLayout, Leaf
from floe.parquet.partitions import RowOrder


class _OpenFile(NamedTuple):
    location: str
    file: OutputFile
    stream: Any
    writer: pq.ParquetWriter


class DataFileWriter:
    """Writes row groups to one new file; with ``order``, the rows of each are sorted.

    The file is marked as sorted only if all of it is: if its rows came in one call.
    """

    def __init__(
        self, opened: _OpenFile, layout: FileLayout, partition: Record, free: set[str], order: RowOrder | None = None
    ) -> None:
        """Write to a file that :meth:`open` made; ``free``: paths of floats that have no dictionary there."""
        self._opened = opened
        self._layout = layout
        self._partition = partition
        self._order = order
        self._uuids = [UuidMetrics(leaf, mode) for leaf, mode in layout.uuids]
        self._free = free
        self._writes = 0

    @classmethod
    def open(
        cls,
        io: FileIO,
        location: str,
        layout: FileLayout,
        partition: Record,
        first: pa.Table,
        order: RowOrder | None = None,
        *,
        takes_all: bool = False,
    ) -> Self:
        """Create the file at ``location``, a unique name. ``first``: the rows that will come first.

        With ``takes_all`` it takes any rows after them, for dictionaries of floats. Raises OSError.
        """
        free = {leaf.path for leaf in layout.floats} if takes_all else with_negative_zero(layout.floats, first)
        never = {leaf.path for leaf, _ in layout.uuids} | free
        file = io.new_output(location)
        # The name is unique: asking the store whether it is taken would be a request for nothing.
        stream: Any = file.create(overwrite=True)
        given = layout.writer_options.get("write_statistics", True)
        selected = layout.column_ids if given is True else given
        try:
            writer = pq.ParquetWriter(
                stream,
                schema=layout.file_schema,
                store_decimal_as_integer=True,
                use_dictionary=with_dictionary(
                    layout.file_schema,
                    first,
                    layout.column_ids,
                    layout.writer_options["dictionary_pagesize_limit"],
                    never,
                    layout.filled,
                ),
                **{**layout.writer_options, "write_statistics": with_statistics(layout.file_schema, first, selected)},
            )
        except BaseException:
            stream.close()
            raise
        return cls(_OpenFile(location, file, stream, writer), layout, partition, free, order)

    @property
    def is_full(self) -> bool:
        """Return whether the file has reached the table's target size."""
        return int(self._opened.stream.tell()) >= self._layout.file_size

    def takes(self, rows: pa.Table) -> bool:
        """Return whether rows fit into this file: columns with a -0.0 must not have a dictionary."""
        floats = [leaf for leaf in self._layout.floats if leaf.path not in self._free]
        return not with_negative_zero(floats, rows)

    def write(self, rows: pa.Table) -> None:
        """Write rows as one row group, or several if there are more than the table wants in one."""
        self._writes += 1
        if self._order is not None:
            rows = self._order.sort(rows)
        for metrics in self._uuids:
            metrics.add(rows)
        self._opened.writer.write_table(self._layout.in_file(rows), row_group_size=self._layout.row_group_rows)

    def close(self, sort_order_id: int | None = None) -> DataFile:
        """Finish the file and describe it. The partition spec is not part of the description.

        ``sort_order_id``: the order that rows came in already, where this writer does not sort.
        """
        if self._order is not None:
            sort_order_id = self._order.order_id if self._writes == 1 else None
        with self._opened.stream:
            self._opened.writer.close()
        statistics = data_file_statistics_from_parquet_metadata(
            parquet_metadata=self._opened.writer.writer.metadata,
            stats_columns=self._layout.statistics,
            parquet_column_mapping=self._layout.column_ids,
        )
        raise_bounds(statistics)
        entry = statistics.to_serialized_dict()
        for metrics in self._uuids:
            metrics.complete(entry, self._opened.writer.writer.metadata)
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=self._opened.location,
            file_format=FileFormat.PARQUET,
            partition=self._partition,
            file_size_in_bytes=len(self._opened.file),
            sort_order_id=sort_order_id,
            equality_ids=None,
            key_metadata=None,
            **entry,
        )

    def abort(self) -> None:
        """Drop the file as it is. It is an orphan from here on."""
        with contextlib.suppress(Exception):
            self._opened.writer.close()
        with contextlib.suppress(Exception):
            self._opened.stream.close()


# Which columns of a file get a dictionary.
#
# Parquet gives every column a dictionary and drops it when it has become too large. For values that never repeat,
# that is needless work, and the part that was written with it is larger than without.
#
# Iceberg's Java library evaluates filters on dictionaries, too. It compares UUIDs as signed there, so that a range
# finds nothing (apache/iceberg issue 14216), and takes -0.0 and 0.0 for two values, which Spark takes for one.


FIRST, NEW = 1_000, 0.95
"""Values that are examined first, and the fraction of distinct ones among them that makes it worth examining more."""

ENOUGH = 1.25
"""How many bytes of values are examined, as a multiple of what a dictionary may have: Arrow's offsets are among them."""

LARGE_VALUE = 1024 * 1024
"""Bytes of a value, on average of the first rows, from which on a column is written without statistics."""

LENGTH_BYTES = 4
"""What a value in a dictionary takes beside itself."""


def with_dictionary(
    schema: pa.Schema,
    first: pa.Table,
    paths: Iterable[str],
    limit: int,
    never: Collection[str] = (),
    filled: set[str] | None = None,
) -> bool | list[str]:
    """Return those of a file's columns, by Parquet's paths, that get a dictionary; True for all of them.

    ``schema`` is the file's; ``first`` are its first rows, with the columns at the same places. Columns of texts go without
    whose dictionary would be larger than ``limit`` bytes before these rows are written, and those of ``never``.
    ``filled``: those that did in an earlier file of the table, to which those of this one are added; of them only the
    ``FIRST`` values are examined.
    """
    known = set[str]() if filled is None else filled
    without = {
        field.name
        for field, column in zip(schema, first.columns, strict=True)
        if _is_text(field.type) and _would_be_given_up(column, limit, was_before=field.name in known)
    }
    known |= without
    without.update(never)
    return [path for path in paths if path not in without] if without else True


def with_negative_zero(floats: Iterable[Leaf], rows: pa.Table) -> set[str]:
    """Return those of the columns of floats and doubles, by Parquet's paths, that have a -0.0 in these rows."""
    return {leaf.path for leaf in floats if any(_has_negative_zero(leaf, values) for values in leaf.values(rows))}


def _has_negative_zero(leaf: Leaf, values: pa.Array) -> bool:
    buffer = values.buffers()[1]
    if buffer is None or not len(values):
        return False
    bits = np.dtype(np.int64 if isinstance(leaf.type, DoubleType) else np.int32)
    # values under nulls may look like one: such a column has no dictionary then, without need
    raw = np.frombuffer(buffer, bits, len(values), values.offset * bits.itemsize)
    return int(raw.min()) == -(1 << 8 * bits.itemsize - 1)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _would_be_given_up(column: pa.ChunkedArray, limit: int, *, was_before: bool) -> bool:
    if column.nbytes < limit or pc.count_distinct(column.slice(0, FIRST)).as_py() < NEW * FIRST:
        return False
    if was_before:
        return True
    values = pc.unique(column.slice(0, int(ENOUGH * limit * len(column) / column.nbytes)))
    return bool(pc.sum(pc.binary_length(values)).as_py() + LENGTH_BYTES * len(values) > limit)


def with_statistics(schema: pa.Schema, first: pa.Table, paths: Iterable[str]) -> list[str]:
    """Return those of a file's columns, by Parquet's paths, that get statistics: all but those with values of megabytes.

    Arrow copies the least and the greatest value several times, and writes neither where they are that long.
    """
    large = {
        field.name
        for field, column in zip(schema, first.columns, strict=True)
        if _is_text(field.type) and column.nbytes > LARGE_VALUE * len(column)
    }
    return [path for path in paths if path not in large]


# Bounds of a file's columns that hold for every reader.
#
# Text is cut; where the cut text has to be raised, half of a surrogate pair is no character. UUIDs are compared by
# the spec as unsigned, and by Iceberg's Java library as two signed halves (apache/iceberg issue 14216).


_SURROGATES = range(0xD800, 0xE000)
_UUID_BYTES = 16
_SIGN = 0x80
"""Of the first byte of each half of a UUID."""


def raise_bounds(statistics: DataFileStatistics) -> None:
    """Cut and raise the largest text of each column here: PyIceberg would make half a surrogate pair of U+D7FF."""
    for aggregate in statistics.column_aggregates.values():
        if isinstance(aggregate.current_max, str) and aggregate.trunc_length is not None:
            aggregate.current_max = raised(aggregate.current_max, aggregate.trunc_length)


def raised(text: str, length: int) -> str | None:
    """Return a text of at most ``length`` characters that is not below ``text``; None if there is none."""
    if len(text) <= length:
        return text
    for last in range(length - 1, -1, -1):
        code = ord(text[last]) + 1
        if code <= sys.maxunicode:
            return text[:last] + chr(_SURROGATES.stop if code in _SURROGATES else code)
    return None


@dataclass
class UuidMetrics:
    """Counts and bounds of one UUID column of one file, from its rows: its Parquet column has no statistics.

    A bound is given only where both orders agree on it, whatever it is compared with: an upper one if no value has the sign
    bit, a lower one if all have it.
    """

    leaf: Leaf
    mode: MetricsMode
    _count: int = 0
    _low: bytes | None = None
    _high: bytes | None = None
    _second_signs: frozenset[bool] = frozenset()

    def add(self, rows: pa.Table) -> None:
        """Take rows in account that are written to the file."""
        for values in self.leaf.values(rows):
            present = values.drop_null() if values.null_count else values
            self._count += len(present)
            if self.mode.type is MetricModeTypes.FULL and len(present):
                self._widen(present)

    def _widen(self, values: pa.Array) -> None:
        ends = pc.min_max(values)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        self._low = low if self._low is None else min(low, self._low)
        self._high = high if self._high is None else max(high, self._high)
        raw = np.frombuffer(values.buffers()[1], np.uint8, len(values) * _UUID_BYTES, values.offset * _UUID_BYTES)
        second = raw[_UUID_BYTES // 2 :: _UUID_BYTES]
        self._second_signs |= {bool(second.min() & _SIGN), bool(second.max() & _SIGN)}

    def complete(self, entry: dict[str, Any], footer: pq.FileMetaData) -> None:
        """Put what is known of the column into a file's entry for its manifest."""
        if self.mode.type is MetricModeTypes.NONE:
            return
        field_id = self.leaf.field_id
        places = (i for i in range(footer.num_columns) if footer.schema.column(i).path == self.leaf.path)
        place = next(places)
        count = sum(footer.row_group(i).column(place).num_values for i in range(footer.num_row_groups))
        entry["value_counts"][field_id] = count
        entry["null_value_counts"][field_id] = count - self._count
        lower, upper = self.bounds
        if lower is not None:
            entry["lower_bounds"][field_id] = lower
        if upper is not None:
            entry["upper_bounds"][field_id] = upper

    @property
    def bounds(self) -> tuple[bytes | None, bytes | None]:
        """The lower and the upper bound, each None where readers would not agree on it."""
        if self._low is None or self._high is None or len(self._second_signs) > 1:
            return None, None
        lower = self._low if self._low[0] & _SIGN else None
        upper = self._high if not self._high[0] & _SIGN else None
        return lower, upper
