"""Calendar fields into an instant, as the lenient ``GregorianCalendar`` does: the last of the fields that disagree wins."""

from __future__ import annotations

from typing import Final

from floe_job.types.java_dates.digits import wrap_int, wrap_long
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
