"""Text into an instant by a pattern, as ``SimpleDateFormat.parse`` does: lenient, text behind the date is ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from floe_job.types.java_dates.digits import read_number, wrap_int
from floe_job.types.java_dates.names import read_name
from floe_job.types.java_dates.pattern import Field, Piece
from floe_job.types.java_dates.plain import MILLI_DIGITS
from floe_job.types.java_dates.resolution import (
    AM_PM,
    DAY,
    DAY_OF_WEEK,
    DAY_OF_WEEK_IN_MONTH,
    DAY_OF_YEAR,
    ERA,
    HOUR,
    HOUR_OF_DAY,
    MILLISECOND,
    MINUTE,
    MONTH,
    SECOND,
    WEEK_OF_MONTH,
    WEEK_OF_YEAR,
    WEEK_YEAR,
    YEAR,
    FieldSet,
)
from floe_job.types.java_dates.zones import read_iso_zone, read_zone

_CALENDAR_FIELD: Final = {
    "G": ERA, "y": YEAR, "Y": WEEK_YEAR, "M": MONTH, "L": MONTH, "w": WEEK_OF_YEAR, "W": WEEK_OF_MONTH,
    "D": DAY_OF_YEAR, "d": DAY, "F": DAY_OF_WEEK_IN_MONTH, "E": DAY_OF_WEEK, "u": DAY_OF_WEEK, "a": AM_PM,
    "H": HOUR_OF_DAY, "k": HOUR_OF_DAY, "K": HOUR, "h": HOUR, "m": MINUTE, "s": SECOND, "S": MILLISECOND,
}  # fmt: skip


class Parser:
    """Reads the texts of one pattern.

    ``century``: years of two digits are those of the hundred years that begin there, with its millisecond and its year.
    """

    def __init__(self, pieces: Sequence[Piece], century: tuple[int, int]) -> None:
        self._pieces = tuple(units(piece) if isinstance(piece, str) else piece for piece in pieces)
        self._century, self._century_year = century

    def parse(self, text: str, *, exactly: bool = False) -> int | None:
        """Return milliseconds since 1970; None for a text that is not of the pattern.

        Raises ValueError for a time zone whose offset is unknown here. ``exactly``: also for what Java carries over, as a
        month of 13, takes for something else, as a fraction that has not three digits, or ignores, as text behind the date.
        """
        text = units(text)
        fields = FieldSet()
        place = 0
        for piece in self._pieces:
            if isinstance(piece, str):
                if not text.startswith(piece, place):
                    return None
                place += len(piece)
                continue
            end = self._read(piece, text, place, fields)
            if end is None:
                return None
            if exactly:
                _check_field(piece, text[place:end])
            place = end
        if not place:
            return None
        millis = self._millis(fields)
        if exactly:
            _check_rest(text[place:])
            _check_day(fields, millis)
        return millis

    def _millis(self, fields: FieldSet) -> int:
        millis = fields.millis()
        if fields.is_ambiguous and millis < self._century:
            for name in (YEAR, WEEK_YEAR):
                if name in fields.values:
                    fields.values[name] = wrap_int(fields.values[name] + 100)
            millis = fields.millis()
        if fields.is_named and millis < 0:
            problem = "a time zone has a name, and before 1970 its offset was another: write an offset, as +0100"
            raise ValueError(problem)
        return millis

    def _read(self, field: Field, text: str, start: int, fields: FieldSet) -> int | None:
        """Read a field at ``start``; return where it ends, None if it is not there."""
        place = start
        while text[place : place + 1] in _BLANKS:
            place += 1
        if place >= len(text):
            return None
        letter = field.letter
        if letter in "GaE" or (letter in "ML" and field.count > 2):
            named = read_name(letter, text, start)
            if named is None:
                return None
            fields.put(_CALENDAR_FIELD[letter], named[0])
            return named[1]
        if letter in "zZ":
            return read_zone(text, start, place, fields)
        if letter == "X":
            return read_iso_zone(text, place, field.count, fields)
        return self._read_number(field, text, start, place, fields)

    def _read_number(self, field: Field, text: str, start: int, place: int, fields: FieldSet) -> int | None:
        last = start + field.count if field.is_counted else len(text)
        if last > len(text):
            return None
        found = read_number(text, place, last)
        if found is None:
            return None
        value, end = found
        if field.letter in "yY" and field.count <= 2 and end - place == 2 and text[place:end].isdecimal():
            value, fields.is_ambiguous = self._year(value)
        fields.put(_CALENDAR_FIELD[field.letter], _adjusted(field.letter, value))
        return end

    def _year(self, value: int) -> tuple[int, bool]:
        """Return the year that two digits mean, and whether the hundred years begin and end in it."""
        first = self._century_year % 100
        return self._century_year // 100 * 100 + value + (100 if value < first else 0), value == first


_RANGES: Final = {
    "M": ("month", 1, 12), "L": ("month", 1, 12), "d": ("day", 1, 31), "D": ("day of the year", 1, 366),
    "H": ("hour", 0, 23), "k": ("hour", 1, 24), "K": ("hour", 0, 11), "h": ("hour", 1, 12), "m": ("minute", 0, 59),
    "s": ("second", 0, 59),
}  # fmt: skip


def _check_field(field: Field, text: str) -> None:
    """Raise ValueError for a number that Java carries over to the next larger field, or takes for another."""
    text = text.strip(" \t")
    if field.letter == "S":
        if len(text) != MILLI_DIGITS or not text.isdecimal():
            problem = f"its fraction {text[:20]!r} has not three digits, and Java reads it as that many milliseconds"
            raise ValueError(problem)
        return
    if field.letter not in _RANGES or not (text.isdecimal() or text[1:].isdecimal()):
        return
    what, least, most = _RANGES[field.letter]
    if not least <= int(text) <= most:
        problem = f"its {what} is {text[:20]}, and Java carries over what is not {least} to {most}"
        raise ValueError(problem)


def _check_rest(text: str) -> None:
    """Raise ValueError for text behind the date; UTC, which is the zone of a text without one, may be there."""
    if text.strip() not in ("", "Z"):
        problem = f"its end {text[:20]!r} is not in the pattern, and Java ignores it"
        raise ValueError(problem)


def _check_day(fields: FieldSet, millis: int) -> None:
    """Raise ValueError for a day that its month has not."""
    given = [fields.values.get(name) for name in (MONTH, DAY)]
    if None in given or not fields.values.keys().isdisjoint((DAY_OF_YEAR, WEEK_YEAR, WEEK_OF_YEAR, WEEK_OF_MONTH)):
        return
    month, day = fields.local_day(millis)
    if [month - 1, day] != given:
        problem = f"its day {given[1]} is none of the month, and Java takes one of the next month"
        raise ValueError(problem)


_BLANKS: Final = frozenset({" ", "\t"})


def _adjusted(letter: str, value: int) -> int:
    """Return what the calendar's field is for a number in the text."""
    if letter in "ML":
        return wrap_int(value - 1)
    if (letter == "k" and value == 24) or (letter == "h" and value == 12):
        return 0
    if letter == "u" and 1 <= value <= 7:
        return value % 7 + 1
    return value


def units(text: str) -> str:
    """Return a text with a character for each of Java's, so that places and lengths are Java's."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    encoded = text.encode("utf-16-be", "surrogatepass")
    return "".join(chr(encoded[place] << 8 | encoded[place + 1]) for place in range(0, len(encoded), 2))
