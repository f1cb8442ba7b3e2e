"""What the rules of Confluent and Apicurio share: scalars, structs, and what is found wrong with messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.column_limits import MAX_CHUNK_CONSTANTS, MAX_CONSTANTS
from floe_job.convert.typed.base import Places
from floe_job.convert.typed.python_values import lengths_of
from floe_job.exceptions import VALUE_LENGTH, clip

# What is found wrong with messages while their columns are made.


Mask = np.ndarray[Any, np.dtype[np.bool_]]


class TooManyConstants(Exception):
    """The names of enums that some messages point at are too large together. The text is about one message."""


class Notes:
    """About each of some messages: whether it is to be read alone, and why it cannot be a row."""

    def __init__(self, count: int) -> None:
        self._most = MAX_CONSTANTS if count == 1 else MAX_CHUNK_CONSTANTS
        self._constants = 0
        self.alone: Mask = np.zeros(count, np.bool_)
        self.reasons: dict[int, str] = {}

    def reject(self, owners: Places, bad: Mask, path: str, why: Callable[[int], str]) -> None:
        """Note values that mean nothing. ``owners``: the message of each value; ``why``: makes the reason of one."""
        for place in np.flatnonzero(bad).tolist():
            where = f"field {clip(path, VALUE_LENGTH)!r}: " if path else ""
            self.reasons.setdefault(int(owners[place]), where + why(place))

    def spend_constants(self, nbytes: int) -> None:
        """Count the bytes of names that will be copied. Raises TooManyConstants."""
        self._constants += nbytes
        if self._constants > self._most:
            problem = f"the value: the names of its enums have more than {MAX_CONSTANTS} bytes"
            raise TooManyConstants(problem)

    def read_alone(self, owners: Places) -> None:
        """Note messages whose bytes may say it otherwise than the columns do."""
        self.alone[owners] = True


# Columns of numbers, texts and enums, from the wire to the Arrow type of their schema.


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


# Columns of messages, repeated fields and maps, from the wire to the Arrow type of their schema.
#
# What the bytes of a message may say twice is found here: two fields of one oneof, a key that a map has twice, a
# required field that is not there. Such a message is read alone, where the last value counts, as in Java.


Children = Sequence[pa.Array]
"""The columns of a message's fields on the wire; null where the message is not there."""


class CompiledMessage(NamedTuple):
    """A schema, and the conversion into its columns."""

    schema: ConnectSchema
    convert: Convert


class Member(NamedTuple):
    """A field of a struct, made from the fields of a message."""

    name: str
    schema: ConnectSchema
    read: Callable[[Children, Places, Notes], pa.Array]


def member(name: str, place: int, compiled: CompiledMessage) -> Member:
    """Return the member that one field of a message is."""
    return Member(
        name, compiled.schema, lambda children, owners, notes: compiled.convert(children[place], owners, notes)
    )


def union(name: str, schema: ConnectSchema, fields: Sequence[tuple[int, CompiledMessage]]) -> Member:
    """Return the member that the fields of a oneof are together; it is null where none of them is there."""
    kind = arrow_type(schema)

    def read(children: Children, owners: Places, notes: Notes) -> pa.Array:
        here = np.zeros(len(owners), np.bool_)
        columns = []
        for place, compiled in fields:
            here |= mask_of(children[place].is_valid())
            columns.append(compiled.convert(children[place], owners, notes))
        return _struct(kind, len(owners), columns, here)

    return Member(name, schema, read)


def struct(
    schema: ConnectSchema, members: Sequence[Member], required: Sequence[int], oneofs: Sequence[Sequence[int]]
) -> CompiledMessage:
    """Return the conversion of messages.

    ``required``: the places of fields that must be there. ``oneofs``: those of fields of which one may be.
    """
    kind = arrow_type(schema)

    def convert(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        here = mask_of(column.is_valid()) if column.null_count else None
        children: Children = column.flatten()
        for place in required:
            if children[place].null_count:
                absent = mask_of(children[place].is_null())
                notes.read_alone(owners[absent if here is None else absent & here])
        for places in oneofs:
            count = np.sum([mask_of(children[place].is_valid()) for place in places], axis=0)
            if (count > 1).any():
                notes.read_alone(owners[count > 1])
        return _struct(kind, len(owners), [one.read(children, owners, notes) for one in members], here)

    return CompiledMessage(schema, convert)


def there(convert: Convert) -> Convert:
    """Return a conversion of messages in which one that is not there is one without fields."""

    def convert_all(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        if column.null_count:
            column = pa.StructArray.from_arrays(column.flatten(), [field.name for field in column.type])
        return convert(column, owners, notes)

    return convert_all


def only_field(convert: Convert) -> Convert:
    """Return the conversion of messages that are their only field, null where they are not there."""
    return lambda column, owners, notes: convert(column.flatten()[0], owners, notes)


def repeated(schema: ConnectSchema, element: Convert) -> CompiledMessage:
    """Return the conversion of repeated fields into arrays."""
    kind = arrow_type(schema)

    def convert(column: pa.LargeListArray, owners: Places, notes: Notes) -> pa.Array:
        lengths = lengths_of(column)
        values = element(column.flatten(), np.repeat(owners, lengths), notes)
        return pa.LargeListArray.from_arrays(pa.array(offsets_of(lengths)), values, type=kind)

    return CompiledMessage(schema, convert)


def mapping(schema: ConnectSchema, key: Convert, value: Convert) -> CompiledMessage:
    """Return the conversion of maps."""
    kind = arrow_type(schema)

    def convert(column: pa.LargeListArray, owners: Places, notes: Notes) -> pa.Array:
        lengths, entries = lengths_of(column), column.flatten()
        of_entries = np.repeat(owners, lengths)
        keys = key(entries.field(0), of_entries, notes)
        if len(lengths) and lengths.max() > 1:
            notes.read_alone(of_entries[_twice(keys, np.repeat(np.arange(len(lengths)), lengths))])
        values = value(entries.field(1), of_entries, notes)
        return pa.MapArray.from_arrays(pa.array(offsets_of(lengths).astype(np.int32)), keys, values, type=kind)

    return CompiledMessage(schema, convert)


def _twice(keys: pa.Array, maps: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return entries whose key their map has twice."""
    encoded = keys.dictionary_encode()
    codes = maps * max(1, len(encoded.dictionary)) + encoded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    found: np.ndarray[Any, np.dtype[np.int64]] = order[1:][np.diff(codes[order]) == 0]
    return found


def _struct(kind: pa.DataType, count: int, columns: Sequence[pa.Array], here: Mask | None) -> pa.Array:
    valid = None if here is None or here.all() else pa.py_buffer(np.packbits(here, bitorder="little"))
    return pa.Array.from_buffers(kind, count, [valid], children=list(columns))
