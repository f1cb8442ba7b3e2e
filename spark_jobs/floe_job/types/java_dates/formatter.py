"""An instant as text by a pattern, as ``SimpleDateFormat.format`` writes it in UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from floe_job.types.java_dates.gregorian import EPOCH, MILLIS_PER_DAY, CalendarDay, calendar_day
from floe_job.types.java_dates.names import DAYS, ERAS, HALVES, MONTHS
from floe_job.types.java_dates.pattern import Field, Piece

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


def _writer(field: Field) -> _Writer:
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
