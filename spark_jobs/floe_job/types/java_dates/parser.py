"""Text into an instant by a pattern, as ``SimpleDateFormat.parse`` does: lenient, text behind the date is ignored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from floe_job.types.java_dates.gregorian import (
    CUTOVER,
    CUTOVER_YEAR,
    EPOCH,
    MILLIS_PER_DAY,
    civil_date,
    gregorian_date,
    julian_date,
    month_length,
    on_or_before,
)
from floe_job.types.java_dates.pattern import DateField, Piece, read_name, read_number, wrap_int, wrap_long
from floe_job.types.java_dates.plain import MILLI_DIGITS

# Calendar fields into an instant, as the lenient ``GregorianCalendar`` does: the last of the fields that disagree
# wins.


ERA, YEAR, WEEK_YEAR, MONTH, DAY, DAY_OF_YEAR = "era", "year", "week year", "month", "day", "day of year"
WEEK_OF_YEAR, WEEK_OF_MONTH, DAY_OF_WEEK, DAY_OF_WEEK_IN_MONTH = (
    "week",
    "week of month",
    "day of week",
    "day of week in month",
)
AM_PM, HOUR, HOUR_OF_DAY, MINUTE, SECOND, MILLISECOND = (
    "am/pm",
    "hour",
    "hour of day",
    "minute",
    "second",
    "millisecond",
)
ZONE_OFFSET, DST_OFFSET = "zone offset", "daylight saving"

BEFORE_CHRIST: Final = 0


class FieldSet:
    """Fields in the order in which they were set. A month is 0 to 11, a day of the week 1 (Sunday) to 7."""

    def __init__(self, zone: int = 0) -> None:
        """``zone``: what the calendar's own zone is ahead of UTC, in milliseconds."""
        self.values: dict[str, int] = {}
        self.zone = zone
        self.is_named = False
        """Whether the zone was given by a name."""
        self.is_ambiguous = False
        """Whether the year has two digits that mean either end of the hundred years."""

    def put(self, name: str, value: int) -> None:
        """Set a field; it is the last one now."""
        self.values.pop(name, None)
        self.values[name] = value

    def clear(self, name: str) -> None:
        """Take a field away."""
        self.values.pop(name, None)

    def millis(self) -> int:
        """Return the milliseconds since 1970 that the fields mean. What overflows a long wraps, as in Java."""
        order = list(self.values)
        values = dict(self.values)
        week_year = values.pop(WEEK_YEAR, None)
        if week_year is not None and (YEAR not in values or order.index(WEEK_YEAR) > order.index(YEAR)):
            era = self._era_year(values)
            values = _with_week_date(values, wrap_int(1 - week_year) if era <= 0 else week_year)
        return _instant(values, self.zone)

    def local_day(self, millis: int) -> tuple[int, int]:
        """Return month (from 1) and day of an instant in the zone that is given."""
        offset = self.values.get(ZONE_OFFSET, self.zone) + self.values.get(DST_OFFSET, 0)
        _, month, day = civil_date(_fixed(wrap_long(millis + offset)))
        return month, day

    def _era_year(self, values: dict[str, int]) -> int:
        """Return the year of the instant without the week year: Java takes the week year for one of the same era."""
        offset = values.get(ZONE_OFFSET, self.zone) + values.get(DST_OFFSET, 0)
        return civil_date(_fixed(wrap_long(_instant(values, self.zone) + offset)))[0]


def _fixed(millis: int) -> int:
    return millis // MILLIS_PER_DAY + EPOCH


def _with_week_date(values: dict[str, int], week_year: int) -> dict[str, int]:
    """Put the date of a week in the place of the fields of the date."""
    week, day = values.get(WEEK_OF_YEAR, 1), values.get(DAY_OF_WEEK, 1)
    if day >= 8:
        week, day = wrap_int(week + (day - 1) // 7), _calendar_day_of_week((day - 1) % 7 + 1)
    elif day <= 0:
        turns = -day // 7 + 1
        week, day = wrap_int(week - turns), _calendar_day_of_week(day + 7 * turns)
    first = _date({YEAR: week_year, WEEK_OF_YEAR: 1, DAY_OF_WEEK: 1}, week_year)
    millis = wrap_long((first - EPOCH) * MILLIS_PER_DAY)
    days = wrap_int(day - 1 + wrap_int(7 * wrap_int(week - 1)))
    year, month, day_of_month = civil_date(_fixed(wrap_long(millis + days * MILLIS_PER_DAY)))
    found = {name: value for name, value in values.items() if name not in (ERA, YEAR, MONTH, DAY)}
    return {**found, YEAR: year, MONTH: month - 1, DAY: day_of_month}


def _calendar_day_of_week(iso: int) -> int:
    return iso % 7 + 1


def _instant(values: dict[str, int], zone: int) -> int:
    year = values.get(YEAR, 1970)
    if values.get(ERA) == BEFORE_CHRIST:
        year = wrap_int(1 - year)
    days, time = divmod(_time_of_day(values), MILLIS_PER_DAY)
    fixed = _date(values, year, days)
    offset = wrap_int(values.get(ZONE_OFFSET, zone) + values.get(DST_OFFSET, 0))
    return wrap_long((fixed - EPOCH) * MILLIS_PER_DAY + time - offset)


def _time_of_day(values: dict[str, int]) -> int:
    """Return milliseconds. Of the hour of the day and the hour of its half, the one that was set last counts."""
    stamps = _stamps(values)
    day_stamp, hour_stamp, half_stamp = (stamps.get(name, 0) for name in (HOUR_OF_DAY, HOUR, AM_PM))
    both = max(hour_stamp, half_stamp) if hour_stamp and half_stamp else 0
    is_of_day = day_stamp and day_stamp > both
    hour = values[HOUR_OF_DAY] if is_of_day else values.get(HOUR, 0) + 12 * values.get(AM_PM, 0)
    return ((hour * 60 + values.get(MINUTE, 0)) * 60 + values.get(SECOND, 0)) * 1000 + values.get(MILLISECOND, 0)


def _date(values: dict[str, int], year: int, days: int = 0) -> int:
    """Return the fixed date, ``days`` later; in the calendar that is in force there."""
    chosen = _chosen(values)
    julian = days + _fixed_date(values, chosen, year, is_gregorian=False)
    if year < CUTOVER_YEAR:
        return julian
    gregorian = days + _fixed_date(values, chosen, year, is_gregorian=True)
    if year > CUTOVER_YEAR:
        return gregorian if gregorian >= CUTOVER else julian
    if DAY_OF_YEAR in chosen or WEEK_OF_YEAR in chosen or gregorian < CUTOVER:
        return julian
    return gregorian


def _stamps(values: dict[str, int]) -> dict[str, int]:
    return {name: stamp for stamp, name in enumerate(values, 1)}


def _chosen(values: dict[str, int]) -> frozenset[str]:
    """Return the fields that say which day it is (Java's ``Calendar.selectFields``)."""
    stamps = _stamps(values)

    def stamp(name: str) -> int:
        return stamps.get(name, 0)

    weekday = stamp(DAY_OF_WEEK)

    def with_weekday(name: str) -> int:
        return max(stamp(name), weekday) if weekday and stamp(name) else 0

    day, of_year = stamp(DAY), stamp(DAY_OF_YEAR)
    of_month, in_month, week = (with_weekday(name) for name in (WEEK_OF_MONTH, DAY_OF_WEEK_IN_MONTH, WEEK_OF_YEAR))
    best = max(day, of_month, in_month, of_year, week)
    if not best:
        of_month, in_month, week = stamp(WEEK_OF_MONTH), max(stamp(DAY_OF_WEEK_IN_MONTH), weekday), stamp(WEEK_OF_YEAR)
        best = max(of_month, in_month, week)
        if not best:
            best = day = stamp(MONTH)
    week_stamp = stamp(WEEK_OF_YEAR)
    is_of_month = best == of_month and stamp(WEEK_OF_MONTH) >= week_stamp
    is_in_month = best == in_month and stamp(DAY_OF_WEEK_IN_MONTH) >= week_stamp
    if best == day:
        return frozenset({MONTH, DAY})
    weekdays = {DAY_OF_WEEK} if weekday else set()
    if not (is_of_month or is_in_month):
        return frozenset({DAY_OF_YEAR}) if best == of_year else frozenset({WEEK_OF_YEAR, *weekdays})
    if best == of_month and (of_month != in_month or stamp(WEEK_OF_MONTH) >= stamp(DAY_OF_WEEK_IN_MONTH)):
        return frozenset({MONTH, WEEK_OF_MONTH, *weekdays})
    return frozenset({MONTH, *weekdays, *({DAY_OF_WEEK_IN_MONTH} if stamp(DAY_OF_WEEK_IN_MONTH) else ())})


def _fixed_date(values: dict[str, int], chosen: frozenset[str], year: int, *, is_gregorian: bool) -> int:
    """Return the fixed date of the chosen fields in one of the two calendars."""
    more, month = divmod(values.get(MONTH, 0), 12) if MONTH in chosen else (0, 0)
    year = wrap_int(year + more)
    first = (gregorian_date if is_gregorian else julian_date)(year, month + 1)
    weekday = wrap_int(values[DAY_OF_WEEK] - 1) + 1 if DAY_OF_WEEK in chosen else 1
    if MONTH not in chosen:
        if DAY_OF_YEAR in chosen:
            return first + values[DAY_OF_YEAR] - 1
        return _in_week(first, weekday, 7 * (values[WEEK_OF_YEAR] - 1))
    if DAY in chosen:
        return first + values.get(DAY, 1) - 1
    if WEEK_OF_MONTH in chosen:
        return _in_week(first, weekday, wrap_int(7 * wrap_int(values[WEEK_OF_MONTH] - 1)))
    number = values[DAY_OF_WEEK_IN_MONTH] if DAY_OF_WEEK_IN_MONTH in chosen else 1
    if number >= 0:
        return on_or_before(first + wrap_int(7 * number) - 1, weekday)
    last = wrap_int(month_length(year, month + 1) + wrap_int(7 * (number + 1)))
    return on_or_before(first + last - 1, weekday)


def _in_week(first: int, weekday: int, days: int) -> int:
    """Return the day of the week in the week that has ``first``, ``days`` later."""
    sunday = on_or_before(first, 1)
    return on_or_before(sunday + 6, weekday) + days


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

    def _read(self, field: DateField, text: str, start: int, fields: FieldSet) -> int | None:
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

    def _read_number(self, field: DateField, text: str, start: int, place: int, fields: FieldSet) -> int | None:
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


def _check_field(field: DateField, text: str, *, is_joined: bool) -> None:
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


# Time zones in the text of a date: offsets of any kind, and the names whose offset has not changed since 1970.


_MINUTE: Final = 60_000
_HOUR: Final = 60 * _MINUTE
_NAME: Final = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*")
_SIGNS: Final = {"+": 1, "-": -1}


@dataclass(frozen=True, slots=True)
class _Zone:
    """``offset``: ahead of UTC in winter, ``saving``: what summer time adds; both in milliseconds."""

    offset: int
    saving: int = 0


_ABBREVIATIONS: Final = {
    "AST": -4, "EST": -5, "CST": -6, "MST": -7, "PST": -8, "HST": -10,
    "CET": 1, "EET": 2, "JST": 9, "KST": 9, "AEST": 10, "NZST": 12,
}  # fmt: skip
_SUMMER: Final = {
    "ADT": "AST", "EDT": "EST", "CDT": "CST", "MDT": "MST", "PDT": "PST",
    "CEST": "CET", "EEST": "EET", "AEDT": "AEST", "NZDT": "NZST",
}  # fmt: skip
_LONG: Final = {
    "COORDINATED UNIVERSAL TIME": "UTC", "ATLANTIC STANDARD TIME": "AST", "ATLANTIC DAYLIGHT TIME": "ADT",
    "EASTERN STANDARD TIME": "EST", "EASTERN DAYLIGHT TIME": "EDT", "CENTRAL STANDARD TIME": "CST",
    "CENTRAL DAYLIGHT TIME": "CDT", "MOUNTAIN STANDARD TIME": "MST", "MOUNTAIN DAYLIGHT TIME": "MDT",
    "PACIFIC STANDARD TIME": "PST", "PACIFIC DAYLIGHT TIME": "PDT", "CENTRAL EUROPEAN STANDARD TIME": "CET",
    "CENTRAL EUROPEAN SUMMER TIME": "CEST", "EASTERN EUROPEAN STANDARD TIME": "EET",
    "EASTERN EUROPEAN SUMMER TIME": "EEST", "JAPAN STANDARD TIME": "JST",
}  # fmt: skip
_UTC: Final = _Zone(0)
_ZONES: Final[dict[str, _Zone]] = {
    "UTC": _UTC,
    **{name: _Zone(hours * _HOUR) for name, hours in _ABBREVIATIONS.items()},
    **{name: _Zone(_ABBREVIATIONS[winter] * _HOUR, _HOUR) for name, winter in _SUMMER.items()},
}


def read_zone(text: str, start: int, place: int, fields: FieldSet) -> int | None:
    """Read a zone of a field z or Z at ``place``, behind the blanks at ``start``; return where it ends, None if none.

    Raises ValueError for a name whose offset is unknown here: an offset says what is meant.
    """
    sign = _SIGNS.get(text[place], 0)
    if sign:
        return _read_offset(text, place + 1, sign, fields, digits=0, has_colon=False)
    if text[place] not in "Gg" or text[start : start + 3].upper() != "GMT":
        return _read_name(text, place, fields)
    place = start + 3
    sign = _SIGNS.get(text[place : place + 1], 0)
    if not sign:
        _set_offset(fields, 0)
        return place
    return _read_offset(text, place + 1, sign, fields, digits=0, has_colon=True)


def read_iso_zone(text: str, place: int, count: int, fields: FieldSet) -> int | None:
    """Read a zone of a field X; return where it ends, None if there is none."""
    if text[place] == "Z":
        _set_offset(fields, 0)
        return place + 1
    sign = _SIGNS.get(text[place])
    return None if sign is None else _read_offset(text, place + 1, sign, fields, digits=count, has_colon=count == 3)


def _set_offset(fields: FieldSet, offset: int) -> None:
    fields.put(ZONE_OFFSET, offset)
    fields.put(DST_OFFSET, 0)


_OFFSETS: Final = {
    (0, False): re.compile("([0-9]{2})([0-9]{2})"),
    (0, True): re.compile("([0-9]{1,2}):([0-9]{2})"),
    (1, False): re.compile("([0-9]{2})()"),
    (2, False): re.compile("([0-9]{2})([0-9]{2})"),
    (3, True): re.compile("([0-9]{2}):([0-9]{2})"),
}


def _read_offset(text: str, place: int, sign: int, fields: FieldSet, *, digits: int, has_colon: bool) -> int | None:
    found = _OFFSETS[digits, has_colon].match(text, place)
    if not found:
        return None
    hours, minutes = int(found[1]), int(found[2] or 0)
    if hours > 23 or minutes > 59:
        return None
    _set_offset(fields, sign * (hours * 60 + minutes) * _MINUTE)
    return found.end()


def _read_name(text: str, place: int, fields: FieldSet) -> int | None:
    """Read the longest name that is known of the words at ``place``."""
    found = _NAME.match(text, place)
    if not found:
        return None
    words = found[0].upper().split(" ")
    for count in range(min(len(words), 4), 0, -1):
        name = " ".join(words[:count])
        zone = _ZONES.get(_LONG.get(name, name))
        if zone is not None:
            _set_zone(zone, fields)
            return place + len(name)
    problem = (
        f"the time zone {text[place : place + 20]!r} is not known here: write an offset, as +0100 or GMT+01:00, or UTC"
    )
    raise ValueError(problem)


def _set_zone(zone: _Zone, fields: FieldSet) -> None:
    fields.zone = zone.offset
    fields.is_named = zone is not _UTC
    if zone is not _UTC:
        fields.clear(ZONE_OFFSET)
        fields.put(DST_OFFSET, zone.saving)
