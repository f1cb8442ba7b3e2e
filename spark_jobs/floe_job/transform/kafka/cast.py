"""Kafka's Cast: fields, or whole values, of another type."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.kafka.cast import Cast
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.field_steps.conversions import cast_fields
from floe_job.transform.field_steps.demand import Demands
from floe_job.transform.kafka.cast_values import CASTS
from floe_job.transform.requirements import required_object, required_struct, shown
from floe_job.transform.struct_fields import default_of, defaults_of, filled, has_filled, struct_column, struct_like
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange
from floe_job.types.typed_values import Moment

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
