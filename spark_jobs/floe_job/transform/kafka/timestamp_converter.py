"""Kafka's TimestampConverter: a time of another type, in milliseconds as Java's dates have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.timestamp_converter import DATE, STRING, TIME, TIMESTAMP, UNIX, TimestampConverter
from floe_job.connect import debezium, logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.field_steps.conversions import converted
from floe_job.transform.field_steps.demand import Demands
from floe_job.transform.struct_fields import (
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
from floe_job.types.numbers import INT_RANGE, LONG_RANGE
from floe_job.types.temporal import MILLIS_PER_DAY
from floe_job.types.typed_values import Day, DayTime, Moment

PURPOSE = "converting timestamp formats"
SCHEMAS: Final = {
    STRING: ConnectSchema(Kind.STRING),
    UNIX: ConnectSchema(Kind.INT64),
    DATE: ConnectSchema(Kind.INT32, name=logical.DATE, version=1),
    TIME: ConnectSchema(Kind.INT32, name=logical.TIME, version=1),
    TIMESTAMP: ConnectSchema(Kind.INT64, name=logical.TIMESTAMP, version=1),
}
_OF_NAME: Final = {logical.TIMESTAMP: TIMESTAMP, logical.DATE: DATE, logical.TIME: TIME}
_OF_KIND: Final = {Kind.STRING: STRING, Kind.INT64: UNIX}
PER_SECOND: Final = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000, "nanoseconds": 1_000_000_000}


class TimestampConverterChange(ValueChange):
    """Converts a field of objects and structs, or whole values."""

    def __init__(self, options: TimestampConverter) -> None:
        self._options = options
        self._format = SimpleDate.of(options.format) if options.format else None
        self._per_second = PER_SECOND[options.precision]

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Convert a field of an object, or the value: a time becomes a moment, whichever kind of time it is.

        An object without the field gets it, as null.
        """
        name = self._options.field
        if not name:
            return self._plain(value)
        made = dict(required_object(value, PURPOSE))
        made[name] = self._plain(made.get(name))
        return made

    def _plain(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, Moment):
            millis = value.micros // 1000
        elif isinstance(value, str):
            millis = self._parsed(value)
        elif type(value) is int and LONG_RANGE[0] <= value <= LONG_RANGE[1]:
            millis = self._of_unix(value)
        else:
            problem = f"{shown(value)} is no time: a number of 64 bits and a text can be one, for {PURPOSE}"
            raise TransformRefused(problem)
        if self._options.target == DATE:
            return _moment(millis - millis % MILLIS_PER_DAY)
        if self._options.target == TIME:
            return _moment(millis % MILLIS_PER_DAY)
        return self._made(millis)

    def typed(self, schema: ConnectSchema) -> Changed:
        """Convert a field of structs, or values."""
        name = self._options.field
        if not name:
            source = _source_of(schema, self._options.precision)
            return Changed(self._schema(schema), lambda value, _: self._converted(value, source))
        made, sources = self._struct(schema)
        defaults = defaults_of(schema, is_on=self._options.fills_defaults)

        def change(value: Any, origin: Origin | None) -> Any:
            changed = filled(value, defaults)
            if name in changed:
                changed[name] = self._converted(changed[name], sources[name])
            return changed

        return Changed(made, change)

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Convert a column of a field, where no texts are."""
        if not self._options.field:
            return None
        made, sources = self._struct(schema)
        defaults = defaults_of(schema, is_on=self._options.fills_defaults)
        target = self._options.target
        places = {at: sources[name] for at, (name, _) in enumerate(schema.fields) if name in sources}
        is_plain = all(dict(schema.fields)[name].name in (None, *_OF_NAME) for name in sources)
        if STRING in (target, *sources.values()) or not is_plain:
            return None

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            if has_filled(column, schema, defaults):
                return None
            arrays = [column.field(at) for at in range(len(schema.fields))]
            try:
                for at, source in places.items():
                    millis = millis_of_column(arrays[at], source, self._per_second)
                    arrays[at] = column_of_millis(millis, target, self._per_second)
            except pa.ArrowInvalid:  # some value does not fit: its record alone is refused
                return None
            return struct_column(made, arrays)

        return ChangedColumns(made, change)

    @property
    def is_of_fields(self) -> bool:
        """Whether it converts a field, and not whole values."""
        return bool(self._options.field)

    def demands(self, wanted: Demands) -> Demands | None:
        """Read columns of numbers, or of texts with a format."""
        return converted(self._options, wanted, self._per_second)

    # -- schemas ------------------------------------------------------------------------------------------------------

    def _schema(self, schema: ConnectSchema) -> ConnectSchema:
        made = SCHEMAS[self._options.target]
        return ConnectSchema(made.kind, schema.optional, made.name, made.version)

    def _struct(self, schema: ConnectSchema) -> tuple[ConnectSchema, dict[str, str]]:
        """Return the new schema, and the type of time that the field has, if there is one."""
        required_struct(schema, PURPOSE)
        name = self._options.field
        fields = ((one, self._schema(inner) if one == name else inner) for one, inner in schema.fields)
        precision = self._options.precision
        sources = {one: _source_of(inner, precision) for one, inner in schema.fields if one == name}
        return struct_like(schema, fields, optional=schema.optional), sources

    # -- values -------------------------------------------------------------------------------------------------------

    def _converted(self, value: Any, source: str) -> Any:
        """Convert a value of a type of time to one of the schema's."""
        if value is None:
            return None
        value = in_java(value)
        if isinstance(value, str):
            millis = self._parsed(value)
        elif source == UNIX:
            millis = self._of_unix(value)
        elif isinstance(value, Day):
            millis = value.days * MILLIS_PER_DAY
        else:
            millis = value.micros // 1000
        return self._made(millis)

    def _made(self, millis: int) -> Any:
        target = self._options.target
        if target == STRING and self._format is not None:
            return self._format.format(millis)
        if target == UNIX:
            return self._to_unix(millis)
        if target == DATE:
            days = millis // MILLIS_PER_DAY
            if not INT_RANGE[0] <= days <= INT_RANGE[1]:
                raise _beyond(millis)
            return Day(days)
        return DayTime(millis % MILLIS_PER_DAY * 1000) if target == TIME else _moment(millis)

    def _parsed(self, text: str) -> int:
        if self._format is None:
            problem = f"the time {shown(text)} is a text, and the transform has no format: set it"
            raise TransformRefused(problem)
        try:
            return self._format.parse_exactly(text)
        except ValueError as error:
            raise TransformRefused(str(error)) from None

    def _of_unix(self, number: int) -> int:
        """Return milliseconds; what is finer is cut off, towards 1970."""
        millis = _towards_zero(number * 1000, self._per_second)
        if not LONG_RANGE[0] <= millis <= LONG_RANGE[1]:
            raise _beyond(number)
        return millis

    def _to_unix(self, millis: int) -> int:
        number = _towards_zero(millis * self._per_second, 1000)
        if not LONG_RANGE[0] <= number <= LONG_RANGE[1]:
            raise _beyond(millis)
        return number


_UNITS: Final = {
    **dict.fromkeys((logical.AVRO_TIME_MICROS, logical.AVRO_TIMESTAMP_MICROS), "microseconds"),
    logical.AVRO_LOCAL_TIMESTAMP_MICROS: "microseconds",
    logical.AVRO_LOCAL_TIMESTAMP_MILLIS: "milliseconds",
    debezium.TIMESTAMP_MILLIS: "milliseconds",
    **dict.fromkeys((debezium.TIME_MICROS, debezium.TIMESTAMP_MICROS), "microseconds"),
    **dict.fromkeys((debezium.TIME_NANOS, debezium.TIMESTAMP_NANOS), "nanoseconds"),
}
"""What the numbers of Avro's and Debezium's times count, which are plain numbers to Java."""


def _source_of(schema: ConnectSchema, precision: str) -> str:
    """Return the type of time of a schema. Raises TransformRefused for none, and for numbers of another precision."""
    unit = _UNITS.get(debezium.meant(schema).name or "", precision)
    if unit != precision:
        problem = (
            f"its numbers count {unit}, and unix.precision of the transform is {precision}, so that Java takes them for "
            f"another time: set it to {unit}, or leave the field out, for {PURPOSE}"
        )
        raise TransformRefused(problem)
    found = _OF_NAME.get(schema.name or "") or _OF_KIND.get(schema.kind)
    if found is None:
        problem = f"the type {schema.kind.value} is no known type of time, for {PURPOSE}"
        raise TransformRefused(problem)
    return found


def _towards_zero(number: int, by: int) -> int:
    return number // by if number >= 0 else -(-number // by)


def _moment(millis: int) -> Moment:
    if not LONG_RANGE[0] <= millis * 1000 <= LONG_RANGE[1]:
        raise _beyond(millis)
    return Moment(millis * 1000)


def _beyond(number: int) -> TransformRefused:
    return TransformRefused(f"the time {number} is beyond what the new type holds, for {PURPOSE}")


# Columns of times as milliseconds since 1970, and back. Nulls stay nulls; ArrowInvalid says that a value does not
# fit.


def millis_of_column(column: pa.Array, source: str, per_second: int) -> pa.Array:
    """Return int64. ``per_second``: how many of the numbers are a second, where the source is numbers."""
    if source == UNIX:
        if per_second <= 1000:
            return pc.multiply_checked(column, 1000 // per_second)
        return pc.divide(column, per_second // 1000)
    if source == DATE:
        return pc.multiply(column.cast(pa.int32()).cast(pa.int64()), MILLIS_PER_DAY)
    return _floor(column.cast(pa.int64()), 1000)


def column_of_millis(millis: pa.Array, target: str, per_second: int) -> pa.Array:
    """Return a column in the Arrow type of the target, which is no text."""
    if target == UNIX:
        if per_second >= 1000:
            return pc.multiply_checked(millis, per_second // 1000)
        return pc.divide(millis, 1000 // per_second)
    if target == TIMESTAMP:
        return pc.multiply_checked(millis, 1000).cast(pa.timestamp("us", "UTC"))
    days = _floor(millis, MILLIS_PER_DAY)
    if target == DATE:
        return days.cast(pa.int32()).cast(pa.date32())
    rest = pc.subtract(millis, pc.multiply(days, MILLIS_PER_DAY))
    return pc.multiply(rest, 1000).cast(pa.time64("us"))


def _floor(numbers: pa.Array, by: int) -> pa.Array:
    filled = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    mask = None if not numbers.null_count else numbers.is_null().to_numpy(zero_copy_only=False)
    return pa.array(np.floor_divide(filled, by), pa.int64(), mask=mask)
