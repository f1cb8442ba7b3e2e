"""Kafka's Cast: fields, or whole values, of another type."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.kafka_fields import Cast
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.field_steps.conversions import cast_fields
from floe_job.transform.field_steps.demand import Demands
from floe_job.transform.kafka.java_numbers import is_within, java_float, java_integer, java_single, rounded_single
from floe_job.transform.struct_fields import (
    default_of,
    defaults_of,
    filled,
    has_filled,
    in_java,
    required_object,
    required_struct,
    shown,
    struct_column,
    struct_like,
)
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange
from floe_job.types.java_dates.simple_date import SimpleDate
from floe_job.types.java_text import number_text
from floe_job.types.numbers import HugeInteger, Single
from floe_job.types.temporal import MILLIS_PER_DAY
from floe_job.types.typed_values import Day, DayTime, Moment

PURPOSE = "cast types"
KINDS: Final = {
    "int8": Kind.INT8,
    "int16": Kind.INT16,
    "int32": Kind.INT32,
    "int64": Kind.INT64,
    "float32": Kind.FLOAT32,
    "float64": Kind.FLOAT64,
    "boolean": Kind.BOOLEAN,
    "string": Kind.STRING,
}
_FLOATS: Final = (Kind.FLOAT32, Kind.FLOAT64)
_INTEGERS: Final = (Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64)


class CastChange(ValueChange):
    """Casts fields of objects and structs, or whole values that are none."""

    def __init__(self, options: Cast) -> None:
        self._options = options
        self._types = dict(options.types)

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Cast fields of an object, or the value; an object without a field gets it, as null."""
        if self._options.whole:
            return _plain_cast("", value, self._options.whole)
        made = dict(required_object(value, PURPOSE))
        for name, target in self._options.types:
            made[name] = _plain_cast(name, made.get(name), target)
        return made

    def typed(self, schema: ConnectSchema) -> Changed:
        """Cast fields of structs, or values."""
        whole = self._options.whole
        if whole:
            return Changed(_schema("", schema, whole), lambda value, _: _cast("", value, whole))
        made, defaults = self._schema(schema), defaults_of(schema, is_on=self._options.fills_defaults)
        types = self._types

        def change(value: Any, origin: Origin | None) -> Any:
            return {
                name: _cast(name, entry, types[name]) if name in types else entry
                for name, entry in filled(value, defaults).items()
            }

        return Changed(made, change)

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Cast columns of numbers and booleans, where no value is refused."""
        if self._options.whole:
            return None
        made, defaults = self._schema(schema), defaults_of(schema, is_on=self._options.fills_defaults)
        casts: list[_ColumnCast | None] = []
        for name, inner in schema.fields:
            found = _column_cast(inner, KINDS[self._types[name]]) if name in self._types else None
            if name in self._types and found is None:
                return None
            casts.append(found)

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            if has_filled(column, schema, defaults):
                return None
            arrays = []
            for at, cast in enumerate(casts):
                array = column.field(at)
                try:
                    array = array if cast is None else cast(array)
                except pa.ArrowInvalid:  # some value does not fit: its record alone is refused
                    return None
                if array is None:
                    return None
                arrays.append(array)
            return struct_column(made, arrays)

        return ChangedColumns(made, change)

    @property
    def is_of_fields(self) -> bool:
        """Whether it casts fields, and not whole values."""
        return not self._options.whole

    def demands(self, wanted: Demands) -> Demands | None:
        """Read columns of numbers in their type before the cast."""
        return cast_fields(self._options, wanted)

    def _schema(self, schema: ConnectSchema) -> ConnectSchema:
        required_struct(schema, PURPOSE)
        fields = (
            (name, _schema(name, inner, self._types[name]) if name in self._types else inner)
            for name, inner in schema.fields
        )
        return struct_like(schema, fields, optional=schema.optional)


def _plain_cast(name: str, value: Any, target: str) -> Any:
    """Cast a value without a schema; Connect knows no times and no decimals there."""
    if isinstance(value, Moment | Decimal):
        where = f"the field {shown(name)}" if name else "the value"
        problem = f"{where} is {shown(value)}, and without a schema it cannot be cast"
        raise TransformRefused(problem)
    return _cast(name, value, target)


def _cast(name: str, value: Any, target: str) -> Any:
    """Cast a value, which may be null. Raises TransformRefused."""
    if value is None:
        return None
    try:
        return CASTS[target](value)
    except ValueError as error:
        where = f"the field {shown(name)}" if name else "the value"
        problem = f"{where} is {shown(value)} and cannot be cast to {target}{error}"
        raise TransformRefused(problem) from None


def _schema(name: str, schema: ConnectSchema, target: str) -> ConnectSchema:
    """Return the schema of values that were cast. Raises TransformRefused for a default that cannot be."""
    default = _cast(name, default_of(schema), target)
    return ConnectSchema(KINDS[target], schema.optional, default=ABSENT if default is None else default)


_ColumnCast = Callable[[pa.Array], pa.Array | None]


def _column_cast(schema: ConnectSchema, target: Kind) -> _ColumnCast | None:
    """Return what casts a column as values are cast, or returns None or raises ArrowInvalid; None where nothing does."""
    source = schema.kind
    made = arrow_type(ConnectSchema(target))
    if schema.name is not None or source not in (*_INTEGERS, *_FLOATS, Kind.BOOLEAN, Kind.STRING):
        return None
    if source is target:
        return lambda array: array
    if source is Kind.STRING or (target is Kind.STRING and source in _FLOATS):
        return None
    if source in _FLOATS:
        if target in _INTEGERS:
            return lambda array: pc.trunc(array).cast(made)
        return _to_boolean if target is Kind.BOOLEAN else lambda array: _to_float(array, made)
    return lambda array: array.cast(made, safe=target not in _FLOATS)


def _to_boolean(array: pa.Array) -> pa.Array:
    is_zero = pc.or_(pc.equal(pc.trunc(array), 0.0), pc.is_nan(array))
    return pc.invert(is_zero)


def _to_float(array: pa.Array, made: pa.DataType) -> pa.Array | None:
    cast = array.cast(made, safe=False)
    is_lost = pc.and_(pc.is_inf(cast), pc.invert(pc.is_inf(array)))
    return None if pc.any(is_lost).as_py() else cast


# Values of one type as those of another, as Kafka's Cast makes them.
#
# A fraction is cut off, and a number that a float cannot hold exactly is rounded, as a cast does. What Java would
# wrap around, or read as 0, false or infinity without a word, is refused.


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
