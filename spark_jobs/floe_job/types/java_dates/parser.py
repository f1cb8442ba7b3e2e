"""Text into an instant by a pattern, as ``SimpleDateFormat.parse`` does: lenient, text behind the date is ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from floe_job.types.java_dates.digits import read_number, wrap_int
from floe_job.types.java_dates.gregorian import CUTOVER, EPOCH, MILLIS_PER_DAY
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
        place, is_joined = 0, False
        for piece in self._pieces:
            if isinstance(piece, str):
                if not text.startswith(piece, place):
                    return None
                place, is_joined = place + len(piece), False
                continue
            end = self._read(piece, text, place, fields)
            if end is None:
                return None
            if exactly:
                _check_field(piece, text[place:end], is_joined=is_joined)
            place, is_joined = end, piece.is_counted and piece.is_number
        if not place:
            return None
        millis = self._millis(fields)
        if exactly:
            _check_rest(text[place:])
            _check_day(fields, millis)
            _check_half(fields)
            _check_calendar(millis)
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


_SHORT_YEAR, _YEAR, _NOON, _LEAP_DAYS = 2, 4, 12, 366
_GREGORIAN: Final = (CUTOVER - EPOCH) * MILLIS_PER_DAY
"""The first millisecond of Java's Gregorian calendar."""

_RANGES: Final = {
    "M": ("month", 1, 12), "L": ("month", 1, 12), "d": ("day", 1, 31), "D": ("day of the year", 1, 366),
    "H": ("hour", 0, 23), "k": ("hour", 1, 24), "K": ("hour", 0, 11), "h": ("hour", 1, 12), "m": ("minute", 0, 59),
    "s": ("second", 0, 59), "w": ("week", 1, 53), "W": ("week of the month", 0, 6), "F": ("week of the month", 1, 5),
    "u": ("day of the week", 1, 7),
}  # fmt: skip


def _check_field(field: Field, text: str, *, is_joined: bool) -> None:
    """Raise ValueError for a number that Java carries over to the next larger field, or takes for another.

    ``is_joined``: the number before it is counted, so that nothing but its digits says where this one ends.
    """
    if is_joined and field.is_number and len(text) != field.count:
        problem = (
            f"its end {text[:20]!r} has not the {field.count} digits of the pattern, and Java reads it all the same"
        )
        raise ValueError(problem)
    text = text.strip(" \t")
    if field.letter in "yY":
        is_of_century = field.count <= _SHORT_YEAR and len(text) == _SHORT_YEAR
        if len(text.lstrip("+-")) < _YEAR and not is_of_century:
            problem = (
                f"its year is {text[:20]}, and Java takes it for one of antiquity: write four digits, or the pattern yy"
            )
            raise ValueError(problem)
        return
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
    """Raise ValueError for a day that its month has not, or its year."""
    if fields.values.get(DAY_OF_YEAR) == _LEAP_DAYS and fields.local_day(millis) == (1, 1):
        problem = f"its day {_LEAP_DAYS} is none of the year, and Java takes one of the next year"
        raise ValueError(problem)
    given = [fields.values.get(name) for name in (MONTH, DAY)]
    if None in given or not fields.values.keys().isdisjoint((DAY_OF_YEAR, WEEK_YEAR, WEEK_OF_YEAR, WEEK_OF_MONTH)):
        return
    month, day = fields.local_day(millis)
    if [month - 1, day] != given:
        problem = f"its day {given[1]} is none of the month, and Java takes one of the next month"
        raise ValueError(problem)


def _check_half(fields: FieldSet) -> None:
    """Raise ValueError for AM or PM beside an hour of the day in the other half: Java ignores it."""
    half, hour = fields.values.get(AM_PM), fields.values.get(HOUR_OF_DAY)
    if half is not None and hour is not None and HOUR not in fields.values and (hour >= _NOON) != bool(half):
        problem = f"its hour is {hour} of the day, and Java ignores the {'PM' if half else 'AM'}: write the pattern hh"
        raise ValueError(problem)


def _check_calendar(millis: int) -> None:
    """Raise ValueError for a day that Java counts by the Julian calendar: columns have the Gregorian one."""
    if millis < _GREGORIAN:
        problem = "it is before 1582-10-15, and Java takes it for another day, by the Julian calendar"
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
