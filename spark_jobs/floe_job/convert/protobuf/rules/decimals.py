"""Decimals of Confluent: a message of the unscaled value, a precision and a scale, into the scale of their schema."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import MAX_DIGITS
from floe_job.convert.protobuf.rules.known_messages import Longs, parts_of, reject, valid
from floe_job.convert.protobuf.rules.notes import Mask, Notes
from floe_job.convert.protobuf.rules.scalars import Convert
from floe_job.convert.typed.base import Places

_WORD: Final = 8
_POWERS: Final = np.array([10**digits for digits in range(19)], np.int64)


def decimal(scale: int, path: str) -> Convert:
    """Return the conversion of ``confluent.type.Decimal`` into decimals of a scale.

    Those of at most eight bytes that have the scale of their schema are converted together, others one by one.
    """

    def convert(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        here, (precision, given) = valid(column), parts_of(column, (1, 2))
        low, is_short = _short(column.field(0))
        limits = _POWERS[np.clip(precision, 0, len(_POWERS) - 1)]
        fits = (precision <= 0) | (precision >= len(_POWERS)) | ((low < limits) & (low > -limits))
        values = np.empty((len(here), 2), np.int64)
        values[:, 0], values[:, 1] = low, low >> 63
        bad: Mask = np.zeros(len(here), np.bool_)
        why: dict[int, str] = {}
        for place in np.flatnonzero(here & ~(is_short & fits & (given == scale))).tolist():
            try:
                unscaled = _unscaled(scale, column.field(0)[place].as_py(), int(precision[place]), int(given[place]))
            except ValueError as error:
                unscaled, bad[place], why[place] = 0, True, str(error)
            lower = unscaled & 0xFFFFFFFFFFFFFFFF
            values[place] = lower - (1 << 64) if lower >> 63 else lower, unscaled >> 64
        reject(notes, owners, bad, path, lambda i: why[i])
        kind = pa.decimal128(MAX_DIGITS, scale)
        present = pa.py_buffer(np.packbits(here, bitorder="little"))
        return pa.Array.from_buffers(kind, len(here), [present, pa.py_buffer(values)])

    return convert


def _short(column: pa.LargeBinaryArray) -> tuple[Longs, Mask]:
    """Return the numbers that up to eight bytes are, and which have as many; 0 for others."""
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    starts, ends = offsets[:-1], offsets[1:]
    sizes = ends - starts
    is_short = (sizes > 0) & (sizes <= _WORD)
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    found: Longs = np.zeros(len(column), np.int64)
    for at in range(int(sizes[is_short].max(initial=0))):
        rows = is_short & (sizes > at)
        byte = data[np.where(rows, starts + at, 0)]
        first = byte.astype(np.int8).astype(np.int64)
        found = np.where(rows, first if at == 0 else (found << 8) | byte, found)
    return found, is_short


def _unscaled(scale: int, value: bytes | None, precision: int, given: int) -> int:
    """Return the unscaled value of a decimal in a scale. Raises ValueError where that is not exact."""
    if not value:
        problem = "it is a decimal without a byte"
        raise ValueError(problem)
    if len(value) > 2 * MAX_DIGITS or abs(given) > 2 * MAX_DIGITS:
        problem = f"it is a decimal of more than {MAX_DIGITS} digits"
        raise ValueError(problem)
    found = int.from_bytes(value, "big", signed=True)
    if precision and abs(found) >= 10**precision:
        problem = f"it is a decimal of more digits than its precision of {precision}"
        raise ValueError(problem)
    shift = scale - given
    power: int = 10 ** abs(shift)
    found, left = (found * power, 0) if shift >= 0 else divmod(found, power)
    if left:
        problem = f"it is a decimal of the scale {given}, and its schema has the scale {scale}"
        raise ValueError(problem)
    if abs(found) >= 10**MAX_DIGITS:
        problem = f"it is a decimal of more than {MAX_DIGITS} digits"
        raise ValueError(problem)
    return found
