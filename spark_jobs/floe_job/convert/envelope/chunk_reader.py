"""A chunk of payloads into one column of structs, by templates or by Arrow's JSON parser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import is_decimal
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.envelope.columns import column_reader
from floe_job.convert.envelope.leaf_columns import ColumnReader
from floe_job.convert.json.fallbacks import NotExact, UnexpectedField
from floe_job.convert.json.framing import Text
from floe_job.convert.json.key_aliases import ESCAPED_KEY
from floe_job.convert.json.parse import parse_value
from floe_job.convert.json.template_reader import TemplateReader
from floe_job.convert.json.text_checks import (
    check_depth,
    check_encoding,
    is_pretty,
    parsed_by_arrow,
    read_by_arrow,
)
from floe_job.convert.typed.base import Places
from floe_job.convert.typed.leaves import Inexact
from floe_job.exceptions import InvalidRecord
from floe_job.source.values import Lines

MAX_CELLS: Final = 2_000_000
"""Records times columns of a chunk: the parser takes time for each, even if most are empty."""


class ChunkReader:
    """Reads chunks of payloads of one schema, which is a struct. ``most``: payloads at once."""

    def __init__(self, schema: ConnectSchema, reader: ColumnReader, *, numeric: bool) -> None:
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
