"""Columns of numbers, texts and enums, from the wire to the Arrow type of their schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.protobuf.rules.notes import Mask, Notes
from floe_job.convert.typed.base import Places

KINDS: Final = {
    pa.int32(): Kind.INT32,
    pa.uint32(): Kind.INT64,
    pa.int64(): Kind.INT64,
    pa.uint64(): Kind.INT64,
    pa.float32(): Kind.FLOAT32,
    pa.float64(): Kind.FLOAT64,
    pa.bool_(): Kind.BOOLEAN,
    pa.large_string(): Kind.STRING,
    pa.large_binary(): Kind.BYTES,
}
"""What Connect has for the types of the wire, as Confluent's converter reads them."""

SHORT_NAMES: Final = 1024
"""Bytes of the names of an enum in a chunk up to which they are no larger than other values are."""

Convert = Callable[[pa.Array, Places, Notes], pa.Array]
"""Makes a column of values of their schema from one of the wire; the owners are the messages of the values."""


def mask_of(column: pa.Array) -> Mask:
    """Return a column of booleans as a mask; null is false."""
    filled = pc.fill_null(column, False) if column.null_count else column
    found: Mask = filled.to_numpy(zero_copy_only=False)
    return found


def filled(convert: Convert, default: Any) -> Convert:
    """Return a conversion in which what is absent has a value. ``default``: as the wire has it."""

    def convert_filled(column: pa.Array, owners: Places, notes: Notes) -> pa.Array:
        if column.null_count:
            column = pc.fill_null(column, pa.scalar(default, column.type))
        return convert(column, owners, notes)

    return convert_filled


def plain(column: pa.Array, owners: Places, notes: Notes) -> pa.Array:
    """Return a column as it is."""
    return column


def number(wire: pa.DataType, schema: ConnectSchema, path: str) -> Convert:
    """Return the conversion of numbers, texts and bytes; an integer that its type cannot hold rejects its message."""
    target = arrow_type(schema)
    if wire == target:
        return plain
    if not pa.types.is_integer(target) or _fits(wire, target):
        return lambda column, owners, notes: column.cast(target)
    signed_from = 0 if pa.types.is_unsigned_integer(wire) else -(1 << (target.bit_width - 1))
    least, most = pa.scalar(signed_from, wire), pa.scalar((1 << (target.bit_width - 1)) - 1, wire)

    def narrowed(column: pa.Array, owners: Places, notes: Notes) -> pa.Array:
        fits = pc.and_(pc.greater_equal(column, least), pc.less_equal(column, most))
        if not pc.all(fits).as_py():
            bad = mask_of(pc.invert(fits))
            kind = schema.kind.value
            notes.reject(owners, bad, path, lambda i: f"{column[i].as_py()} is no {kind}, which its schema makes of it")
            column = pc.if_else(pa.array(bad), pa.scalar(0, wire), column)
        return column.cast(target)

    return narrowed


def _fits(wire: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_unsigned_integer(wire):
        return bool(wire.bit_width < target.bit_width)
    return bool(wire.bit_width <= target.bit_width)


def enum(kind: Any, *, as_numbers: bool) -> Convert:
    """Return the conversion of an enum's numbers into its names.

    A number that the enum does not have is one of a newer schema. Java calls it ``UNKNOWN_ENUM_VALUE_<enum>_<number>``;
    in an enum that is closed, as those of proto2 are, it counts as absent: its message is read alone.
    """
    names: dict[int, str] = {}
    for value in kind.values:
        names.setdefault(value.number, value.name)
    is_closed, prefix = bool(kind.is_closed), f"UNKNOWN_ENUM_VALUE_{kind.name}_"

    def named(column: pa.Array, owners: Places, notes: Notes) -> pa.Array:
        encoded = column.dictionary_encode()
        numbers = encoded.dictionary.to_pylist()
        unknown = [number not in names for number in numbers]
        if is_closed and any(unknown):
            here = pc.take(pa.array(unknown), encoded.indices)
            notes.read_alone(owners[mask_of(here)])
        if as_numbers:
            return column
        texts = pa.array([names.get(number, f"{prefix}{number}") for number in numbers], pa.large_string())
        if texts.nbytes > SHORT_NAMES:
            lengths = pc.binary_length(texts)
            notes.spend_constants(pc.sum(lengths.take(encoded.indices)).as_py() or 0)
        return texts.take(encoded.indices)

    return named


def offsets_of(lengths: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return where each of some lists begins, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
