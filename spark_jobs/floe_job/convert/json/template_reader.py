"""A chunk of uniform records, read with a few operations on all of them; the result is that of Arrow's parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from floe_job.convert.json.fallbacks import NoTemplate
from floe_job.convert.json.framing import Text
from floe_job.convert.json.template import BytesColumn, Kind, Mask, Path, RecordTemplate, Spans
from floe_job.convert.json.template_columns import column, small_integers
from floe_job.source.native.memory import Words
from floe_job.source.values import Lines

_BARE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_())
TYPES = {pa.large_string(): Kind.TEXT} | dict.fromkeys(_BARE, Kind.BARE)
"""The types of such columns beside decimals, and what their fields hold."""

MIN_BYTES = 64 * 1024
"""Bytes of a chunk for each value of its records from which on this pays: the parser takes such values one by one faster."""

INTEGERS_TOGETHER = 16
"""Small integers that count as one such value, as they are read together."""

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
        self._known: list[RecordTemplate] = []
        self._pause = self._waiting = 0

    def read(self, lines: Lines, parse: Callable[[Text], pa.Table]) -> pa.Table | None:
        """Return a chunk's table; None where the parser has to read it, whose result may differ.

        The text must be UTF-8. ``parse`` gets the records without a template; none of them contains a newline.
        """
        if not 0 < len(lines.text) <= MAX_BYTES:
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
        quotes = _Quotes(lines, nbytes)
        rows: list[Words] = []
        tables: list[pa.Table] = []
        while np.count_nonzero(left) > FEW * len(left) and len(rows) < MAX_TEMPLATES:
            template = self._template(lines, nbytes, quotes, int(left.argmax()))
            found = _Found.of(lines.text, template, self._schema)
            if not found.is_worth_it(found.integers):
                return None
            some = quotes.rows(template.quotes, left)
            fits, spans = template.match(nbytes, lines.starts[some], lines.ends[some], quotes.of(some, template.quotes))
            if not fits.all():
                some, spans = some[fits], spans.where(fits)
            rows.append(some)
            tables.append(found.table(spans, self._schema))
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

    def _template(self, lines: Lines, nbytes: BytesColumn, quotes: _Quotes, row: int) -> RecordTemplate:
        """Return a template that a record has: of an earlier record, or its own. Raises NoTemplate."""
        only = np.array([row])
        for known in self._known:
            if quotes.count(row) == known.quotes:
                fits, _ = known.match(nbytes, lines.starts[only], lines.ends[only], quotes.of(only, known.quotes))
                if fits[0]:
                    return known
        made = RecordTemplate.of(lines.record(row))
        _check_columns_fit(made, self._schema)
        self._known = [made, *self._known][:MAX_TEMPLATES]
        return made


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

    def count(self, row: int) -> int:
        """Return how many a record has."""
        return int(self._counts[row])

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
    """The records of one kind in a text. ``types``: of the columns of the slots. ``integers``: the slots of integers."""

    text: Text
    template: RecordTemplate
    types: Sequence[pa.DataType]
    integers: Sequence[int]

    @classmethod
    def of(cls, text: Text, template: RecordTemplate, schema: pa.Schema) -> Self:
        types = [_type_at(slot.path, schema) for slot in template.slots]
        return cls(text, template, types, [place for place, kind in enumerate(types) if pa.types.is_integer(kind)])

    def is_worth_it(self, together: Sequence[int]) -> bool:
        """Return whether this is faster than the parser; ``together``: the slots that are read together."""
        values = len(self.types) - len(together) + len(together) / INTEGERS_TOGETHER
        return len(self.text) >= MIN_BYTES * values

    def table(self, spans: Spans, schema: pa.Schema) -> pa.Table:
        """Return the values of records, by where they have them. Raises NoTemplate, ArrowInvalid."""
        found = zip(self.integers, small_integers(self.text, spans.of(self.integers)), strict=True)
        together = {place: values for place, values in found if values is not None}
        if not self.is_worth_it(list(together)):
            raise NoTemplate
        columns = {
            slot.path: together[place].cast(kind) if place in together else column(kind, self.text, *spans.of(place))
            for place, (slot, kind) in enumerate(zip(self.template.slots, self.types, strict=True))
        }
        arrays = [self._array(field, (), columns, spans.begins.shape[1]) for field in schema]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _array(self, field: pa.Field, above: Path, columns: Mapping[Path, pa.Array], count: int) -> pa.Array:
        path = (*above, field.name)
        kind = self.template.fields.get(path, Kind.NULL)
        if kind is Kind.NULL:
            return pa.nulls(count, field.type)
        if kind is Kind.OBJECT:
            children = [self._array(child, path, columns, count) for child in field.type]
            return pa.StructArray.from_arrays(children, fields=list(field.type))
        return columns[path]


def _type_at(path: Path, schema: pa.Schema) -> pa.DataType:
    found = schema.field(path[0]).type
    for name in path[1:]:
        found = found.field(name).type
    return found


def _ordered(rows: list[Words], tables: list[pa.Table]) -> pa.Table:
    """Put tables together, each record at its row."""
    if len(tables) == 1:
        return tables[0]
    places = np.concatenate(rows)
    order = np.empty(len(places), np.int64)
    order[places] = np.arange(len(places))
    return pa.concat_tables(tables).combine_chunks().take(pa.array(order))
