"""One Parquet file of a table, from its first row group to its entry in a manifest."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO, OutputFile
from pyiceberg.io.pyarrow import data_file_statistics_from_parquet_metadata
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

from floe.parquet.bounds import UuidMetrics, raise_bounds
from floe.parquet.dictionaries import with_dictionary, with_negative_zero, with_statistics
from floe.parquet.layout import FileLayout
from floe.parquet.sort_order import RowOrder


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
