"""What uniform records have in common: their keys, in their order, and every byte between the values.

One record is parsed. Another record with the same bytes between its values is valid JSON, too, if its values are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.convert.json.framing import NoTemplate, Text
from floe_job.source.native.memory import Words
from floe_job.source.values import Lines

Mask = np.ndarray[Any, np.dtype[np.bool_]]
BytesColumn = np.ndarray[Any, np.dtype[np.uint8]]
Path = tuple[str, ...]

_OPENING = re.compile(rb"\{ *")
_KEY = re.compile(rb'"([^"\\]*)" *: *')
_TEXT = re.compile(rb'"([^"\\]*)"')
_BARE = re.compile(rb"-?\d[-+.0-9eE]*|true|false|(null)")
_CLOSING = re.compile(rb" *([,}]) *")

MAX_SHARED = 4096
"""Bytes between values, and so of keys, that are compared: they are copied from all records for that."""


class ValueKind(Enum):
    """What a field contains. A null is no value: it has only one form."""

    TEXT = auto()
    BARE = auto()
    OBJECT = auto()
    NULL = auto()


class Spans(NamedTuple):
    """Where values begin and end: a row for each value of a record, in it the records in their order."""

    begins: Words
    ends: Words

    def where(self, mask: Mask) -> Spans:
        """Return the same of the records that a mask has."""
        return Spans(self.begins[:, mask], self.ends[:, mask])

    def of(self, slots: Any) -> Spans:
        """Return the same of some of the values, by their places."""
        return Spans(self.begins[slots], self.ends[slots])


@dataclass(frozen=True)
class TemplateField:
    """The place of a value, found by the quotes of its record.

    ``before``: the bytes between the value before and this one. ``quotes``: how many are in front of it; it begins ``after``
    bytes from the last of them and ends ``behind`` bytes in front of the next, or of the record's end.
    """

    path: Path
    kind: ValueKind
    before: bytes
    quotes: int
    after: int
    behind: int


@dataclass(frozen=True)
class RecordTemplate:
    """A record without its values. ``end``: the bytes after the last value. ``quotes``: the number of all quotes."""

    fields: Mapping[Path, ValueKind]
    slots: tuple[TemplateField, ...]
    end: bytes
    quotes: int

    @classmethod
    def of(cls, record: bytes) -> RecordTemplate:
        """Parse a record. Raises NoTemplate for one that is no JSON, or that has arrays, escapes, or a key twice."""
        members = []
        values = 0
        for member in _members(record):
            if member.begin - values > MAX_SHARED:
                raise NoTemplate
            members.append(member)
            values += member.end - member.begin
        places = [quote.start() for quote in re.finditer(b'"', record)]
        slots = []
        done = 0
        for path, kind, begin, end in members:
            if kind is ValueKind.TEXT or kind is ValueKind.BARE:
                quotes = bisect_left(places, begin)
                following = places[quotes] if quotes < len(places) else len(record)
                slots.append(
                    TemplateField(path, kind, record[done:begin], quotes, begin - places[quotes - 1], following - end)
                )
                done = end
        fields = {member.path: member.kind for member in members}
        if len(fields) < len(members) or len(record) - values > MAX_SHARED:
            raise NoTemplate
        return cls(fields, tuple(slots), record[done:], len(places))

    def match(self, nbytes: BytesColumn, starts: Words, ends: Words, quotes: Words) -> tuple[Mask, Spans]:
        """Say which records are of this kind, and where each has the values of the slots.

        ``starts``, ``ends``: where each record is in ``nbytes``. ``quotes``: a row per record, the places of its quotes.
        """
        own, of_quotes = self._numbers, quotes.T
        begins = np.concatenate((of_quotes[own.quotes - 1] + own.after, ends[np.newaxis]))
        done = np.concatenate((starts[np.newaxis], of_quotes[np.minimum(own.quotes, self.quotes - 1)] - own.behind))
        if self.slots and self.slots[-1].quotes == self.quotes:
            done[-1] = ends - self.slots[-1].behind
        spans = Spans(begins[:-1], done[1:])
        fits = (begins - done == own.between[:, np.newaxis]).all(axis=0)
        fits &= (spans.begins[own.bare] < spans.ends[own.bare]).all(axis=0)
        literals = [*(slot.before for slot in self.slots), self.end]
        for length in np.unique(own.between).tolist():
            some = np.flatnonzero(own.between == length).tolist()
            fits = _matches([literals[i] for i in some], nbytes, done[some], fits)
        return fits, spans

    @cached_property
    def _numbers(self) -> _Numbers:
        slots = self.slots
        return _Numbers(
            np.array([slot.quotes for slot in slots], np.int64),
            np.array([[slot.after] for slot in slots], np.int64).reshape(-1, 1),
            np.array([[slot.behind] for slot in slots], np.int64).reshape(-1, 1),
            np.array([slot.kind is ValueKind.BARE for slot in slots], np.bool_),
            np.array([*(len(slot.before) for slot in slots), len(self.end)], np.int64),
        )


class _Numbers(NamedTuple):
    """What ``TemplateField`` has, of all slots. ``between``: the bytes in front of each value, and those after the last."""

    quotes: Words
    after: Words
    behind: Words
    bare: Mask
    between: Words


class _ParsedField(NamedTuple):
    path: Path
    kind: ValueKind
    begin: int
    end: int


def _members(record: bytes) -> Generator[_ParsedField]:
    """Yield the fields of a record, and of the objects in it."""
    end = yield from _object(record, _match(_OPENING, record, 0).end(), ())
    if end != len(record):
        raise NoTemplate


def _object(record: bytes, place: int, above: Path) -> Generator[_ParsedField, None, int]:
    while True:
        key = _match(_KEY, record, place)
        path, place = (*above, key[1].decode()), key.end()
        if opening := _OPENING.match(record, place):
            yield _ParsedField(path, ValueKind.OBJECT, place, place)
            place = yield from _object(record, opening.end(), path)
        else:
            kind, value = ValueKind.TEXT, _TEXT.match(record, place)
            if value is None:
                value = _match(_BARE, record, place)
                kind = ValueKind.NULL if value[1] else ValueKind.BARE
            begin, end = value.span(1 if kind is ValueKind.TEXT else 0)
            yield _ParsedField(path, kind, begin, begin if kind is ValueKind.NULL else end)
            place = value.end()
        closing = _match(_CLOSING, record, place)
        place = closing.end()
        if closing[1] == b"}":
            return place


def _match(pattern: re.Pattern[bytes], record: bytes, place: int) -> re.Match[bytes]:
    found = pattern.match(record, place)
    if found is None:
        raise NoTemplate
    return found


def _matches(literals: Sequence[bytes], nbytes: BytesColumn, begins: Words, among: Mask) -> Mask:
    """Return which records have these literals, all of one length, from where they begin: a row for each literal."""
    if not among.any():  # the text may be shorter than a literal
        return among
    length, is_whole = len(literals[0]), among.all()
    stretches = np.ndarray((len(nbytes) - length + 1,), f"V{length}", nbytes, 0, (1,))
    taken = stretches[begins if is_whole else begins[:, among]]
    # one comparison of all of them; one after the other takes longest
    if taken.tobytes() == b"".join([literal * taken.shape[1] for literal in literals]):
        return among
    found = among.copy()
    found[among] = (taken == np.array(literals, np.void(length).dtype)[:, np.newaxis]).all(axis=0)
    return found


# The values that were found by a template, as columns; the result is that of Arrow's parser, or none.


_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?$"
"""Of JSON's numbers those that the parser takes: it finds some larger exponents too large."""
_NULL, _TRUE, _FALSE = (pa.scalar(token, pa.large_string()) for token in ("null", "true", "false"))
_POWERS = np.array([10**digits for digits in range(1, 20)], np.uint64)

DIGITS: Final = 8
"""Digits of a small integer: as many characters are read as one number of 64 bits."""

_ZEROS, _BEYOND_NINE, _TOP_BITS = (np.uint64(int(8 * byte, 16)) for byte in ("30", "76", "80"))
_PAIRS: Final = np.uint64(0x000000FF000000FF)
_FIRST, _SECOND = np.uint64(100 + (10**6 << 32)), np.uint64(1 + (10**4 << 32))
_LAST_BYTES: Final = np.array([(1 << 64) - (1 << 8 * (DIGITS - size)) for size in range(DIGITS + 1)], np.uint64)
"""By the number of digits: the bytes of a word that they are."""
_LEAST: Final = np.array([0, 0, *(10**size for size in range(1, DIGITS))], np.uint64)
"""By the number of digits: the least number that has as many."""


def column(kind: pa.DataType, text: Text, begins: Words, ends: Words) -> pa.Array:
    """Return the values of a column of one of TYPES, or of decimals. Raises NoTemplate, ArrowInvalid."""
    tokens = _slices(text, begins, ends)
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


def _slices(text: Text, begins: Words, ends: Words) -> pa.Array:
    """Copy stretches of a text, by way of an array that has what is between them, too."""
    places = np.empty(2 * len(begins), np.int64)
    places[::2], places[1::2] = begins, ends
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


def small_integers(text: Text, spans: Spans) -> Sequence[pa.Array | None]:
    """Return the column (int64) of each value of the records; None for one with values that are no such integers."""
    begins, ends = spans
    if not begins.size or len(text) < DIGITS:
        return [None] * len(begins)
    sizes = np.minimum(ends - begins, DIGITS)
    words = np.ndarray((len(text) - DIGITS + 1,), "<u8", text, 0, (1,))
    digits = (words[np.maximum(ends - DIGITS, 0)] ^ _ZEROS) & _LAST_BYTES[sizes]
    are_digits = ((digits + _BEYOND_NINE) | digits) & _TOP_BITS == 0
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    numbers = ((pairs & _PAIRS) * _FIRST + ((pairs >> np.uint64(16)) & _PAIRS) * _SECOND) >> np.uint64(32)
    has_word = (ends >= DIGITS) & (ends - begins <= DIGITS)  # not right at the beginning of the text
    are_good = (are_digits & has_word & (numbers >= _LEAST[sizes])).all(axis=1)
    columns = zip(numbers.view(np.int64), are_good.tolist(), strict=True)
    return [pa.array(column) if is_good else None for column, is_good in columns]


# A chunk of uniform records, read with a few operations on all of them; the result is that of Arrow's parser.


_BARE_TYPES = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_())
TYPES = {pa.large_string(): ValueKind.TEXT} | dict.fromkeys(_BARE_TYPES, ValueKind.BARE)
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
        if not (pa.types.is_struct(found) if kind is ValueKind.OBJECT else kind in (ValueKind.NULL, _kind(found))):
            raise NoTemplate


def _kind(column: pa.DataType) -> ValueKind | None:
    return ValueKind.BARE if pa.types.is_decimal(column) else TYPES.get(column)


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
        kind = self.template.fields.get(path, ValueKind.NULL)
        if kind is ValueKind.NULL:
            return pa.nulls(count, field.type)
        if kind is ValueKind.OBJECT:
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
