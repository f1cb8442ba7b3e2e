"""A chunk of uniform records, read with a few operations on all of them; the result is that of Arrow's parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.convert.json.fallbacks import NoTemplate
from floe_job.convert.json.framing import Text
from floe_job.convert.json.template import BytesColumn, Kind, Mask, Path, RecordTemplate, Span
from floe_job.source.native.memory import Words
from floe_job.source.values import Lines

_BARE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_())
TYPES = {pa.large_string(): Kind.TEXT} | dict.fromkeys(_BARE, Kind.BARE)
"""The types of such columns beside decimals, and what their fields hold."""

_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?$"
"""Of JSON's numbers those that the parser takes: it finds some larger exponents too large."""
_NULL, _TRUE, _FALSE = (pa.scalar(token, pa.large_string()) for token in ("null", "true", "false"))
_POWERS = np.array([10**digits for digits in range(1, 20)], np.uint64)


def column(kind: pa.DataType, text: Text, span: Span) -> pa.Array:
    """Return the values of a column of one of TYPES, or of decimals. Raises NoTemplate, ArrowInvalid."""
    tokens = _slices(text, span)
    if pa.types.is_large_string(kind):
        return tokens
    is_null = pc.equal(tokens, _NULL)
    if is_null.true_count:
        tokens = pc.if_else(is_null, pa.scalar(None, pa.large_string()), tokens)
    if pa.types.is_boolean(kind):
        return _booleans(tokens)
    return _numbers(tokens, kind) if _has_point(kind) else _integers(tokens).cast(kind)


def _has_point(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _slices(text: Text, span: Span) -> pa.Array:
    """Copy stretches of a text, by way of an array that has what is between them, too."""
    places = np.empty(2 * len(span.begins), np.int64)
    places[::2], places[1::2] = span
    if (places[1:] < places[:-1]).any() or (places[-1:] > len(text)).any():  # Arrow would read beyond the text
        raise NoTemplate
    stretches = pa.LargeStringArray.from_buffers(len(places) - 1, pa.py_buffer(places), pa.py_buffer(text))
    return stretches.take(_every_second(len(stretches)))


@lru_cache(maxsize=4)
def _every_second(length: int) -> pa.Array:
    return pa.array(np.arange(0, length, 2))


def _booleans(tokens: pa.Array) -> pa.Array:
    are_true = pc.equal(tokens, _TRUE)
    if pc.all(pc.or_(are_true, pc.equal(tokens, _FALSE))).as_py() is False:
        raise NoTemplate
    return are_true


def _numbers(tokens: pa.Array, kind: pa.DataType) -> pa.Array:
    if pc.all(pc.match_substring_regex(tokens, _NUMBER)).as_py() is False:
        raise NoTemplate
    return tokens.cast(kind)


def _integers(tokens: pa.Array) -> pa.Array:
    """Take digits only, and as many as the number has: none of them a leading zero, and no -0."""
    given = tokens.drop_null()
    nbytes = np.frombuffer(given.buffers()[2] or b"", np.uint8)[: pc.sum(pc.binary_length(given)).as_py()]
    if ((nbytes - ord("0") > 9) & (nbytes != ord("-"))).any():
        raise NoTemplate
    numbers = tokens.cast(pa.int64())
    found = numbers.fill_null(0).to_numpy()
    digits = np.searchsorted(_POWERS, np.abs(found).view(np.uint64), "right") + 1
    if (pc.binary_length(tokens).fill_null(1).to_numpy() != digits + (found < 0)).any():
        raise NoTemplate
    return numbers


MIN_BYTES = 64 * 1024
"""Bytes of a chunk for each value of its records from which on this pays: the parser takes such values one by one faster."""

MAX_BYTES = 16 * 1024 * 1024
"""Bytes of a chunk, which has only one record where it is that large: several copies of it are made."""

MAX_TEMPLATES = 4
"""Kinds of records in a chunk, as where some columns are null in some of them."""

FEW, MAX_OTHER_KEYS = 1 / 16, 1 / 4
"""Parts of a chunk: so few records get no template of their own, and with more left over the parser gets all of it."""

MAX_PAUSE = 64
"""Maximum number of chunks that are skipped after attempts without result."""


class TemplateReader:
    """Reads chunks by the templates of their records."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._pause = self._waiting = 0

    def read(self, lines: Lines, parse: Callable[[Text], pa.Table]) -> pa.Table | None:
        """Return a chunk's table; None where the parser has to read it, whose result may differ.

        The text must be UTF-8. ``parse`` gets the records without a template; none of them contains a newline.
        """
        if len(lines.text) > MAX_BYTES:
            return None
        if self._waiting:
            self._waiting -= 1
            return None
        try:
            table = self._read(lines, parse)
        except (NoTemplate, pa.ArrowException):  # the parser reports what is wrong, if anything is
            self._pause = min(2 * self._pause + 1, MAX_PAUSE)
            self._waiting = self._pause
            return None
        self._pause = 0
        return table

    def _read(self, lines: Lines, parse: Callable[[Text], pa.Table]) -> pa.Table | None:
        nbytes = np.frombuffer(lines.text, np.uint8)
        left = _without_escapes(lines, nbytes)
        if np.count_nonzero(left) < (1 - MAX_OTHER_KEYS) * len(left):
            raise NoTemplate
        taken = np.zeros(len(left), np.bool_)
        quotes: _Quotes | None = None
        rows: list[Words] = []
        tables: list[pa.Table] = []
        while np.count_nonzero(left) > FEW * len(left) and len(rows) < MAX_TEMPLATES:
            template = RecordTemplate.of(lines.record(int(left.argmax())))
            if len(nbytes) < MIN_BYTES * len(template.slots):
                return None
            _check_columns_fit(template, self._schema)
            quotes = quotes or _Quotes(lines, nbytes)
            some = quotes.rows(template.quotes, left)
            fits, spans = template.match(nbytes, lines.starts[some], lines.ends[some], quotes.of(some, template.quotes))
            if not fits.all():
                some, spans = some[fits], {path: span.where(fits) for path, span in spans.items()}
            rows.append(some)
            tables.append(_Found(lines.text, template, spans, len(some)).table(self._schema))
            left[some], taken[some] = False, True
        others = np.flatnonzero(~taken)
        if not rows or len(others) > MAX_OTHER_KEYS * len(left):
            raise NoTemplate
        if len(others):
            rows.append(others)
            table = parse(b"".join(lines.record(row) + b"\n" for row in others.tolist()))
            if table.num_rows != len(others):  # one of them is two objects
                raise NoTemplate
            tables.append(table.select(self._schema.names).cast(self._schema))
        return _ordered(rows, tables)


class _Quotes:
    """Where the quotes of a text are, record by record."""

    def __init__(self, lines: Lines, nbytes: BytesColumn) -> None:
        self._places = np.flatnonzero(nbytes == ord('"'))
        records = len(lines.starts)
        each, rest = divmod(len(self._places), records)
        grid = self._places[: records * each].reshape(records, each)
        if each and not rest and (grid[:, 0] > lines.starts).all() and (grid[:, -1] < lines.ends).all():
            self._firsts, self._counts = np.arange(records) * each, np.full(records, each)
        else:
            self._firsts = np.searchsorted(self._places, lines.starts)
            self._counts = np.diff(self._firsts, append=len(self._places))

    def rows(self, count: int, among: Mask) -> Words:
        """Return the records that have so many."""
        return np.flatnonzero(among & (self._counts == count))

    def of(self, rows: Words, count: int) -> Words:
        """Return a row of places for each record."""
        if len(rows) * count == len(self._places):
            return self._places.reshape(len(rows), count)
        found: Words = self._places[self._firsts[rows][:, np.newaxis] + np.arange(count)]
        return found


def _without_escapes(lines: Lines, nbytes: BytesColumn) -> Mask:
    """Return which records contain no backslash. Raises NoTemplate if one contains what strings must not."""
    if np.count_nonzero(nbytes < ord(" ")) != len(lines.starts):
        raise NoTemplate
    plain = np.ones(len(lines.starts), np.bool_)
    if b"\\" in lines.text:
        plain[np.searchsorted(lines.ends, np.flatnonzero(nbytes == ord("\\")))] = False
    return plain


def _check_columns_fit(template: RecordTemplate, schema: pa.Schema) -> None:
    """Raise NoTemplate unless there is a column for each field that takes its values."""
    for path, kind in template.fields.items():
        found = schema
        for name in path:
            position = found.get_field_index(name)
            if position < 0:
                raise NoTemplate
            found = found.field(position).type
        if not (pa.types.is_struct(found) if kind is Kind.OBJECT else kind in (Kind.NULL, _kind(found))):
            raise NoTemplate


def _kind(column: pa.DataType) -> Kind | None:
    return Kind.BARE if pa.types.is_decimal(column) else TYPES.get(column)


@dataclass(frozen=True)
class _Found:
    """Records of one kind, and where they have their values."""

    text: Text
    template: RecordTemplate
    spans: Mapping[Path, Span]
    count: int

    def table(self, schema: pa.Schema) -> pa.Table:
        return pa.Table.from_arrays([self._array(field, ()) for field in schema], schema=schema)

    def _array(self, field: pa.Field, above: Path) -> pa.Array:
        path = (*above, field.name)
        kind = self.template.fields.get(path, Kind.NULL)
        if kind is Kind.NULL:
            return pa.nulls(self.count, field.type)
        if kind is Kind.OBJECT:
            children = [self._array(child, path) for child in field.type]
            return pa.StructArray.from_arrays(children, fields=list(field.type))
        return column(field.type, self.text, self.spans[path])


def _ordered(rows: list[Words], tables: list[pa.Table]) -> pa.Table:
    """Put tables together, each record at its row."""
    if len(tables) == 1:
        return tables[0]
    places = np.concatenate(rows)
    order = np.empty(len(places), np.int64)
    order[places] = np.arange(len(places))
    return pa.concat_tables(tables).combine_chunks().take(pa.array(order))
