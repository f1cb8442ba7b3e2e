"""Payloads of one schema into one column: a chunk of them at a time, and one by one what is not plainly right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.column_limits import check_bytes, default_bytes
from floe_job.convert.envelope.columns import ChunkReaders, gathered
from floe_job.convert.envelope.values import Misfit, Read, value_reader
from floe_job.convert.json.framing import NotExact
from floe_job.convert.json.parse import parse_value
from floe_job.convert.typed.base import Places
from floe_job.exceptions import InvalidRecord

CHUNK_BYTES: Final = 1_500_000
MAX_CHUNK: Final = 8192
MIN_CHUNK: Final = 32
DIRTY_CHUNK: Final = 256
"""Payloads that are tried at once where bad ones are near."""

FEW: Final = 8
"""Payloads that are read one by one faster than as columns."""

MAX_PAUSE: Final = 8
"""Doublings of the payloads that are read one by one between two attempts at columns, while none succeeds."""


class Bad(NamedTuple):
    """A payload that cannot be read. ``is_json``: it is JSON, but not a value of its schema."""

    row: int
    why: str
    is_json: bool


class EnvelopeColumn(NamedTuple):
    """Decoded payloads. ``rows``: the index of the payload of each value. ``fast``: how many were read as columns."""

    values: pa.Array
    rows: Places
    bad: tuple[Bad, ...]
    fast: int


class PayloadDecoder:
    """Decodes payloads of one schema."""

    def __init__(self, schema: ConnectSchema, *, fill_defaults: bool) -> None:
        """``fill_defaults``: what is null gets the default of its schema."""
        self.schema = schema
        self._fill = fill_defaults
        self._default_bytes = default_bytes(schema) if fill_defaults else 0
        self._type = arrow_type(schema)
        self._readers = ChunkReaders(schema, fill_defaults=fill_defaults)
        self._read: Read | None = None
        self._size = MAX_CHUNK
        self._one_by_one = 0
        self._pause = 0
        self._has_begun = False

    def decode(self, text: bytearray, starts: Places, ends: Places) -> EnvelopeColumn:
        """Decode the payloads between ``starts`` and ``ends``, which are ascending and not empty.

        The byte of the text behind each payload may be changed. Raises ColumnsTooLarge.
        """
        check_bytes(self._default_bytes * len(starts), len(starts))
        nbytes = np.frombuffer(text, np.uint8)
        is_object = (nbytes[starts] == ord("{")) & (nbytes[ends - 1] == ord("}"))
        batch = _Batch(text, starts, ends, np.flatnonzero(is_object), [pa.array([], self._type)])
        if len(batch.rows) < FEW:
            self._exactly(batch, np.arange(len(starts)))
            return batch.column()
        while batch.position < len(batch.rows):
            if batch.position == batch.failing:
                self._exactly(batch, batch.next(1))
            elif self._one_by_one:
                rows = batch.next(self._one_by_one)
                self._one_by_one -= len(rows)
                self._exactly(batch, rows)
            else:
                self._chunk(batch)
        self._exactly(batch, np.flatnonzero(~is_object))
        return batch.column()

    def _chunk(self, batch: _Batch) -> None:
        """Read a chunk as columns; if it cannot be, go on with a smaller one, and finally one by one."""
        if not self._has_begun:
            self._has_begun = True
            self._readers.learn(batch.record(int(batch.rows[batch.position])))
        reader = self._readers.reader
        if reader is None:
            self._one_by_one = MAX_CHUNK
            return
        rows = batch.ahead(min(self._size, max(MIN_CHUNK, reader.most)))
        try:
            values, marked = reader.read(gathered(batch.text, batch.starts[rows], batch.ends[rows]))
        except (NotExact, pa.ArrowException) as error:
            self._fall_back(batch, rows, error.row if isinstance(error, NotExact) else None)
            return
        batch.position += len(rows)
        if len(rows) >= self._size:
            self._size, self._pause = min(MAX_CHUNK, 2 * self._size), max(0, self._pause - 1)
        if marked is None:
            batch.take(values, rows)
        else:
            batch.take(values.filter(pa.array(~marked)), rows[~marked])
            self._exactly(batch, rows[marked])

    def _fall_back(self, batch: _Batch, rows: Places, failing: int | None) -> None:
        """``failing``: a hint, which counts what the parser saw: two objects in one payload are two records to it."""
        size = len(rows)
        if failing is not None and failing >= size:
            failing = None
        if failing is not None and batch.learnt < batch.position:
            batch.learnt = batch.position
            if self._readers.learn(batch.record(int(rows[failing]))):
                return
        if size <= MIN_CHUNK:
            self._one_by_one = MIN_CHUNK << self._pause
            self._pause = min(self._pause + 1, MAX_PAUSE)
        elif failing is not None:
            batch.failing = batch.position + failing
        is_far = failing is not None and failing > size // 8  # most of the next chunk will be right, too
        self._size = max(MIN_CHUNK, min(DIRTY_CHUNK, size if is_far else size // 4))

    def _exactly(self, batch: _Batch, rows: Places) -> None:
        """Read payloads one by one."""
        self._read = read = self._read or value_reader(self.schema, fill_defaults=self._fill)
        values, kept = [], []
        for row in rows.tolist():
            try:
                value = parse_value(batch.record(row))
            except InvalidRecord as error:
                batch.bad.append(Bad(row, error.reason, False))
                continue
            try:
                values.append(read(value))
                kept.append(row)
            except Misfit as misfit:
                batch.bad.append(Bad(row, str(misfit), True))
        if kept:
            batch.take(pa.array(values, self._type), np.array(kept, np.int64), fast=False)


@dataclass
class _Batch:
    """How far payloads are decoded: ``rows`` are those that are objects, up to ``position``. ``failing``: a bad one of them.

    ``learnt``: where the way in which they have decimals was looked at last.
    """

    text: bytearray
    starts: Places
    ends: Places
    rows: Places
    columns: list[pa.Array]
    places: list[Any] = field(default_factory=lambda: [np.zeros(0, np.int64)])
    bad: list[Bad] = field(default_factory=list)
    position: int = 0
    failing: int = -1
    learnt: int = -1
    fast: int = 0

    def record(self, row: int) -> bytes:
        """Return a payload."""
        return bytes(self.text[self.starts[row] : self.ends[row]])

    def ahead(self, most: int) -> Places:
        """Return the next rows, in number and in bytes not too many for one chunk."""
        rows = self.rows[self.position : self.position + most]
        if self.failing > self.position:
            rows = rows[: self.failing - self.position]
        fitting = np.searchsorted(np.cumsum(self.ends[rows] - self.starts[rows]), CHUNK_BYTES, "right")
        return rows[: max(1, int(fitting))]

    def next(self, count: int) -> Places:
        """Return the next rows, and go on behind them."""
        rows = self.rows[self.position : self.position + count]
        self.position += len(rows)
        return rows

    def take(self, values: pa.Array, rows: Places, *, fast: bool = True) -> None:
        self.columns.append(values)
        self.places.append(rows)
        self.fast += len(rows) if fast else 0

    def column(self) -> EnvelopeColumn:
        values, rows = pa.concat_arrays(self.columns), np.concatenate(self.places)
        if (np.diff(rows) < 0).any():
            order = np.argsort(rows, kind="stable")
            values, rows = values.take(pa.array(order)), rows[order]
        return EnvelopeColumn(values, rows, tuple(sorted(self.bad)), self.fast)
