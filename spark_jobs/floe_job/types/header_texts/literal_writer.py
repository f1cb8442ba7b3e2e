"""Values of literals as text, as Connect's ``Values.convertToString`` writes them."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from floe_job.types.header_texts.values import JavaDate, JavaMap, Value
from floe_job.types.java_dates import SimpleDate
from floe_job.types.java_text import number_text
from floe_job.types.temporal import MILLIS_PER_DAY

_TIME: Final = "HH:mm:ss.SSS'Z'"
_DATE: Final = "yyyy-MM-dd"
_TIMESTAMP: Final = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"


def date_text(millis: int) -> str:
    """Write a ``java.util.Date``: before 1970-01-02 as a time, at midnight as a date, else as both."""
    pattern = _TIME if millis < MILLIS_PER_DAY else _DATE if millis % MILLIS_PER_DAY == 0 else _TIMESTAMP
    return SimpleDate.of(pattern).format(millis)


def quoted(text: str) -> str:
    """Write a text inside an array, a map or a struct."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def value_text(value: Value | None, *, is_inside: bool = False) -> str:
    """Write a value; ``is_inside``: of an array or a map."""
    if value is None:
        return "null"
    content = value.content
    if isinstance(content, str):
        return quoted(content) if is_inside else content
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, Decimal):
        return str(content)
    if isinstance(content, JavaDate):
        return date_text(content.millis)
    if isinstance(content, list):
        return "[" + ",".join(value_text(entry, is_inside=True) for entry in content) + "]"
    if isinstance(content, JavaMap):
        entries = (
            f"{value_text(key, is_inside=True)}:{value_text(inner, is_inside=True)}" for key, inner in content.entries()
        )
        return "{" + ",".join(entries) + "}"
    return number_text(content)
