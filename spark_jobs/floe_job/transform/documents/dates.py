"""Dates in Extended JSON: ISO 8601 with an offset, or a day alone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from floe_job.transform.requirements import shown

_DATE: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?([Zz]|[+-]\d\d(?::\d\d(?::\d\d)?)?))?",
    re.ASCII,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_OFFSET: Final = 18 * 3600


def millis_of(text: str) -> int:
    """Return the milliseconds since 1970, further digits cut off. Raises ValueError for a text that is no date."""
    found = _DATE.fullmatch(text)
    if found is None:
        problem = f"{shown(text)} is no date with an offset"
        raise ValueError(problem)
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    span = moment - _EPOCH
    seconds = span.days * 86_400 + span.seconds - _offset(found[8] or "Z")
    return seconds * 1000 + int((found[7] or "").ljust(9, "0")) // 1_000_000


def _offset(text: str) -> int:
    if text in "Zz":
        return 0
    hours, minutes, seconds = (int(part) for part in (*text[1:].split(":"), "0", "0")[:3])
    offset = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or offset > _MAX_OFFSET:
        problem = f"{shown(text)} is no offset"
        raise ValueError(problem)
    return -offset if text[0] == "-" else offset
