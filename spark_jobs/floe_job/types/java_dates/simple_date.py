"""``java.text.SimpleDateFormat`` in UTC and in English, as Kafka Connect's TimestampConverter and TimestampRouter use it."""

from __future__ import annotations

import time
from calendar import isleap
from datetime import UTC, datetime
from functools import lru_cache

from floe_job.types.java_dates.formatter import Formatter
from floe_job.types.java_dates.parser import Parser
from floe_job.types.java_dates.pattern import compile_pattern
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
