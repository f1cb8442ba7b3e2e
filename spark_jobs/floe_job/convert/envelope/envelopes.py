"""Envelopes into the text of their schema and the place of their payload.

Producers write all records of a schema with the same bytes up to the payload: that is compared and cut. Only the first such
record is parsed, and each that differs: with other blanks, with the payload first, with fields that are there twice.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, NoReturn, TypeVar

from floe_job.convert.json.parse import ANY_NUMBER
from floe_job.exceptions import VALUE_LENGTH, Malformed, clip

SCHEMA: Final = "schema"
PAYLOAD: Final = "payload"

MAX_TEXT: Final = 4 * 1024 * 1024
"""Bytes of the texts by which schemas are known. What is made of a schema takes several times that."""

MAX_SHOWN: Final = 5

_BYTE_ORDER_MARK: Final = "\ufeff"
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_PAYLOAD: Final = re.compile(rb'"payload"[ \t\n\r]*:[ \t\n\r]*')
MAX_PLACES: Final = 4
"""Places in a record that may be those of its payload: a schema may have a parameter of that name."""


Member = tuple[str, Any, int, int]
"""A field of an object: its name, its value, and where the text of the value begins and ends."""


@dataclass(frozen=True)
class Envelope:
    """A record, taken apart. ``start``, ``end``: of its payload, in bytes. ``is_plain``: the schema is first, and once."""

    schema_text: bytes
    schema: Any
    start: int
    end: int
    is_plain: bool


class NoObject(Exception):
    """A record is JSON, but no object."""


def members_of(record: bytes) -> tuple[str, list[Member]]:
    """Return a record as text, and its fields in their order. Raises Malformed and NoObject."""
    try:
        text = record.decode()
        return text, list(_members(text))
    except UnicodeDecodeError as error:
        problem = f"not UTF-8: byte 0x{record[error.start]:02x} at {error.start}"
        raise Malformed(problem) from None
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} at character {error.pos}" if record else "not JSON: empty"
        raise Malformed(problem) from None
    except RecursionError:
        problem = "nested too deep"
        raise Malformed(problem) from None


def open_envelope(record: bytes) -> Envelope:
    """Parse a record. Raises Malformed."""
    try:
        text, members = members_of(record)
    except NoObject:
        _refuse(None)
    last = {
        name: (value, start, end) for name, value, start, end in members
    }  # of a name that is there twice the last counts
    if last.keys() != {SCHEMA, PAYLOAD}:
        _refuse(last)
    (schema, first, stop), (_, start, end) = last[SCHEMA], last[PAYLOAD]
    begin = len(text[:start].encode())
    return Envelope(
        text[first:stop].encode(),
        schema,
        begin,
        begin + len(text[start:end].encode()),
        [name for name, *_ in members] == [SCHEMA, PAYLOAD],
    )


def _members(text: str) -> Iterator[Member]:
    """Yield the fields of an object: name, value, where the value begins and ends."""
    place = _skip(text, 1 if text.startswith(_BYTE_ORDER_MARK) else 0)
    if text[place : place + 1] != "{":
        ANY_NUMBER.decode(text.removeprefix(_BYTE_ORDER_MARK))
        raise NoObject
    place = _skip(text, place + 1)
    if text[place : place + 1] != "}":
        while True:
            if text[place : place + 1] != '"':
                _fail("Expecting property name enclosed in double quotes", text, place)
            name, place = ANY_NUMBER.raw_decode(text, place)
            start = _skip(text, _skip_one(text, _skip(text, place), ":"))
            value, end = ANY_NUMBER.raw_decode(text, start)
            yield name, value, start, end
            place = _skip(text, end)
            if text[place : place + 1] == "}":
                break
            place = _skip(text, _skip_one(text, place, ","))
    place = _skip(text, place + 1)
    if place < len(text):
        _fail("Extra data", text, place)


def _skip(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return place if found is None else found.end()


def _skip_one(text: str, place: int, wanted: str) -> int:
    if text[place : place + 1] != wanted:
        _fail(f"Expecting {wanted!r} delimiter", text, place)
    return place + 1


def _fail(what: str, text: str, place: int) -> NoReturn:
    raise json.JSONDecodeError(what, text, place)


def _refuse(found: dict[str, Any] | None) -> NoReturn:
    what = "it is no object"
    if found is not None:
        names = [clip(name, VALUE_LENGTH) for name in list(found)[:MAX_SHOWN]]
        what = f"it has the fields {names}" + (f" and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else "")
    problem = (
        f"{what}, and an envelope is an object of schema and payload, and nothing else: set schemas.enable=false of the "
        "converter if values are plain JSON"
    )
    raise Malformed(problem)


Known = TypeVar("Known")


class TextCache(Generic[Known]):
    """What is known by a text: the ones used last, in number and in bytes of text not more than a limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._nbytes = 0
        self._known: OrderedDict[bytes, Known] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, text: bytes) -> Known | None:
        """Return what is known by a text."""
        found = self._known.get(text)
        if found is not None:
            self._known.move_to_end(text)
        return found

    def put(self, text: bytes, known: Known) -> None:
        """Keep what is known by a text that is not kept yet; the last one is kept however long it is."""
        self._known[text] = known
        self._nbytes += len(text)
        while len(self._known) > 1 and (len(self._known) > self._most or self._nbytes > MAX_TEXT):
            gone, _ = self._known.popitem(last=False)
            self._nbytes -= len(gone)


def prefixes(record: bytes) -> Iterator[bytes]:
    """Yield what may be before the payload of a record, the blanks behind the colon included."""
    for number, found in enumerate(_PAYLOAD.finditer(record)):
        if number == MAX_PLACES:
            return
        yield record[: found.end()]
