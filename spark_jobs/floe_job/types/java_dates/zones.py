"""Time zones in the text of a date: offsets of any kind, and the names whose offset has not changed since 1970."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from floe_job.types.java_dates.resolution import DST_OFFSET, ZONE_OFFSET, FieldSet

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
