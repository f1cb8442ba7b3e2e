"""Columns of fields that Cast, MaskField and TimestampConverter change, read in the type that they have before."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.types import (
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from floe.config.transforms.kafka_fields import Cast, MaskField
from floe.config.transforms.timestamp_converter import DATE, STRING, TIME, TIMESTAMP, UNIX, TimestampConverter
from floe_job.exceptions import TransformRefused
from floe_job.transform.field_steps.demand import Demand, Demands, Mask, Op
from floe_job.types.temporal import FIRST_MICRO, LAST_MICRO, MILLIS_PER_DAY

_BITS: Final = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_SAMPLES: Final[dict[type[IcebergType], Any]] = {
    BooleanType: True,
    IntegerType: 1,
    LongType: 1,
    FloatType: 1.5,
    DoubleType: 1.5,
    StringType: "x",
}
_FIRST_MILLI, _LAST_MILLI = FIRST_MICRO // 1000, LAST_MICRO // 1000

# -- Cast -------------------------------------------------------------------------------------------------------------


def cast_fields(options: Cast, wanted: Demands) -> Demands | None:
    """Return what columns need before the transform: numbers that become other numbers, or texts."""
    demands: Demands | None = None if options.whole else wanted
    for name, kind in options.types:
        demands = None if demands is None else demands.changed(name, partial(_cast, kind))
    return demands


def _cast(kind: str, demand: Demand) -> Demand | None:
    target = demand.kind
    if kind in _BITS and isinstance(target, IntegerType | LongType):
        bits = min(_BITS[kind], 31 if isinstance(target, IntegerType) else 63)
        return demand.after(partial(_within, 1 << bits), LongType())
    if kind == "float64" and isinstance(target, DoubleType):
        return demand
    if kind == "string" and isinstance(target, StringType):
        return demand.after(lambda column: (column.cast(pa.large_string()), None), LongType())
    return None


def _within(limit: int, column: pa.Array) -> tuple[pa.Array, Mask | None]:
    if limit == 1 << 63:
        return column, None
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    bad = (numbers < -limit) | (numbers > limit - 1)
    return (pc.if_else(pa.array(bad), pa.scalar(None, column.type), column), bad) if bad.any() else (column, None)


# -- MaskField --------------------------------------------------------------------------------------------------------


def masked(options: MaskField, wanted: Demands, mask: Callable[[Any], Any]) -> Demands | None:
    """Return what columns need before the transform. ``mask``: masks one value; it raises TransformRefused."""
    demands: Demands | None = wanted
    for name in dict.fromkeys(options.fields):
        demands = None if demands is None else demands.changed(name, partial(_masked, mask))
    return demands


def _masked(mask: Callable[[Any], Any], demand: Demand) -> Demand | None:
    sample = _SAMPLES.get(type(demand.kind))
    if sample is None or isinstance(demand.kind, FloatType | DoubleType):
        return None  # a whole number is masked as one, and what is given for it may be none
    try:
        scalar = pa.scalar(mask(sample)).cast(schema_to_pyarrow(demand.kind))
    except (TransformRefused, pa.ArrowInvalid):  # the second: the column is too narrow for the replacement
        return None

    def op(column: pa.Array) -> tuple[pa.Array, Mask | None]:
        return pc.if_else(column.is_valid(), scalar, pa.scalar(None, column.type)), None

    return demand.after(op, demand.kind)


# -- TimestampConverter -----------------------------------------------------------------------------------------------


def converted(options: TimestampConverter, wanted: Demands, per_second: int) -> Demands | None:
    """Return what columns need before the transform: texts where there is a format, else numbers.

    ``per_second``: how many of the numbers are a second.
    """
    if not options.field:
        return None
    read = _reader(options, per_second)
    if read is None:
        return None

    def change(demand: Demand) -> Demand | None:
        make = _maker(options.target, demand.kind, per_second)
        if make is None:
            return None

        def op(column: pa.Array) -> tuple[pa.Array, Mask | None]:
            millis, bad = read(column)
            numbers = millis.fill_null(0).to_numpy(zero_copy_only=False)
            beyond = (numbers < _FIRST_MILLI) | (numbers > _LAST_MILLI)
            if beyond.any():
                bad = beyond if bad is None else bad | beyond
                numbers = np.where(beyond, 0, numbers)
            return make(pa.array(numbers, pa.int64(), mask=_nulls(millis))), bad

        return demand.after(op, StringType() if options.format and options.target != STRING else LongType())

    return wanted.changed(options.field, change)


def _reader(options: TimestampConverter, per_second: int) -> Op | None:
    """Return what makes milliseconds of a column."""
    if options.format and options.target != STRING:
        dates = FixedDates.of(options.format)
        return None if dates is None else dates.read
    return partial(_of_unix, per_second)


def _of_unix(per_second: int, column: pa.Array) -> tuple[pa.Array, Mask | None]:
    if per_second >= 1000:
        return pc.divide(column, per_second // 1000), None
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    beyond = np.abs(numbers) > _LAST_MILLI
    made = np.where(beyond, 0, numbers) * (1000 // per_second)
    return pa.array(made, pa.int64(), mask=_nulls(column)), beyond if beyond.any() else None


def _maker(target: str, kind: IcebergType, per_second: int) -> Callable[[pa.Array], pa.Array] | None:
    """Return what makes a column of a type of milliseconds; None where the exact way has to do that."""
    if target == UNIX and isinstance(kind, LongType) and per_second <= 1_000_000:
        if per_second >= 1000:
            return lambda millis: pc.multiply(millis, per_second // 1000)
        return lambda millis: pc.divide(millis, 1000 // per_second)
    if target == DATE and isinstance(kind, DateType):
        return lambda millis: _days(millis).cast(pa.int32()).cast(pa.date32())
    if not isinstance(kind, TimestampType | TimestamptzType):
        return None
    if target == TIMESTAMP:
        return _moments
    if target == DATE:
        return lambda millis: _moments(pc.multiply(_days(millis), MILLIS_PER_DAY))
    if target == TIME:
        return lambda millis: _moments(pc.subtract(millis, pc.multiply(_days(millis), MILLIS_PER_DAY)))
    return None


def _moments(millis: pa.Array) -> pa.Array:
    return pc.multiply(millis, 1000).cast(pa.timestamp("us"))


def _days(millis: pa.Array) -> pa.Array:
    numbers = millis.fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(numbers // MILLIS_PER_DAY, pa.int64(), mask=_nulls(millis))


def _nulls(column: pa.Array) -> Mask | None:
    return column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None


# Texts of times that have one length, such as ``2024-01-02 03:04:05``, as a column of milliseconds.
#
# A text that is not written exactly as the pattern says is left to the exact way, which says what is wrong with it.


_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")
_NUMBERS: Final = {
    "yyyy": "year",
    "MM": "month",
    "dd": "day",
    "HH": "hour",
    "mm": "minute",
    "ss": "second",
    "SSS": "milli",
}
_FIRST_YEAR: Final = 1583
"""The first whole year of the calendar that Java has from October 1582 on."""

_LEAST: Final = {"month": 1, "day": 1, "year": _FIRST_YEAR}
_MOST: Final = {"month": 12, "hour": 23, "minute": 59, "second": 59}
_DAYS: Final = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_Numbers = np.ndarray[Any, np.dtype[np.int64]]


class FixedDates:
    """Reads texts of one pattern of ``java.text.SimpleDateFormat``, in UTC."""

    def __init__(self, width: int, numbers: dict[str, slice], literals: dict[int, int]) -> None:
        self._width = width
        self._numbers = numbers
        self._literals = literals

    @classmethod
    def of(cls, pattern: str) -> FixedDates | None:
        """Return the reader of a pattern; None for one of another kind, whose texts have no fixed places."""
        at, numbers, literals = 0, dict[str, slice](), dict[int, int]()
        for token in _TOKEN.finditer(pattern):
            text = token[0]
            if text in _NUMBERS:
                if _NUMBERS[text] in numbers:
                    return None
                numbers[_NUMBERS[text]] = slice(at, at + len(text))
                at += len(text)
                continue
            if token[2] is not None and text not in ("X", "XX", "XXX"):
                return None
            literal = "Z" if token[2] is not None else text if token[1] is None else token[1].replace("''", "'") or "'"
            if not literal.isascii():
                return None
            literals |= {at + place: ord(character) for place, character in enumerate(literal)}
            at += len(literal)
        is_whole = "".join(token[0] for token in _TOKEN.finditer(pattern)) == pattern
        return cls(at, numbers, literals) if is_whole and {"year", "month", "day"} <= numbers.keys() else None

    def read(self, column: pa.Array) -> tuple[pa.Array, Mask | None]:
        """Return the milliseconds since 1970 of texts (large_string), and which need the exact way."""
        present = column.is_valid().to_numpy(zero_copy_only=False)
        offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
        fits = present & (np.diff(offsets) == self._width)
        rows = np.flatnonzero(fits)
        if not len(rows):
            return pa.nulls(len(column), pa.int64()), present if present.any() else None
        data = np.frombuffer(column.buffers()[2], np.uint8)
        texts = data[offsets[:-1][rows][:, None] + np.arange(self._width)]
        good = np.ones(len(rows), np.bool_)
        for place, code in self._literals.items():
            good &= texts[:, place] == code
        parts = {}
        for name, places in self._numbers.items():
            digits = texts[:, places].astype(np.int64) - ord("0")
            good &= ((digits >= 0) & (digits <= 9)).all(axis=1)
            parts[name] = digits @ (10 ** np.arange(digits.shape[1] - 1, -1, -1))
            good &= (parts[name] >= _LEAST.get(name, 0)) & (parts[name] <= _MOST.get(name, 9999))
        months = np.clip(parts["month"], 1, 12)
        good &= parts["day"] <= _DAYS[months - 1] + ((months == 2) & _is_leap(parts["year"]))
        millis = np.zeros(len(column), np.int64)
        millis[rows] = _millis(parts, months)
        is_read = np.zeros(len(column), np.bool_)
        is_read[rows[good]] = True
        bad = present & ~is_read
        return pa.array(millis, pa.int64(), mask=~is_read), bad if bad.any() else None


def _is_leap(years: _Numbers) -> Mask:
    found: Mask = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    return found


def _millis(parts: dict[str, _Numbers], months: _Numbers) -> _Numbers:
    years = np.clip(parts["year"], _FIRST_YEAR, 9999)
    first = (years - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (months - 1)
    days = first.astype("datetime64[D]").astype(np.int64) + parts["day"] - 1
    zero = np.zeros(len(years), np.int64)
    seconds = (parts.get("hour", zero) * 60 + parts.get("minute", zero)) * 60 + parts.get("second", zero)
    made: _Numbers = (days * 86_400 + seconds) * 1000 + parts.get("milli", zero)
    return made
