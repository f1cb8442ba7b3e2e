"""Messages of one type to one column, a chunk of them at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import arrow_type
from floe_job.convert.column_limits import check_bytes
from floe_job.convert.protobuf.apicurio_rules import ApicurioRules
from floe_job.convert.protobuf.confluent_rules import ConfluentRules
from floe_job.convert.protobuf.descriptors import Message, ProtobufOptions
from floe_job.convert.protobuf.rules import Notes, TooManyConstants
from floe_job.convert.protobuf.wire import MessageRows, RecordSizes, Row, WireSchema, wire_reader
from floe_job.convert.typed.base import Places
from floe_job.exceptions import Malformed

CHUNK: Final = 8192
CHUNK_VALUES: Final = 1_000_000
CHUNK_BYTES: Final = 2 * 1024 * 1024

MAX_CHUNK_VALUES: Final = 4_000_000
"""Values that a chunk may make, elements of repeated fields included."""

ROWS_AT_ONCE: Final = 512
"""Messages that are read one by one before they become columns."""

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class ProtobufColumn(NamedTuple):
    """Decoded messages. ``rows``: the index of the message of each value. ``bad``: of the others the index and the reason.

    ``fast_rows``: of the values, those that were decoded as columns.
    """

    values: pa.Array
    rows: Places
    bad: tuple[tuple[int, str], ...]
    fast_rows: int


class MessageDecoder:
    """Decodes messages of one type: all at once, and one by one those about which that says nothing, or not enough."""

    def __init__(self, message: Message, options: ProtobufOptions, *, chunk: int = CHUNK) -> None:
        """Raises UnusableSchema and PackageMissing. ``chunk``: messages that are decoded at once."""
        wire = WireSchema.of(message)
        rules = ApicurioRules() if options.apicurio else ConfluentRules(options)
        self.schema, self._convert = rules.message(message)
        self._type = arrow_type(self.schema)
        self._wire_type = wire.type
        self._rows = MessageRows(message)
        self._reader = wire_reader(wire, self._rows.is_whole)
        self._sizes = RecordSizes(message, wire)
        self._chunk = max(1, min(chunk, CHUNK_VALUES // wire.fields))
        self._chunk_bytes = max(1, min(CHUNK_BYTES, 2 * MAX_CHUNK_VALUES // wire.widest))

    def decode(self, data: Bytes, starts: Places, ends: Places) -> ProtobufColumn:
        """Decode the messages between ``starts`` and ``ends``, which are ascending and do not overlap.

        Raises ColumnsTooLarge.
        """
        columns, rows, bad, fast, nbytes = [pa.array([], self._type)], [np.zeros(0, np.int64)], [], 0, 0
        for first, last in self._chunks(starts, ends):
            for begin, found in self._decode_chunk(_binary(data, starts[first:last], ends[first:last])):
                nbytes += found.values.nbytes
                check_bytes(nbytes, len(starts))
                columns.append(found.values)
                rows.append(found.rows + first + begin)
                bad += [(first + begin + row, why) for row, why in found.bad]
                fast += found.fast_rows
        return ProtobufColumn(pa.concat_arrays(columns), np.concatenate(rows), tuple(bad), fast)

    def _chunks(self, starts: Places, ends: Places) -> Iterator[tuple[int, int]]:
        nbytes = np.cumsum(ends - starts)
        first = 0
        while first < len(starts):
            before = int(nbytes[first - 1]) if first else 0
            fitting = int(np.searchsorted(nbytes, before + self._chunk_bytes, "right"))
            last = max(first + 1, min(first + self._chunk, fitting))
            yield first, last
            first = last

    def _decode_chunk(self, values: pa.BinaryArray) -> Iterator[tuple[int, ProtobufColumn]]:
        """Decode a chunk; its halves one after the other where its names of enums are too large together."""
        try:
            yield 0, self._decode(values)
        except TooManyConstants as error:
            if len(values) == 1:
                yield 0, ProtobufColumn(pa.array([], self._type), np.zeros(0, np.int64), ((0, str(error)),), 0)
                return
            half = len(values) // 2
            yield from self._decode_chunk(values[:half])
            for begin, found in self._decode_chunk(values[half:]):
                yield half + begin, found

    def _decode(self, values: pa.BinaryArray) -> ProtobufColumn:
        bad: dict[int, str] = {}
        if len(values) == 1:
            too_large = self._sizes.problem(values[0])
            if too_large:
                return ProtobufColumn(pa.array([], self._type), np.zeros(0, np.int64), ((0, too_large),), 0)
        alone = np.ones(len(values), np.bool_)
        parts: list[tuple[Places, pa.Array]] = []
        read = list(self._reader.read(values)) if self._reader else []
        if read:
            # one conversion for all: where many are bad, the parts are many and small
            places = np.concatenate([places for places, _ in read])
            notes = Notes(len(values))
            column = self._convert(pa.concat_arrays([wire for _, wire in read]), places, notes)
            kept = ~notes.alone[places]
            alone[places[kept]] = False
            bad |= {row: why for row, why in notes.reasons.items() if not notes.alone[row]}
            parts += _without(places, column, [*places[~kept].tolist(), *notes.reasons])
        fast = sum(len(places) for places, _ in parts)
        for places in _portions(np.flatnonzero(alone)):
            parts += self._decode_alone(values, places, bad)
        return self._joined(parts, bad, fast)

    def _decode_alone(
        self, values: pa.BinaryArray, places: Places, bad: dict[int, str]
    ) -> list[tuple[Places, pa.Array]]:
        read: list[int] = []
        rows: list[Row] = []
        for place in places.tolist():
            try:
                rows.append(self._rows.read(values[place].as_py()))
                read.append(place)
            except Malformed as error:
                bad[place] = str(error)
        owners = np.array(read, np.int64)
        notes = Notes(len(values))
        column = self._convert(pa.array(rows, self._wire_type), owners, notes)
        bad |= notes.reasons
        return _without(owners, column, list(notes.reasons))

    def _joined(self, parts: list[tuple[Places, pa.Array]], bad: dict[int, str], fast: int) -> ProtobufColumn:
        reasons = tuple(sorted(bad.items()))
        if len(parts) == 1:
            return ProtobufColumn(parts[0][1], parts[0][0], reasons, fast)
        rows = np.concatenate([np.zeros(0, np.int64), *(places for places, _ in parts)])
        column = pa.concat_arrays([pa.array([], self._type), *(column for _, column in parts)])
        order = np.argsort(rows, kind="stable")
        return ProtobufColumn(column.take(pa.array(order)), rows[order], reasons, fast)


def _binary(data: Bytes, starts: Places, ends: Places) -> pa.BinaryArray:
    """Return spans of a buffer as an array: the buffer with what is between them is one already, so they are taken."""
    base = int(starts[0])
    offsets = np.empty(2 * len(starts), np.int32)
    offsets[::2], offsets[1::2] = starts - base, ends - base
    buffer = pa.py_buffer(data).slice(base)
    whole = pa.Array.from_buffers(pa.binary(), 2 * len(starts) - 1, [None, pa.py_buffer(offsets), buffer], 0)
    return whole.take(pa.array(np.arange(0, 2 * len(starts), 2)))


def _portions(places: Places) -> Iterator[Places]:
    for first in range(0, len(places), ROWS_AT_ONCE):
        yield places[first : first + ROWS_AT_ONCE]


def _without(places: Places, column: pa.Array, left_out: Sequence[int]) -> list[tuple[Places, pa.Array]]:
    """Return a column without some messages."""
    if not left_out:
        return [(places, column)]
    kept = np.flatnonzero(~np.isin(places, left_out))
    return [(places[kept], column.take(pa.array(kept)))]
