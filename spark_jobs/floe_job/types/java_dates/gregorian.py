"""Java's ``GregorianCalendar``: Julian dates before 1582-10-15, Gregorian ones from then on; weeks as in the United States.

A fixed date is a number of days; 1 is Monday, 0001-01-01 of the Gregorian calendar. Years are astronomical: 0 is 1 BC.
Weeks begin on Sunday, and the first week of a year is the one that has January 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EPOCH: Final = 719_163
"""The fixed date of 1970-01-01."""
CUTOVER: Final = 577_736
"""The fixed date of 1582-10-15, the first Gregorian day."""
CUTOVER_YEAR: Final = 1582
MILLIS_PER_DAY: Final = 86_400_000
_JULIAN_EPOCH: Final = -1


def gregorian_date(year: int, month: int) -> int:
    """Return the fixed date of the first day of a month (1 to 12) in the Gregorian calendar."""
    before = year - 1
    days = 365 * before + before // 4 - before // 100 + before // 400 + (367 * month - 362) // 12 + 1
    return days - _past_february(month, is_gregorian_leap(year))


def julian_date(year: int, month: int) -> int:
    """Return the fixed date of the first day of a month (1 to 12) in the Julian calendar."""
    before = year - 1
    days = _JULIAN_EPOCH - 1 + 365 * before + before // 4 + (367 * month - 362) // 12 + 1
    return days - _past_february(month, year % 4 == 0)


def _past_february(month: int, is_leap: bool) -> int:
    return 0 if month <= 2 else 1 if is_leap else 2


def is_gregorian_leap(year: int) -> bool:
    """Return whether a year of the Gregorian calendar has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year: int, month: int) -> int:
    """Return how many days a month (1 to 12) has: of the Julian calendar for years up to 1582."""
    is_leap = is_gregorian_leap(year) if year > CUTOVER_YEAR else year % 4 == 0
    return (31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def on_or_before(fixed: int, day_of_week: int) -> int:
    """Return the last fixed date up to ``fixed`` that is the day of the week (1: Sunday)."""
    return fixed - (fixed - (day_of_week - 1)) % 7


def civil_date(fixed: int) -> tuple[int, int, int]:
    """Return year, month (1 to 12) and day of the month."""
    if fixed >= CUTOVER:
        cycle, day = divmod(fixed - gregorian_date(0, 3), 146_097)
        century = min(day // 36_524, 3)
        day -= century * 36_524
        four, day = divmod(day, 1_461)
        single = min(day // 365, 3)
        year, day = cycle * 400 + century * 100 + four * 4 + single, day - single * 365
    else:
        four, day = divmod(fixed - julian_date(0, 3), 1_461)
        single = min(day // 365, 3)
        year, day = four * 4 + single, day - single * 365
    month = (5 * day + 2) // 153
    return year + month // 10, (month + 2) % 12 + 1, day - (153 * month + 2) // 5 + 1


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """What Java's calendar says of a day: ``year`` is astronomical, ``day_of_week`` 1 is Sunday."""

    year: int
    month: int
    day: int
    day_of_week: int
    day_of_year: int
    day_of_week_in_month: int
    week_of_year: int
    week_of_month: int
    week_year: int

    @property
    def year_of_era(self) -> int:
        """Return the year as it is written: 1 is the first of its era."""
        return self.year if self.year > 0 else 1 - self.year


def calendar_day(fixed: int) -> CalendarDay:
    """Return what the calendar says of a fixed date."""
    year, month, day = civil_date(fixed)
    is_gregorian = fixed >= CUTOVER
    first = (gregorian_date if is_gregorian and year > CUTOVER_YEAR else julian_date)(year, 1)
    month_first = julian_date(year, month) if is_gregorian and (year, month) == (CUTOVER_YEAR, 10) else fixed - day + 1
    following = _first_sunday((gregorian_date if is_gregorian else julian_date)(year + 1, 1))
    is_of_next = following is not None and fixed >= following - 7
    week = 1 if is_of_next else _week_number(first, fixed)
    day_of_year = fixed - first + 1
    return CalendarDay(
        year,
        month,
        day,
        fixed % 7 + 1,
        day_of_year,
        (fixed - month_first) // 7 + 1,
        week,
        _week_number(month_first, fixed),
        year + (month > 1 and week == 1) if year > CUTOVER_YEAR + 1 else _old_week_year(year, day_of_year),
    )


def _first_sunday(first: int) -> int | None:
    """Return the first Sunday after January 1, where the year before ends in the same week; None where it does not."""
    sunday = on_or_before(first + 6, 1)
    return sunday if sunday > first else None


def _week_number(first: int, fixed: int) -> int:
    return (fixed - on_or_before(first, 1)) // 7 + 1


def _old_week_year(year: int, day_of_year: int) -> int:
    """Return the week year up to 1583. Before Christ, Java looks at the wrong following year; so does this."""
    days = (366 if year % 4 == 0 else 365) if year < CUTOVER_YEAR else 355 if year == CUTOVER_YEAR else 365
    if 1 < day_of_year < days - 6:
        return year
    own = (gregorian_date if year > CUTOVER_YEAR else julian_date)(year, 1)
    if day_of_year <= on_or_before(own + 6, 1) - own:
        return year
    following = year + 1 if year > 0 else -year
    first = (gregorian_date if following > CUTOVER_YEAR else julian_date)(following, 1)
    before_sunday = (on_or_before(first + 6, 1) - first) or 7
    return year + (days - day_of_year + 1 <= 7 - before_sunday)
