"""Columns of messages, repeated fields and maps, from the wire to the Arrow type of their schema.

What the bytes of a message may say twice is found here: two fields of one oneof, a key that a map has twice, a required
field that is not there. Such a message is read alone, where the last value counts, as in Java.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.protobuf.rules.notes import Mask, Notes
from floe_job.convert.protobuf.rules.scalars import Convert, mask_of, offsets_of
from floe_job.convert.typed.base import Places
from floe_job.convert.typed.python_values import lengths_of

Children = Sequence[pa.Array]
"""The columns of a message's fields on the wire; null where the message is not there."""


class Compiled(NamedTuple):
    """A schema, and the conversion into its columns."""

    schema: ConnectSchema
    convert: Convert


class Member(NamedTuple):
    """A field of a struct, made from the fields of a message."""

    name: str
    schema: ConnectSchema
    read: Callable[[Children, Places, Notes], pa.Array]


def member(name: str, place: int, compiled: Compiled) -> Member:
    """Return the member that one field of a message is."""
    return Member(
        name, compiled.schema, lambda children, owners, notes: compiled.convert(children[place], owners, notes)
    )


def union(name: str, schema: ConnectSchema, fields: Sequence[tuple[int, Compiled]]) -> Member:
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
) -> Compiled:
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

    return Compiled(schema, convert)


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


def repeated(schema: ConnectSchema, element: Convert) -> Compiled:
    """Return the conversion of repeated fields into arrays."""
    kind = arrow_type(schema)

    def convert(column: pa.LargeListArray, owners: Places, notes: Notes) -> pa.Array:
        lengths = lengths_of(column)
        values = element(column.flatten(), np.repeat(owners, lengths), notes)
        return pa.LargeListArray.from_arrays(pa.array(offsets_of(lengths)), values, type=kind)

    return Compiled(schema, convert)


def mapping(schema: ConnectSchema, key: Convert, value: Convert) -> Compiled:
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

    return Compiled(schema, convert)


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
