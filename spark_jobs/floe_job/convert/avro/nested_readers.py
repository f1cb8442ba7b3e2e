"""Values of Avro that have parts: arrays, maps, records and unions, as columns; and the reader of each type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import arrow_type, is_decimal
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.avro.blocks import BlockReader
from floe_job.convert.avro.datums import AvroReader, CutShort, Datums, Longs, Mask, varint
from floe_job.convert.avro.scalar_readers import (
    MAX_INT,
    BooleanReader,
    BytesReader,
    DecimalReader,
    EnumReader,
    FixedReader,
    FloatReader,
    WholeReader,
)
from floe_job.convert.avro.schema import AvroOptions, AvroType, only_branch
from floe_job.convert.typed.base import Places

# Arrays and maps of Avro, as columns of large_list and map.


class ArrayReader:
    """Reads arrays, into large_list."""

    least = values = 1
    size = None

    def __init__(self, element: AvroReader, path: str) -> None:
        self.path = path
        self._blocks = BlockReader(element, path)

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read an array from each position."""
        owners, elements, after = self._blocks.read(datums, pos, end)
        return pa.LargeListArray.from_arrays(pa.array(_offsets(owners, len(pos))), elements), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return self._blocks.skip(view, pos, end)


class MapReader:
    """Reads maps, into map. Of a key that is there twice the last value counts, as in Java.

    ``entry``: reads structs of key and value. ``key``: which of the two is the key.
    """

    least = values = 1
    size = None

    def __init__(self, entry: AvroReader, key: int, path: str) -> None:
        self.path = path
        self._blocks = BlockReader(entry, path)
        self._key = key

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a map from each position."""
        owners, entries, after = self._blocks.read(datums, pos, end)
        keys, items = entries.field(self._key), entries.field(1 - self._key)
        kept = None
        if keys.null_count:
            nulls = keys.is_null().to_numpy(zero_copy_only=False)
            datums.fail(end[owners[nulls]], self.path, "it has a key that is null")
            kept = np.flatnonzero(~nulls)
            owners, keys, items = owners[kept], keys.take(pa.array(kept)), items.take(pa.array(kept))
        kept = _last_of_each(owners, keys)
        if kept is not None:
            owners, keys, items = owners[kept], keys.take(pa.array(kept)), items.take(pa.array(kept))
        offsets = pa.array(_offsets(owners, len(pos)).astype(np.int32))
        return pa.MapArray.from_arrays(offsets, keys, items), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return self._blocks.skip(view, pos, end)


def _offsets(owners: Longs, count: int) -> Longs:
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=count), out=offsets[1:])
    return offsets


def _last_of_each(owners: Longs, keys: pa.Array) -> Longs | None:
    """Return the entries to keep, in their order; None for all."""
    if not len(owners):
        return None
    if pa.types.is_floating(keys.type):
        keys = _bits(keys)
    codes = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    entries = owners * (int(codes.max()) + 1) + codes
    _, lasts = np.unique(entries[::-1], return_index=True)
    return None if len(lasts) == len(entries) else np.sort(len(entries) - 1 - lasts)


def _bits(keys: pa.Array) -> pa.Array:
    """Return floats as Java compares them: all NaN are equal, 0.0 and -0.0 are not."""
    numbers = keys.to_numpy()
    numbers = np.where(np.isnan(numbers), np.array(np.nan, numbers.dtype), numbers)
    return pa.array(numbers.view(np.int64 if numbers.itemsize == 8 else np.int32))


# Records and unions: structs, and what may be null.


_ABSENT: Final = -1


class RecordReader:
    """Reads records: one field after the other. A null that was sent stays one, whatever the default of its field."""

    def __init__(self, kind: pa.DataType, fields: Sequence[AvroReader], path: str) -> None:
        self.path = path
        self.least = sum(field.least for field in fields)
        self.values = 1 + sum(field.values for field in fields)
        self.size = sum(field.size or 0 for field in fields) if all(f.size is not None for f in fields) else None
        self._type = kind
        self._fields = fields

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a record from each position."""
        after = pos if self._fields else pos.copy()
        columns = []
        for field in self._fields:
            column, after = field.read(datums, after, end)
            columns.append(column)
        return struct(self._type, len(pos), columns), after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        for field in self._fields:
            pos = field.skip(view, pos, end)
        return pos


class NullReader:
    """Reads nulls, which have no bytes. Only a branch of a union is null."""

    least = size = values = 0
    path = ""

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read nothing from each position."""
        return pa.nulls(len(pos)), pos.copy()

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        return pos


class UnionReader:
    """Reads unions.

    Of null and one type that is the type, which may be null; of others a struct with a field for each branch but null.
    """

    size = None

    def __init__(self, kind: pa.DataType, branches: Sequence[AvroReader], path: str, *, is_struct: bool) -> None:
        self.path = path
        self.least = 1
        self.values = 1 + sum(branch.values for branch in branches)
        self._type = kind
        self._branches = branches
        self._is_struct = is_struct

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a value of one of the branches from each position."""
        chosen, after = datums.varint(pos, end, self.path, MAX_INT)
        count = len(self._branches)
        bad = chosen.view(np.uint64) >= count
        if bad.any():
            wrong = chosen[bad]
            datums.fail(end[bad], self.path, lambda i: f"it is branch {wrong[i]} of a union of {count}")
            after[bad] = end[bad]
            chosen[bad] = _ABSENT
        columns: list[pa.Array] = []
        for number, branch in enumerate(self._branches):
            if not isinstance(branch, NullReader):
                kind = self._type.field(len(columns)).type if self._is_struct else self._type
                columns.append(self._branch(datums, branch, kind, chosen == number, after, end))
        if not self._is_struct:
            return columns[0], after
        nulls = np.isin(chosen, [i for i, branch in enumerate(self._branches) if isinstance(branch, NullReader)])
        return struct(self._type, len(pos), columns, nulls), after

    def _branch(
        self, datums: Datums, branch: AvroReader, kind: pa.DataType, here: Mask, after: Places, end: Places
    ) -> pa.Array:
        """Read the values of one branch, null for the others; ``after`` is moved behind them."""
        rows = np.flatnonzero(here)
        if not len(rows):
            return pa.nulls(len(here), kind)
        if len(rows) == len(here):
            column, after[:] = branch.read(datums, after, end)
            return column
        column, after[rows] = branch.read(datums, after[rows], end[rows])
        return spread(column, rows, here)

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        chosen, pos = varint(view, pos, end)
        if not 0 <= chosen < len(self._branches):
            raise CutShort
        return self._branches[chosen].skip(view, pos, end)


def struct(kind: pa.DataType, count: int, columns: Sequence[pa.Array], nulls: Mask | None = None) -> pa.Array:
    """Make a column of structs."""
    valid = None if nulls is None or not nulls.any() else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(kind, count, [valid], children=list(columns))


def spread(column: pa.Array, rows: Longs, here: Mask) -> pa.Array:
    """Return a column of more rows: those of ``column`` in ``rows``, null in the others."""
    places = np.zeros(len(here), np.int64)
    places[rows] = np.arange(len(rows))
    return column.take(pa.array(places, mask=~here))


# Which reader reads which type.


_KEY = ConnectSchema(Kind.STRING)


def reader_of(avro: AvroType, schema: ConnectSchema, options: AvroOptions) -> AvroReader:
    """Make the reader of the values of an Avro schema. ``schema``: what Connect makes of it."""
    return _Readers(options).of(avro, schema, "")


@dataclass(frozen=True)
class _Readers:
    """Makes readers. ``path``: of the field that has the values, empty for a whole value."""

    options: AvroOptions

    def of(self, avro: AvroType, schema: ConnectSchema, path: str) -> AvroReader:
        if avro.kind == "union":
            return self._union(avro, schema, path)
        if avro.kind == "record":
            return self._record(avro, schema, path)
        if avro.kind == "array":
            return self._array(avro, schema, path)
        if avro.kind == "map":
            return self._map(avro, schema, path)
        return _scalar(avro, schema, path)

    def _record(self, avro: AvroType, schema: ConnectSchema, path: str) -> AvroReader:
        fields = [
            self.of(field.type, inner, f"{path}.{name}" if path else name)
            for field, (name, inner) in zip(avro.fields, schema.fields, strict=True)
        ]
        return RecordReader(arrow_type(schema), fields, path)

    def _union(self, avro: AvroType, schema: ConnectSchema, path: str) -> AvroReader:
        is_flat = only_branch(avro) is not None or (len(avro.branches) == 1 and self.options.flatten_singletons)
        if is_flat:
            made = [
                NullReader() if branch.kind == "null" else self.of(branch, schema, path) for branch in avro.branches
            ]
            return UnionReader(arrow_type(schema), made, path, is_struct=False)
        fields = iter(schema.fields)
        branches: list[AvroReader] = []
        for branch in avro.branches:
            if branch.kind == "null":
                branches.append(NullReader())
                continue
            name, one = next(fields)
            branches.append(self.of(branch, one, f"{path}.{name}" if path else name))
        return UnionReader(arrow_type(schema), branches, path, is_struct=True)

    def _array(self, avro: AvroType, schema: ConnectSchema, path: str) -> AvroReader:
        assert schema.element is not None  # noqa: S101 - arrays and maps have it
        if schema.kind is not Kind.MAP:
            return ArrayReader(self.of(avro.content, schema.element, f"{path}[]"), path)
        assert schema.key is not None  # noqa: S101 - maps have it
        inner = {"key": schema.key, "value": schema.element}
        fields = [(field.name, inner[field.name], field.type) for field in avro.content.fields]
        readers = [self.of(kind, one, f"{path}.{name}") for name, one, kind in fields]
        entry = pa.struct([pa.field(name, arrow_type(one)) for name, one, _ in fields])
        key = [name for name, _, _ in fields].index("key")
        return MapReader(RecordReader(entry, readers, path), key, path)

    def _map(self, avro: AvroType, schema: ConnectSchema, path: str) -> AvroReader:
        assert schema.element is not None  # noqa: S101 - maps have it
        key, value = BytesReader(f"{path}.key", is_text=True), self.of(avro.content, schema.element, f"{path}.value")
        entry = pa.struct([pa.field("key", arrow_type(_KEY)), pa.field("value", arrow_type(schema.element))])
        return MapReader(RecordReader(entry, [key, value], path), 0, path)


def _scalar(avro: AvroType, schema: ConnectSchema, path: str) -> AvroReader:
    if is_decimal(schema):
        return DecimalReader(schema, avro.size if avro.kind == "fixed" else None, path)
    if avro.kind in ("int", "long"):
        return WholeReader(schema, path)
    if avro.kind in ("float", "double"):
        return FloatReader(schema, path)
    if avro.kind == "boolean":
        return BooleanReader(path)
    if avro.kind == "enum":
        return EnumReader(avro.symbols, path)
    if avro.kind == "fixed":
        return FixedReader(avro.size, path)
    return BytesReader(path, is_text=avro.kind == "string")
