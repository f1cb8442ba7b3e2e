"""Values of one type as those of another, as Kafka's Cast makes them.

A fraction is cut off, and a number that a float cannot hold exactly is rounded, as a cast does. What Java would wrap around,
or read as 0, false or infinity without a word, is refused.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from floe_job.transform.kafka.java_numbers import is_within, java_float, java_integer, java_single, rounded_single
from floe_job.transform.struct_fields import in_java
from floe_job.types.java_dates.simple_date import SimpleDate
from floe_job.types.java_text import number_text
from floe_job.types.number_tokens import HugeInteger, Single
from floe_job.types.temporal import MILLIS_PER_DAY
from floe_job.types.typed_values import Day, DayTime, Moment

_OUT_OF_RANGE: Final = ": it is out of range"
_MAX_EXPONENT: Final = 400
"""Of decimals, beyond which none fits: they are not written out."""


def cast_integer(bits: int) -> Callable[[Any], int]:
    """Return what casts to an integer of so many bits. It raises ValueError."""

    def cast(value: Any) -> int:
        value = _number(value)
        if isinstance(value, str):
            found = java_integer(value, bits)
            if found is None:
                problem = ""
                raise ValueError(problem)
            return found
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(_OUT_OF_RANGE)
        if isinstance(value, Decimal) and value.adjusted() > _MAX_EXPONENT:
            raise ValueError(_OUT_OF_RANGE)
        number = int(value)
        if not is_within(number, bits):
            raise ValueError(_OUT_OF_RANGE)
        return number

    return cast


def cast_float(value: Any) -> float:
    """Cast to a float of 64 bits. Raises ValueError."""
    value = _number(value)
    found = java_float(value) if isinstance(value, str) else _float(value)
    if found is None:
        problem = ""
        raise ValueError(problem)
    return found


def cast_single(value: Any) -> Single:
    """Cast to a float of 32 bits. Raises ValueError."""
    value = _number(value)
    if isinstance(value, Single):
        return value
    if isinstance(value, str):
        found = java_single(value)
    elif isinstance(value, float) and not math.isfinite(value):
        found = Single(value)
    elif not value or _float(value) == 0:
        found = Single(math.copysign(0.0, value))
    else:
        _float(value)
        found = rounded_single(Decimal(value))
    if found is None:
        raise ValueError("" if isinstance(value, str) else _OUT_OF_RANGE)
    return found


def cast_boolean(value: Any) -> bool:
    """Cast to a boolean: a number is true unless its whole part is 0, a text has to be true or false. Raises ValueError."""
    value = _number(value)
    if isinstance(value, str):
        word = value.lower() if value.isascii() else ""
        if word not in ("true", "false"):
            problem = ": write true or false"
            raise ValueError(problem)
        return word == "true"
    if isinstance(value, Decimal):
        return value.adjusted() >= 0 and bool(value)
    if isinstance(value, float):
        return abs(value) >= 1
    return bool(value)


def cast_string(value: Any) -> str:
    """Cast to a text: numbers as Java writes them, bytes in base64, times in UTC. Raises ValueError."""
    value = in_java(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Day | DayTime | Moment):
        return _time_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int | float):
        return number_text(value)
    problem = ""
    raise ValueError(problem)


CASTS: Final[dict[str, Callable[[Any], Any]]] = {
    **{f"int{bits}": cast_integer(bits) for bits in (8, 16, 32, 64)},
    "float32": cast_single,
    "float64": cast_float,
    "boolean": cast_boolean,
    "string": cast_string,
}
"""By the name of the type. Each takes a value that is not null."""


def _number(value: Any) -> Any:
    """Return the number that a value is, or a text. Raises ValueError for what is neither."""
    value = in_java(value)
    if isinstance(value, Day):
        return value.days
    if isinstance(value, DayTime | Moment):
        return value.micros // 1000
    if isinstance(value, HugeInteger):
        raise ValueError(_OUT_OF_RANGE)
    if not isinstance(value, str | int | float | Decimal):
        problem = ""
        raise ValueError(problem)
    return value


def _float(value: Any) -> float:
    try:
        found = float(value)
    except OverflowError:
        raise ValueError(_OUT_OF_RANGE) from None
    if math.isinf(found) and not isinstance(value, float):
        raise ValueError(_OUT_OF_RANGE)
    return found


def _time_text(value: Day | DayTime | Moment) -> str:
    """Write a time as Connect does, which tells a date from a time of the day by its number alone."""
    if isinstance(value, DayTime):
        return SimpleDate.of("HH:mm:ss.SSS'Z'").format(value.micros // 1000)
    millis = value.days * MILLIS_PER_DAY if isinstance(value, Day) else value.micros // 1000
    if millis < MILLIS_PER_DAY:
        problem = ": of dates before 1970-01-02 Kafka writes the time of the day alone"
        raise ValueError(problem)
    pattern = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'" if millis % MILLIS_PER_DAY else "yyyy-MM-dd"
    return SimpleDate.of(pattern).format(millis)
