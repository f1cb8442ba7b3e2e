"""``java.text.SimpleDateFormat`` in UTC and in English, as Kafka Connect's TimestampConverter and TimestampRouter use it."""

from __future__ import annotations

import time
from calendar import isleap
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from floe_job.types.java_dates.gregorian import EPOCH, MILLIS_PER_DAY, CalendarDay, calendar_day
from floe_job.types.java_dates.parser import Parser
from floe_job.types.java_dates.pattern import DAYS, ERAS, HALVES, MONTHS, DateField, Piece, compile_pattern
from floe_job.types.java_dates.plain import FIRST, LAST, plain_format, plain_parse

_YEARS_BACK = 80


class SimpleDate:
    """A compiled pattern.

    Like Java: a month of 13 rolls over; text behind the date is ignored; a year of two digits, read by ``y`` or ``yy``, is
    one of the hundred years that begin 80 years before the pattern was made; days before 1582-10-15 are Julian; weeks
    begin on Sunday and the first one has January 1, as in the United States.

    Unlike Java: a name of a time zone does not stay in force for the texts and instants after it, and is refused if its
    offset is not always the same, or if the instant is before 1970.
    """

    def __init__(self, pattern: str, now: int | None = None) -> None:
        """``now``: milliseconds since 1970, for the hundred years of two-digit years; by default the time of the call.

        Raises ValueError for a pattern that Java refuses.
        """
        self.pattern = pattern
        pieces = compile_pattern(pattern)
        self._formatter = Formatter(pieces)
        self._parser = Parser(pieces, _century(int(time.time() * 1000) if now is None else now))
        self._plain_format, self._plain_parse = plain_format(pieces), plain_parse(pieces)
        self._plain_exactly = plain_parse(pieces, exactly=True)

    @staticmethod
    @lru_cache(maxsize=256)
    def of(pattern: str, now: int | None = None) -> SimpleDate:
        """Return the compiled pattern, which is kept. Raises ValueError with the reason for a pattern that Java refuses."""
        return SimpleDate(pattern, now)

    def format(self, millis: int) -> str:
        """Return the text of milliseconds since 1970."""
        if self._plain_format is not None and FIRST <= millis <= LAST:
            return self._plain_format(millis)
        return self._formatter.format(millis)

    def parse(self, text: str) -> int:
        """Return milliseconds since 1970. Raises ValueError for a text that is not of the pattern."""
        millis = None if self._plain_parse is None else self._plain_parse(text)
        return self._found(text, self._parser.parse(text) if millis is None else millis)

    def parse_exactly(self, text: str) -> int:
        """Return milliseconds since 1970 of a text that means what is written there.

        Raises ValueError as ``parse`` does, and for a text that Java reads as another time, see ``Parser.parse``.
        """
        plain = None if self._plain_exactly is None else self._plain_exactly(text)
        if plain is not None:
            return plain
        try:
            millis = self._parser.parse(text, exactly=True)
        except ValueError as error:
            problem = f"the text {text[:60]!r} is no date of the pattern {self.pattern[:60]!r}: {error}"
            raise ValueError(problem) from None
        return self._found(text, millis)

    def _found(self, text: str, millis: int | None) -> int:
        if millis is None:
            problem = f"the text {text[:60]!r} is no date of the pattern {self.pattern[:60]!r}: correct one of them"
            raise ValueError(problem)
        return millis


def _century(now: int) -> tuple[int, int]:
    """Return where the hundred years of two-digit years begin: the millisecond, and its year."""
    day = datetime.fromtimestamp(now // 1000, UTC)
    year = day.year - _YEARS_BACK
    is_leap_day = (day.month, day.day) == (2, 29) and not isleap(year)
    first = day.replace(year=year, day=28 if is_leap_day else day.day)
    return int(first.timestamp()) * 1000 + now % 1000, year


# An instant as text by a pattern, as ``SimpleDateFormat.format`` writes it in UTC.


_MAX_DIGITS: Final = 309
"""Java pads a number to no more digits."""


class Formatter:
    """Writes instants in one pattern."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._writers = [_constant(piece) if isinstance(piece, str) else _writer(piece) for piece in pieces]

    def format(self, millis: int) -> str:
        """Return the text of milliseconds since 1970."""
        days, time = divmod(millis, MILLIS_PER_DAY)
        day = calendar_day(days + EPOCH)
        return "".join([write(day, time) for write in self._writers])


_Writer = Callable[[CalendarDay, int], str]


def _constant(text: str) -> _Writer:
    return lambda _day, _time: text


_NUMBERS: Final[dict[str, Callable[[CalendarDay, int], int]]] = {
    "y": lambda day, _: day.year_of_era,
    "Y": lambda day, _: day.week_year,
    "M": lambda day, _: day.month,
    "L": lambda day, _: day.month,
    "w": lambda day, _: day.week_of_year,
    "W": lambda day, _: day.week_of_month,
    "D": lambda day, _: day.day_of_year,
    "d": lambda day, _: day.day,
    "F": lambda day, _: day.day_of_week_in_month,
    "u": lambda day, _: (day.day_of_week + 5) % 7 + 1,
    "H": lambda _, time: time // 3_600_000,
    "k": lambda _, time: time // 3_600_000 or 24,
    "K": lambda _, time: time // 3_600_000 % 12,
    "h": lambda _, time: time // 3_600_000 % 12 or 12,
    "m": lambda _, time: time // 60_000 % 60,
    "s": lambda _, time: time // 1000 % 60,
    "S": lambda _, time: time % 1000,
}


def _writer(field: DateField) -> _Writer:
    letter, count = field.letter, field.count
    is_long = count >= 4
    if letter in "ML" and count > 2:
        return lambda day, _: MONTHS[day.month - 1] if is_long else MONTHS[day.month - 1][:3]
    if letter == "E":
        return lambda day, _: DAYS[day.day_of_week - 1] if is_long else DAYS[day.day_of_week - 1][:3]
    if letter == "G":
        return lambda day, _: ERAS[day.year > 0]
    if letter == "a":
        return lambda _, time: HALVES[time >= MILLIS_PER_DAY // 2]
    if letter in "zZX":
        return _constant("Z" if letter == "X" else "+0000" if letter == "Z" else _UTC[is_long])
    number = _NUMBERS[letter]
    if letter in "yY" and count == 2:
        return lambda day, time: _two_digits(number(day, time))
    width = min(count, _MAX_DIGITS)
    return lambda day, time: _padded(number(day, time), width)


_UTC: Final = ("UTC", "Coordinated Universal Time")


def _padded(value: int, width: int) -> str:
    return str(value).zfill(width) if value >= 0 else "-" + str(-value).zfill(width)


def _two_digits(value: int) -> str:
    return f"{'-' if value < 0 else ''}{abs(value) % 100:02d}"
