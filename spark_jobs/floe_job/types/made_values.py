"""Values without a schema that transforms made: besides those of JSON there are moments, bytes and decimals.

They go into columns as the sink's ``RecordConverter`` takes ``java.util.Date``, ``byte[]`` and ``BigDecimal``. A moment
is for a time of the day too: without a schema, Java has one class for all times.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from pyiceberg.types import IcebergType, TimeType

from floe_job.types.coercion import Converter
from floe_job.types.temporal import MICROS_PER_DAY
from floe_job.types.typed_values import DayTime, Moment, typed_primitive

MADE: Final[frozenset[type]] = frozenset({Moment, bytes, Decimal})
"""The types of these values."""


def made_primitive(target: IcebergType) -> Converter:
    """Compile the converter of a primitive column. Raises UnsupportedColumn for types floe cannot write."""
    convert = typed_primitive(target)
    if not isinstance(target, TimeType):
        return convert

    def convert_time(value: Any) -> Any:
        is_time = type(value) is Moment and 0 <= value.micros < MICROS_PER_DAY
        return convert(DayTime(value.micros) if is_time else value)

    return convert_time


def kind_of_made(value: Any) -> str | None:
    """Return the column type that a value proposes, as the sink infers it; None for one that no transform made."""
    kind = type(value)
    if kind is Moment:
        return "timestamptz"
    if kind is bytes:
        return "binary"
    if kind is Decimal and value.is_finite():
        _, digits, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        whole = max(1, len(digits) + int(exponent))
        return f"decimal({min(38, whole + scale)}, {min(38, scale)})"
    return None
