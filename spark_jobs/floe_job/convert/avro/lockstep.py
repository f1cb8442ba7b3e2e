"""Datums of one schema to one column, a chunk of them at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe.registry.schema import RegisteredSchema
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.avro.datums import Bytes, Datums, TooManyValues
from floe_job.convert.avro.options import AvroOptions
from floe_job.convert.avro.reader import Reader
from floe_job.convert.avro.readers import reader_of
from floe_job.convert.avro.schema.connect_schema import connect_schema
from floe_job.convert.avro.schema.parser import parse_schema
from floe_job.convert.column_limits import check_bytes
from floe_job.convert.typed.base import Places

CHUNK: Final = 16_384
"""Datums that are decoded at once: their positions fit into a processor's cache."""

CHUNK_BYTES: Final = 2 * 1024 * 1024
CHUNK_VALUES: Final = 1_000_000


class Column(NamedTuple):
    """Decoded datums. ``rows``: the index of the datum of each value. ``bad``: of the others the index, and the reason."""

    values: pa.Array
    rows: Places
    bad: tuple[tuple[int, str], ...]


class LockstepDecoder:
    """Decodes datums of one schema: of all the first field, then of all the second."""

    def __init__(self, schema: RegisteredSchema, options: AvroOptions, *, chunk: int = CHUNK) -> None:
        """Raises UnusableSchema. ``chunk``: datums that are decoded at once."""
        avro = parse_schema(schema)
        self.schema: ConnectSchema = connect_schema(avro, options)
        self._type = arrow_type(self.schema)
        self._reader: Reader = reader_of(avro, self.schema, options)
        self._chunk = max(1, min(chunk, CHUNK_VALUES // (self._reader.values + 1)))

    def decode(self, data: Bytes, starts: Places, ends: Places) -> Column:
        """Decode the datums between ``starts`` and ``ends``, which are ascending; no two ends are the same.

        ``data``: with PADDING bytes before the first datum and behind the last. Raises ColumnsTooLarge.
        """
        columns, rows, bad, nbytes = [pa.array([], self._type)], [np.zeros(0, np.int64)], [], 0
        for first, last in self._chunks(starts, ends):
            for column in self._decode(data, starts[first:last], ends[first:last]):
                nbytes += column.values.nbytes
                check_bytes(nbytes, len(starts))
                columns.append(column.values)
                rows.append(column.rows + first)
                bad += [(first + row, why) for row, why in column.bad]
        return Column(pa.concat_arrays(columns), np.concatenate(rows), tuple(bad))

    def _chunks(self, starts: Places, ends: Places) -> Iterator[tuple[int, int]]:
        nbytes = np.cumsum(ends - starts)
        first = 0
        while first < len(starts):
            before = int(nbytes[first - 1]) if first else 0
            fitting = int(np.searchsorted(nbytes, before + CHUNK_BYTES, "right"))
            last = max(first + 1, min(first + self._chunk, fitting))
            yield first, last
            first = last

    def _decode(self, data: Bytes, starts: Places, ends: Places) -> Iterator[Column]:
        """Decode a chunk; its halves one after the other where it makes too many values."""
        datums = Datums(data, ends)
        try:
            column, after = self._reader.read(datums, starts, ends)
        except TooManyValues as error:
            if len(starts) == 1:
                yield Column(pa.array([], self._type), np.zeros(0, np.int64), ((0, f"the value: {error}"),))
                return
            half = len(starts) // 2
            yield from self._decode(data, starts[:half], ends[:half])
            for column in self._decode(data, starts[half:], ends[half:]):
                yield Column(column.values, column.rows + half, tuple((row + half, why) for row, why in column.bad))
            return
        more = after != ends
        if more.any():
            left = (ends - after)[more]
            datums.fail(ends[more], "", lambda i: f"{left[i]} bytes are left behind it")
        rows = np.flatnonzero(~datums.failed)
        if len(rows) < len(starts):
            column = column.take(pa.array(rows))
        yield Column(column, rows, tuple(sorted(datums.reasons.items())))
