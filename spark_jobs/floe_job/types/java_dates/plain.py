"""The short way for patterns of plain numbers, as ``yyyy-MM-dd HH:mm:ss``: one template to write, one expression to read.

It takes the instants and texts that are as usual (AD 1583 to 9999, digits of ASCII, an existing day), and leaves all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from operator import itemgetter
from typing import Final

from floe_job.types.java_dates.gregorian import EPOCH, MILLIS_PER_DAY
from floe_job.types.java_dates.pattern import DateField, Piece

FIRST: Final = (date(1583, 1, 1).toordinal() - EPOCH) * MILLIS_PER_DAY
LAST: Final = (date.max.toordinal() + 1 - EPOCH) * MILLIS_PER_DAY - 1

_PLACES: Final = {"y": 0, "M": 1, "L": 1, "d": 2, "H": 3, "m": 4, "s": 5, "S": 6}
_DEFAULTS: Final = (1970, 1, 1, 0, 0, 0, 0)
_MAX_COUNT: Final = 9
MILLI_DIGITS: Final = 3
"""Digits of a fraction that Java reads as what is written."""


def plain_format(pieces: Sequence[Piece]) -> Callable[[int], str] | None:
    """Return what writes instants from FIRST to LAST; None for a pattern that has more than plain numbers."""
    template, places = "", []
    for piece in pieces:
        if isinstance(piece, str):
            template += piece.replace("%", "%%")
        elif piece.letter == "X":
            template += "Z"
        elif piece.letter == "Z":
            template += "+0000"
        elif _is_plain(piece):
            template += f"%0{piece.count}d"
            places.append(_PLACES[piece.letter])
        else:
            return None
    if len(places) < 2:
        return None
    pick = itemgetter(*places)

    def write(millis: int) -> str:
        days, time = divmod(millis, MILLIS_PER_DAY)
        day = date.fromordinal(days + EPOCH)
        minutes, rest = divmod(time, 60_000)
        second, milli = divmod(rest, 1000)
        hour, minute = divmod(minutes, 60)
        text: str = template % pick((day.year, day.month, day.day, hour, minute, second, milli))
        return text

    return write


def plain_parse(pieces: Sequence[Piece], *, exactly: bool = False) -> Callable[[str], int | None] | None:
    """Return what reads usual texts, and returns None for others; None for a pattern that has more than plain numbers.

    ``exactly``: what Java carries over, takes for something else or ignores is not usual, see ``Parser.parse``.
    """
    expression = _expression(pieces, exactly=exactly)
    if expression is None:
        return None
    match, places = expression
    order = [places.index(place) if place in places else None for place in range(len(_DEFAULTS))]
    zone = len(places) if match.groups > len(places) else None
    find = match.fullmatch if exactly else match.match
    fraction = order[_PLACES["S"]] if exactly else None

    def read(text: str) -> int | None:
        found = find(text)
        if found is None:
            return None
        groups = found.groups()
        if fraction is not None and len(groups[fraction]) != MILLI_DIGITS:
            return None
        year, month, day, hour, minute, second, milli = [
            default if place is None else int(groups[place]) for place, default in zip(order, _DEFAULTS, strict=True)
        ]
        if exactly and (hour > 23 or minute > 59 or second > 59):
            return None
        if not (1583 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 28):
            try:
                days = date(year, month, day).toordinal() - EPOCH if year >= 1583 else None
            except ValueError:
                days = None
            if days is None:
                return None
        else:
            days = date(year, month, day).toordinal() - EPOCH
        millis = days * MILLIS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1000 + milli
        return millis if zone is None or groups[zone] == "Z" else millis - _offset(groups[zone])

    return read


_LITERAL_START: Final = re.compile(r"[^0-9E\u0080-\U0010ffff]")
_ZONES: Final = {
    1: r"(Z|[+-](?:[01]\d|2[0-3]))",
    2: r"(Z|[+-](?:[01]\d|2[0-3])[0-5]\d)",
    3: r"(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
}


def _expression(pieces: Sequence[Piece], *, exactly: bool) -> tuple[re.Pattern[str], list[int]] | None:
    """Return the expression of usual texts, and the place of each group; a zone may be the last group."""
    parts: list[str] = []
    places: list[int] = []
    for number, piece in enumerate(pieces):
        is_last = number + 1 == len(pieces)
        if isinstance(piece, str):
            if not _LITERAL_START.match(piece):
                return None
            parts.append(re.escape(piece))
        elif piece.letter == "X":
            if not is_last:
                return None
            parts.append(_ZONES[piece.count])
        elif not _is_plain(piece) or _PLACES[piece.letter] in places or (piece.letter == "y" and piece.count <= 2):
            return None
        else:
            before = pieces[number - 1] if number else ""
            is_joined = isinstance(before, DateField) and before.is_counted
            is_counted = piece.is_counted or (exactly and is_joined)
            digits = piece.count if is_counted else f"1,{_MAX_COUNT}"
            parts.append(rf"(\d{{{digits}}})" + (r"(?![0-9E\u0080-\U0010ffff])" if not piece.is_counted else ""))
            places.append(_PLACES[piece.letter])
    return (re.compile("".join(parts), re.ASCII), places) if places else None


def _is_plain(field: DateField) -> bool:
    is_short_year = field.letter == "y" and field.count == 2
    return field.letter in _PLACES and field.count <= (2 if field.letter in "ML" else _MAX_COUNT) and not is_short_year


def _offset(zone: str) -> int:
    minutes = int(zone[1:3]) * 60 + int(zone[-2:] if len(zone) > 3 else 0)
    return (minutes if zone[0] == "+" else -minutes) * 60_000
