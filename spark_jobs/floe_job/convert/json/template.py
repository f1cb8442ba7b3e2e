"""What uniform records have in common: their keys, in their order, and every byte between the values.

One record is parsed. Another record with the same bytes between its values is valid JSON, too, if its values are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from floe_job.convert.json.fallbacks import NoTemplate
from floe_job.source.native.memory import Words

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


class Kind(Enum):
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
    kind: Kind
    before: bytes
    quotes: int
    after: int
    behind: int


@dataclass(frozen=True)
class RecordTemplate:
    """A record without its values. ``end``: the bytes after the last value. ``quotes``: the number of all quotes."""

    fields: Mapping[Path, Kind]
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
            if kind is Kind.TEXT or kind is Kind.BARE:
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
            np.array([slot.kind is Kind.BARE for slot in slots], np.bool_),
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
    kind: Kind
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
            yield _ParsedField(path, Kind.OBJECT, place, place)
            place = yield from _object(record, opening.end(), path)
        else:
            kind, value = Kind.TEXT, _TEXT.match(record, place)
            if value is None:
                value = _match(_BARE, record, place)
                kind = Kind.NULL if value[1] else Kind.BARE
            begin, end = value.span(1 if kind is Kind.TEXT else 0)
            yield _ParsedField(path, kind, begin, begin if kind is Kind.NULL else end)
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
