"""Columns of payloads: what Arrow's JSON parser gets for a schema, and how its result becomes the schema's column.

A schema with maps has none: the parser reads no objects of any keys. Nor has one with a struct without fields, or with arrays
of decimals that are numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS, arrow_type, is_decimal, scale_of
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.envelope.values import DAY_MILLIS, MAX_MILLIS
from floe_job.convert.json.framing import NotExact, Text, UnexpectedField
from floe_job.convert.json.key_aliases import ESCAPED_KEY
from floe_job.convert.json.parse import parse_value
from floe_job.convert.json.template import TemplateReader
from floe_job.convert.json.text_checks import check_depth, check_encoding, is_pretty, parsed_by_arrow, read_by_arrow
from floe_job.convert.typed.base import Places
from floe_job.convert.typed.base64_text import bytes_column, decode_column
from floe_job.convert.typed.columns import nulls_of
from floe_job.convert.typed.leaves import Inexact, either
from floe_job.convert.typed.numbers import decimals
from floe_job.convert.typed.python_values import lengths_of
from floe_job.exceptions import InvalidRecord
from floe_job.source.values import Lines


def column_reader(schema: ConnectSchema, *, fill_defaults: bool, numeric: bool) -> EnvelopeColumnReader | None:
    """Make the reader of a schema's values; None where they are read one by one.

    ``fill_defaults``: what is null gets the default of its schema. ``numeric``: decimals are numbers, and not base64.
    """
    made = _nested(schema, fill_defaults, numeric) if schema.kind in _NESTED else leaf_reader(schema, numeric=numeric)
    if made is None:
        return None
    default = schema.default if fill_defaults and schema.has_default else None
    if default is not None:
        return EnvelopeColumnReader(
            made.type, _filled(made.convert, pa.array([default], arrow_type(schema))), made.columns
        )
    return made if schema.optional else EnvelopeColumnReader(made.type, _required(made.convert), made.columns)


_NESTED = (Kind.STRUCT, Kind.ARRAY, Kind.MAP)


def _nested(schema: ConnectSchema, fill: bool, numeric: bool) -> EnvelopeColumnReader | None:
    if schema.kind is Kind.ARRAY:
        return _array(schema, fill, numeric)
    return _struct(schema, fill, numeric) if schema.kind is Kind.STRUCT and schema.fields else None


def _required(convert: Convert) -> Convert:
    def convert_required(column: pa.Array) -> tuple[pa.Array, Inexact]:
        converted, bad = convert(column)
        return converted, either(bad, nulls_of(column))

    return convert_required


def _filled(convert: Convert, default: pa.Array) -> Convert:
    def convert_filled(column: pa.Array) -> tuple[pa.Array, Inexact]:
        converted, bad = convert(column)
        if not column.null_count:
            return converted, bad
        if not pa.types.is_nested(converted.type):
            return pc.fill_null(converted, default[0]), bad
        places = np.arange(len(column))
        places[column.is_null().to_numpy(zero_copy_only=False)] = len(column)
        return pa.concat_arrays([converted, default]).take(pa.array(places)), bad

    return convert_filled


def _struct(schema: ConnectSchema, fill: bool, numeric: bool) -> EnvelopeColumnReader | None:
    kind = arrow_type(schema)
    fields = [column_reader(inner, fill_defaults=fill, numeric=numeric) for _, inner in schema.fields]
    if any(one is None for one in fields):
        return None
    readers = cast("list[EnvelopeColumnReader]", fields)
    given = pa.struct([pa.field(name, one.type) for (name, _), one in zip(schema.fields, readers, strict=True)])

    def convert(column: pa.StructArray) -> tuple[pa.Array, Inexact]:
        converted, bad = [], None
        for reader, child in zip(readers, column.flatten(), strict=True):
            found, rows = reader.convert(child)
            converted.append(found)
            bad = either(bad, rows)
        nulls = nulls_of(column)
        if nulls is not None and bad is not None:
            bad = bad & ~nulls
        mask = None if nulls is None else pa.array(nulls)
        return pa.StructArray.from_arrays(converted, fields=list(kind), mask=mask), bad

    return EnvelopeColumnReader(given, convert, 1 + sum(one.columns for one in readers))


def _array(schema: ConnectSchema, fill: bool, numeric: bool) -> EnvelopeColumnReader | None:
    kind = arrow_type(schema)
    element = column_reader(cast(ConnectSchema, schema.element), fill_defaults=fill, numeric=numeric)
    if element is None or (numeric and is_decimal(cast(ConnectSchema, schema.element))):
        return None

    def convert(column: pa.ListArray) -> tuple[pa.Array, Inexact]:
        lengths = lengths_of(column)
        values, bad = element.convert(column.flatten())
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        mask = column.is_null() if column.null_count else None
        made = pa.LargeListArray.from_arrays(pa.array(offsets), values, type=kind, mask=mask)
        return made, None if bad is None else _owners(bad, lengths)

    return EnvelopeColumnReader(pa.list_(pa.field("element", element.type)), convert, 1 + element.columns)


def _owners(bad: Any, lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    found = np.zeros(len(lengths), np.bool_)
    found[np.repeat(np.arange(len(lengths)), lengths)[bad]] = True
    return found


# How values without values inside are read by Arrow's JSON parser, and how the result becomes their column.
#
# Rows whose value is not plainly right are marked: they are read one by one, by ``floe_job.convert.envelope.values``.


Convert = Callable[[pa.Array], tuple[pa.Array, Inexact]]


@dataclass(frozen=True)
class EnvelopeColumnReader:
    """``type`` is for the parser; ``convert`` turns its column into the one of the schema, and marks rows.

    ``columns``: how many there are, nested ones included.
    """

    type: pa.DataType
    convert: Convert
    columns: int = 1


def leaf_reader(schema: ConnectSchema, *, numeric: bool) -> EnvelopeColumnReader:
    """Make the reader of values without values inside. ``numeric``: decimals are numbers, and not base64."""
    kind = arrow_type(schema)
    if is_decimal(schema):
        if numeric:
            # twice the digits: the parser does not check them after it has changed the scale
            return EnvelopeColumnReader(pa.decimal256(MAX_DIGITS, scale_of(schema)), _numeric_decimals(kind))
        return EnvelopeColumnReader(pa.large_string(), _decimals(kind))
    if schema.kind is Kind.BYTES:
        return EnvelopeColumnReader(pa.large_string(), _bytes)
    if schema.name == logical.DATE:
        return EnvelopeColumnReader(pa.int32(), lambda column: (column.view(kind), None))
    if schema.name == logical.TIME:
        return EnvelopeColumnReader(pa.int32(), _times(0, DAY_MILLIS - 1, kind))
    if schema.name == logical.TIMESTAMP:
        return EnvelopeColumnReader(pa.int64(), _times(-MAX_MILLIS, MAX_MILLIS, kind))
    if schema.kind in (Kind.FLOAT32, Kind.FLOAT64):
        return EnvelopeColumnReader(kind, _finite)
    return EnvelopeColumnReader(kind, lambda column: (column, None))


def marked(found: pa.Array) -> Inexact:
    """Return the rows for which a column of booleans is true; None for none of them."""
    rows: np.ndarray[Any, Any] = pc.fill_null(found, fill_value=False).to_numpy(zero_copy_only=False)
    return rows if rows.any() else None


def _finite(column: pa.Array) -> tuple[pa.Array, Inexact]:
    """Mark what the parser takes and JSON has not; Java's numbers have no zero below zero."""
    made = pc.add(column, pa.scalar(0.0, column.type))
    if pc.all(pc.is_finite(column)).as_py() is False:
        return made, marked(pc.invert(pc.is_finite(column)))
    return made, None


def _times(first: int, last: int, kind: pa.DataType) -> Convert:
    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        bad: Inexact = None
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None and not first <= ends["min"] <= ends["max"] <= last:
            bad = marked(pc.or_(pc.less(column, first), pc.greater(column, last)))
            column = pc.if_else(pa.array(bad), pa.scalar(0, column.type), column)
        return pc.multiply(column.cast(pa.int64()), pa.scalar(1000, pa.int64())).view(kind), bad

    return convert


def _bytes(column: pa.Array) -> tuple[pa.Array, Inexact]:
    decoded = decode_column(column)
    return bytes_column(decoded, _nulls(column)), decoded.bad if decoded.bad.any() else None


def _decimals(kind: pa.DataType) -> Convert:
    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        data, starts, ends, bad = decode_column(column)
        words = np.ndarray((len(data) - 7,), ">i8", data.data, 0, (1,))
        made, large = decimals(data, words, ends, ends - starts, kind)
        nulls = _nulls(column)
        bad |= starts == ends
        if large is not None:
            bad[large] = True
        if nulls is not None:
            bad &= ~nulls.to_numpy(zero_copy_only=False)
            made = pc.if_else(nulls, pa.scalar(None, kind), made)
        return made, bad if bad.any() else None

    return convert


def _numeric_decimals(kind: pa.DataType) -> Convert:
    limit = pa.scalar(10 ** (MAX_DIGITS - kind.scale), pa.decimal256(76, 0))

    def convert(column: pa.Array) -> tuple[pa.Array, Inexact]:
        bad: Inexact = None
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None and max(abs(ends["min"]), abs(ends["max"])) >= limit.as_py():
            wide = [value is not None and abs(value) >= limit.as_py() for value in column.to_pylist()]
            bad = np.array(wide, np.bool_)
            column = pc.if_else(pa.array(bad), pa.scalar(None, column.type), column)
        return column.cast(kind), bad

    return convert


def _nulls(column: pa.Array) -> pa.Array | None:
    return column.is_null() if column.null_count else None


# A chunk of payloads into one column of structs, by templates or by Arrow's JSON parser.


MAX_CELLS: Final = 2_000_000
"""Records times columns of a chunk: the parser takes time for each, even if most are empty."""


class ChunkReader:
    """Reads chunks of payloads of one schema, which is a struct. ``most``: payloads at once."""

    def __init__(self, schema: ConnectSchema, reader: EnvelopeColumnReader, *, numeric: bool) -> None:
        """``numeric``: the decimals in payloads are numbers."""
        self.most = MAX_CELLS // (reader.columns + 1) + 1
        self._reader = reader
        self._explicit = pa.schema(list(reader.type))
        self._templates = TemplateReader(self._explicit)
        self._decimals = _StringsOf(set(_decimal_names(schema))) if numeric else None

    def read(self, lines: Lines) -> tuple[pa.Array, Inexact]:
        """Return the column of a chunk, and the rows of it that are to be read one by one. Raises NotExact."""
        check_depth(lines)
        check_encoding(lines.text)
        table = self._templates.read(lines, self._parse_known)
        if table is None:
            table = self._parse(lines.text, pretty=is_pretty(lines.text, len(lines.starts)))
            if self._decimals is not None:
                self._decimals.check(lines.text)
        if table.num_rows != len(lines.starts):
            raise NotExact
        columns = (table.column(place) for place in range(len(self._explicit)))
        arrays = [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in columns]
        return self._reader.convert(pa.StructArray.from_arrays(arrays, fields=list(self._explicit)))

    def _parse_known(self, text: Text) -> pa.Table:
        table = read_by_arrow(text, self._explicit, "error")
        if self._decimals is not None:
            self._decimals.check(text)
        return table

    def _parse(self, text: Text, *, pretty: bool) -> pa.Table:
        try:
            return parsed_by_arrow(text, self._explicit, "error", pretty=pretty)
        except UnexpectedField:  # one that is null is nothing to lose: each payload is looked at alone
            raise NotExact from None


class ChunkReaders:
    """The readers of one schema: one for decimals in base64, and one for decimals that are numbers."""

    def __init__(self, schema: ConnectSchema, *, fill_defaults: bool) -> None:
        self._schema = schema
        self._fill = fill_defaults
        self._has_decimals = any(True for _ in _decimal_names(schema))
        self._is_numeric = False

    def learn(self, record: bytes) -> bool:
        """See how a payload has its decimals; return whether that differs from those before."""
        if not self._has_decimals:
            return False
        try:
            found = next(_are_numbers(self._schema, parse_value(record)), self._is_numeric)
        except InvalidRecord:
            return False
        has_changed, self._is_numeric = found is not self._is_numeric, found
        return has_changed

    @property
    def reader(self) -> ChunkReader | None:
        """The reader of payloads like those seen; None where they are read one by one."""
        return self._numeric if self._is_numeric else self._plain

    @cached_property
    def _plain(self) -> ChunkReader | None:
        return self._made(numeric=False)

    @cached_property
    def _numeric(self) -> ChunkReader | None:
        return self._made(numeric=True)

    def _made(self, *, numeric: bool) -> ChunkReader | None:
        if self._schema.kind is not Kind.STRUCT:
            return None
        reader = column_reader(self._schema, fill_defaults=self._fill, numeric=numeric)
        return None if reader is None else ChunkReader(self._schema, reader, numeric=numeric)


def _decimal_names(schema: ConnectSchema, name: str = "") -> Iterator[str]:
    """Yield the names of the fields that are decimals."""
    if is_decimal(schema):
        yield name
    for field, inner in schema.fields:
        yield from _decimal_names(inner, field)
    for one in (schema.key, schema.element):
        if one is not None:
            yield from _decimal_names(one, name)


def _are_numbers(schema: ConnectSchema, value: Any) -> Iterator[bool]:
    """Yield of each decimal in a value whether it is a number."""
    if is_decimal(schema) and value is not None:
        yield isinstance(value, int | float)
    elif isinstance(value, dict):
        for name, inner in schema.fields:
            yield from _are_numbers(inner, value.get(name))
    elif isinstance(value, list) and schema.element is not None:
        for one in value:
            yield from _are_numbers(schema.element, one)


class _StringsOf:
    """Makes sure that fields are no strings: Arrow's parser takes digits in a string for a decimal, which is base64."""

    def __init__(self, names: set[str]) -> None:
        keys = (re.escape(json.dumps(name, ensure_ascii=False).encode()) for name in sorted(names))
        self._strings = [re.compile(key + rb'[ \t\r\n]*:[ \t\r\n]*"') for key in keys]

    def check(self, text: Text) -> None:
        """Raise NotExact if there may be one."""
        has_escaped_keys = b"\\" in text and ESCAPED_KEY.search(text)
        if has_escaped_keys or any(string.search(text) for string in self._strings):
            raise NotExact


def gathered(text: bytearray, starts: Places, ends: Places) -> Lines:
    """Return stretches of a text, ascending, as lines. The byte behind each of them is changed."""
    nbytes = np.frombuffer(text, np.uint8)
    nbytes[ends] = ord("\n")
    places = np.empty(2 * len(starts), np.int64)
    places[::2], places[1::2] = starts, ends + 1
    spans = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(places) - 1, [None, pa.py_buffer(places), pa.py_buffer(text)]
    )
    lines = spans.take(pa.array(np.arange(0, len(places) - 1, 2)))
    stops = np.cumsum(ends + 1 - starts) - 1
    return Lines(lines.buffers()[2].to_pybytes(), stops - (ends - starts), stops)
