"""The literal of an InsertHeader, as Connect's ``Values.parseString`` reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final
from unicodedata import decimal

from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.types.header_texts.header_text import value_text
from floe_job.types.header_texts.values import (
    BOOLEAN,
    DATE,
    DECIMAL,
    FLOAT32,
    FLOAT64,
    STRING,
    TIME,
    TIMESTAMP,
    CommonSchema,
    DataException,
    JavaDate,
    JavaMap,
    Value,
    aligned,
    nearest_single,
    utf8,
    whole,
)
from floe_job.types.java_dates import SimpleDate
from floe_job.types.java_dates.parser import units

MAX_DEPTH: Final = 100
"""Arrays and maps inside one another. Java ends with a stack overflow at some thousands."""

_NUMBER: Final = re.compile(
    r"[+-]?(?:\d+\.?(?P<fraction>\d*)|\.(?P<rest>\d+))(?:[eE](?P<exponent>[+-]?\d+))?", re.ASCII
)
_MAX_INT: Final = 2**31 - 1
_MAX_EXPONENT_DIGITS: Final = 10
_BIGGER_THAN_LONG: Final = Decimal("1E19")
_TEMPORALS: Final = {
    13: (TIME, "HH:mm:ss.SSS'Z'"),
    24: (TIMESTAMP, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"),
    10: (DATE, "yyyy-MM-dd"),
}


def literal_text(value_literal: str) -> bytes | None:
    """Return what a header holds that InsertHeader adds; None for null.

    Connect's configuration trims a literal before; see ``tokens.trimmed``. Java's own time zone is taken for UTC.
    Raises ValueError for arrays and maps that are nested too deep.
    """
    if not value_literal:
        return b""
    value = _Literal(units(value_literal)).parse(is_embedded=False)
    return None if value is None else utf8(value_text(value))


class _Literal:
    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text)
        self._depth = 0

    def parse(self, *, is_embedded: bool) -> Value | None:
        tokens = self._tokens
        if not tokens.has_more:
            return None
        if is_embedded and tokens.take_if('"'):
            return self._quoted()
        for word, content in (("null", None), ("true", True), ("false", False)):
            if self._is_word(word, is_embedded=is_embedded):
                return None if content is None else Value(BOOLEAN, content)
        mark = tokens.mark()
        try:
            if tokens.take_if("["):
                return self._nested(self._array)
            if tokens.take_if("{"):
                return self._nested(self._map)
        except DataException:
            tokens.rewind(mark)
        token = tokens.take()
        word = trimmed(token)
        return self._word(word, is_embedded=is_embedded) if word else Value(STRING, token)

    def _is_word(self, word: str, *, is_embedded: bool) -> bool:
        mark = self._tokens.mark()
        if self._tokens.take_if(word) and (is_embedded or not self._tokens.has_more):
            return True
        self._tokens.rewind(mark)
        return False

    def _word(self, word: str, *, is_embedded: bool) -> Value:
        if word[0].isdecimal():
            found = self._temporal(word)
            if found is not None:
                return found
        if word[0].isdecimal() or word[0] in "+-":
            number = _number(word)
            if number is not None:
                return number
        if is_embedded:
            raise DataException
        return Value(STRING, self._tokens.text)

    def _temporal(self, word: str) -> Value | None:
        mark = self._tokens.mark()
        rest = self._tokens.take_text(4)
        if rest is not None:
            found = _temporal(word + rest)
            if found is not None:
                return found
        self._tokens.rewind(mark)
        return _temporal(word)

    def _quoted(self) -> Value:
        parts = []
        while self._tokens.has_more and not self._tokens.take_if('"'):
            parts.append(self._tokens.take())
        text = "".join(parts)
        return _temporal(text) or Value(STRING, text)

    def _nested(self, read: Callable[[], Value]) -> Value:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            problem = f"a literal has more than {MAX_DEPTH} arrays and maps inside one another: write a flatter one"
            raise ValueError(problem)
        try:
            return read()
        finally:
            self._depth -= 1

    def _array(self) -> Value:
        tokens, entries, common = self._tokens, list[Value | None](), CommonSchema()
        while tokens.has_more:
            if tokens.take_if("]"):
                schema = common.schema
                if schema is not None:
                    entries = [aligned(entry, schema) for entry in entries]
                return Value(ConnectSchema(Kind.ARRAY, element=schema), entries)
            if tokens.take_if(","):
                raise DataException
            entry = self.parse(is_embedded=True)
            common.merge(entry)
            entries.append(entry)
            mark = tokens.mark()
            if tokens.take_if("]"):
                tokens.rewind(mark)
            elif not tokens.take_if(","):
                raise DataException
        raise DataException

    def _map(self) -> Value:
        tokens, entries, keys, values = self._tokens, JavaMap(), CommonSchema(), CommonSchema()
        while tokens.has_more:
            if tokens.take_if("}"):
                return _aligned_map(entries, keys.schema, values.schema)
            if tokens.take_if(","):
                raise DataException
            key = self.parse(is_embedded=True)
            if key is None or not tokens.take_if(":"):
                raise DataException
            value = self.parse(is_embedded=True)
            entries.put(key, value)
            tokens.take_if(",")
            keys.merge(key)
            values.merge(value)
        raise DataException


def _aligned_map(entries: JavaMap, key: ConnectSchema | None, value: ConnectSchema | None) -> Value:
    schema = ConnectSchema(Kind.MAP, key=key, element=value if key is not None else None)
    if key is None:
        return Value(schema, entries)
    made = JavaMap()
    for name, entry in entries.entries():
        made.put(aligned(name, key), entry if value is None else aligned(entry, value))
    return Value(schema, made)


def _temporal(text: str) -> Value | None:
    """Read a date, a time or a timestamp; which one, the length says. What follows it in the text is ignored."""
    text = text.replace("\\:", ":")
    found = _TEMPORALS.get(len(text))
    if found is None:
        return None
    schema, pattern = found
    try:
        return Value(schema, JavaDate(SimpleDate.of(pattern).parse(text)))
    except ValueError:
        return None


def _number(text: str) -> Value | None:
    """Read a number as Java's BigDecimal: the least type of whole numbers, else a float, a double or a decimal."""
    number = _decimal(text)
    if number is None:
        return None
    if not number:
        return whole(0)
    size, exponent = number.copy_abs(), int(number.as_tuple().exponent)
    if 1 <= size <= _BIGGER_THAN_LONG and number == number.to_integral_value():
        integer = int(number)
        if -(2**63) <= integer < 2**63:
            return whole(integer)
    double = float(number)
    if exponent:
        single = nearest_single(number)
        if abs(single) != float("inf"):
            return Value(FLOAT32, single)
        if abs(double) != float("inf"):
            return Value(FLOAT64, double)
    return Value(DECIMAL, number)


def _decimal(text: str) -> Decimal | None:
    text = text if text.isascii() else "".join(str(decimal(each)) if each.isdecimal() else each for each in text)
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    digits = (found["exponent"] or "").lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MAX_EXPONENT_DIGITS:
        return None
    exponent = -int(digits) if (found["exponent"] or "").startswith("-") else int(digits)
    scale = len(found["fraction"] or found["rest"] or "") - exponent
    is_held = -_MAX_INT - 1 <= exponent <= _MAX_INT and -_MAX_INT - 1 <= scale <= _MAX_INT
    return Decimal(text) if is_held else None


# The tokens of a literal, as Connect's ``Values.Parser`` splits it: at quotes, commas, colons, brackets and braces.


_SPECIAL: Final = frozenset('",:[]{}')
_BLANKS: Final = "".join(map(chr, range(33)))


def trimmed(text: str) -> str:
    """Return a text without what Java's ``trim`` takes away."""
    return text.strip(_BLANKS)


class Tokens:
    """Reads tokens one by one; one may be looked at before it is taken."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self._next: str | None = None

    @property
    def has_more(self) -> bool:
        """Return whether there is a token."""
        return self._next is not None or self.place < len(self.text)

    def mark(self) -> int:
        """Return the place to go back to."""
        return self.place - len(self._next or "")

    def rewind(self, mark: int) -> None:
        """Go back to a mark."""
        self.place, self._next = mark, None

    def take(self) -> str:
        """Take the next token."""
        token, self._next = self._next, None
        return self._read() if token is None else token

    def take_text(self, count: int) -> str | None:
        """Take tokens as one text; None, and none is taken, if there are not so many."""
        start = self.mark()
        for _ in range(count):
            if not self.has_more:
                self.rewind(start)
                return None
            self.take()
        return self.text[start : self.place]

    def take_if(self, token: str) -> bool:
        """Take the next token if it is this one. Blank tokens before it are skipped, and stay so."""
        if self._next is None:
            if not self.has_more:
                return False
            self._next = self._read()
        while not trimmed(self._next) and self.place < len(self.text):
            self._next = self._read()
        if trimmed(self._next) != token:
            return False
        self._next = None
        return True

    def _read(self) -> str:
        start, text = self.place, self.text
        place, is_escaped = start, False
        while place < len(text):
            character = text[place]
            if character == "\\":
                is_escaped = not is_escaped
            elif character in _SPECIAL and not is_escaped:
                place = max(place, start + 1)
                break
            else:
                is_escaped = False
            place += 1
        self.place = place
        return text[start:place]
