"""What uniform records have in common: their keys, in their order, and every byte between the values.

One record is parsed. Another record with the same bytes between its values is valid JSON, too, if its values are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
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


class Span(NamedTuple):
    """Where a value begins and ends, in each record."""

    begins: Words
    ends: Words

    def where(self, mask: Mask) -> Span:
        """Return the same of the records that a mask has."""
        return Span(self.begins[mask], self.ends[mask])


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

    def match(self, nbytes: BytesColumn, starts: Words, ends: Words, quotes: Words) -> tuple[Mask, dict[Path, Span]]:
        """Say which records are of this kind, and where each has its values.

        ``starts``, ``ends``: where each record is in ``nbytes``. ``quotes``: a row per record, the places of its quotes.
        """
        fits = np.ones(len(starts), np.bool_)
        spans = {}
        done = starts
        for slot in self.slots:
            begins = quotes[:, slot.quotes - 1] + slot.after
            fits &= begins <= ends
            fits &= _matches(slot.before, nbytes, done, begins, fits)
            done = (quotes[:, slot.quotes] if slot.quotes < self.quotes else ends) - slot.behind
            if slot.kind is Kind.BARE:
                fits &= begins < done
            spans[slot.path] = Span(begins, done)
        fits &= _matches(self.end, nbytes, done, ends, fits)
        return fits, spans


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


def _matches(literal: bytes, nbytes: BytesColumn, begins: Words, ends: Words, among: Mask) -> Mask:
    """Return which of some stretches are equal to a literal."""
    found: Mask = among & (ends - begins == len(literal))
    rows = slice(None) if found.all() else np.flatnonzero(found)
    stretches = np.ndarray((len(nbytes) - len(literal) + 1,), f"V{len(literal)}", nbytes, 0, (1,))
    taken = stretches[begins[rows]]
    if taken.tobytes() != literal * len(taken):  # one comparison of all of them; one after the other takes longest
        found[rows] = taken == np.void(literal)
    return found
