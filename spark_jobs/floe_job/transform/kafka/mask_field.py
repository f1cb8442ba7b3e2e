"""Kafka's MaskField: fields get an empty value of their type, or a given one; null stays null."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.kafka.mask_field import MaskField
from floe_job.connect.arrow import MAX_DIGITS, arrow_type, is_decimal, scale_of
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.field_steps.conversions import masked
from floe_job.transform.field_steps.demand import Demands
from floe_job.transform.kafka.java_numbers import java_decimal, java_float, java_integer, java_single
from floe_job.transform.requirements import required_object, required_struct, shown
from floe_job.transform.struct_fields import defaults_of, filled, has_filled, in_java, struct_column
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange
from floe_job.types.number_tokens import HugeInteger, Single
from floe_job.types.typed_values import Day, DayTime, Moment

PURPOSE = "mask fields"
_BITS: Final = {Kind.INT8: 8, Kind.INT16: 16, Kind.INT32: 32, Kind.INT64: 64}
_EMPTY: Final[dict[type, Callable[[Any], Any]]] = {
    bool: lambda _: False,
    int: lambda _: 0,
    HugeInteger: lambda _: 0,
    str: lambda _: "",
    list: lambda _: [],
    dict: lambda _: {},
    Decimal: lambda _: Decimal(0),
    Day: lambda _: Day(0),
    DayTime: lambda value: DayTime(0, None if value.raw is None else 0),
    Moment: lambda value: Moment(0, None if value.raw is None else 0),
}


class MaskFieldChange(ValueChange):
    """Masks fields of objects and structs; an object without such a field gets it, as null."""

    takes_null = True

    def __init__(self, options: MaskField) -> None:
        self._options = options
        self._fields = tuple(dict.fromkeys(options.fields))

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Mask fields of an object."""
        made = dict(required_object(value, PURPOSE))
        for name in self._fields:
            made[name] = self._masked(name, made.get(name), None)
        return made

    def typed(self, schema: ConnectSchema) -> Changed:
        """Mask fields of structs."""
        required_struct(schema, PURPOSE)
        defaults = defaults_of(schema, is_on=self._options.fills_defaults)
        masked = [(name, inner) for name, inner in schema.fields if name in self._fields]

        def change(value: Any, origin: Origin | None) -> Any:
            made = filled(value, defaults)
            for name, inner in masked:
                made[name] = self._masked(name, made[name], inner)
            return made

        return Changed(schema, change)

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Mask columns of numbers, texts and booleans that are nothing else."""
        required_struct(schema, PURPOSE)
        defaults = defaults_of(schema, is_on=self._options.fills_defaults)
        made: dict[int, pa.Scalar] = {}
        for at, (name, inner) in enumerate(schema.fields):
            if name in self._fields:
                if inner.name is not None or inner.kind not in _SAMPLES:
                    return None
                made[at] = pa.scalar(self._masked(name, _SAMPLES[inner.kind], inner), arrow_type(inner))

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            if has_filled(column, schema, defaults):
                return None
            arrays = [column.field(at) for at in range(len(schema.fields))]
            for at, scalar in made.items():
                arrays[at] = pc.if_else(arrays[at].is_valid(), scalar, pa.scalar(None, scalar.type))
            return struct_column(schema, arrays)

        return ChangedColumns(schema, change)

    @property
    def is_of_fields(self) -> bool:
        """It is, see ``ValueChange``."""
        return True

    def demands(self, wanted: Demands) -> Demands | None:
        """Mask columns of booleans, whole numbers and texts."""
        return masked(self._options, wanted, lambda sample: self._masked("", sample, None))

    def _masked(self, name: str, value: Any, schema: ConnectSchema | None) -> Any:
        """Return what a field gets for a value. ``schema``: that of the field; None in an object."""
        if value is None:
            return None
        text = self._options.replacement
        given = in_java(value)
        if text is not None:
            if given is not value:
                problem = f"the field {shown(name)} is a time of {shown(schema and schema.name)}: only 0 can mask it"
                raise TransformRefused(problem)
            return _replaced(name, value, text, schema)
        if isinstance(value, float):
            return Single(0.0) if isinstance(value, Single) else 0.0
        make = _EMPTY.get(type(value))
        if make is None or (schema is not None and schema.kind is Kind.STRUCT):
            if given is not value and type(given) in (int, str):
                return _EMPTY[type(given)](given)
            problem = f"the field {shown(name)} is {shown(value)}, of a type that cannot be masked"
            raise TransformRefused(problem)
        return make(value)


_SAMPLES: Final[dict[Kind, Any]] = {
    Kind.BOOLEAN: True,
    Kind.INT8: 1,
    Kind.INT16: 1,
    Kind.INT32: 1,
    Kind.INT64: 1,
    Kind.FLOAT32: Single(1.0),
    Kind.FLOAT64: 1.0,
    Kind.STRING: "x",
}


def _replaced(name: str, value: Any, text: str, schema: ConnectSchema | None) -> Any:
    """Read a replacement as a value of the field's type. Raises TransformRefused."""
    made: Any = None
    if isinstance(value, str):
        return text
    if isinstance(value, Decimal):
        made = java_decimal(text)
        if made is not None and schema is not None and not _fits(made, schema):
            made = None
    elif isinstance(value, int | HugeInteger) and not isinstance(value, bool):
        made = java_integer(text, 64 if schema is None else _BITS[schema.kind])
    elif isinstance(value, float):
        made = java_single(text) if isinstance(value, Single) else java_float(text)
    if made is None:
        problem = f"the field {shown(name)} is {shown(value)}, and the replacement {shown(text)} is none of its type"
        raise TransformRefused(problem)
    return made


def _fits(value: Decimal, schema: ConnectSchema) -> bool:
    scale = scale_of(schema) if is_decimal(schema) else 0
    exponent = value.normalize().as_tuple().exponent
    return isinstance(exponent, int) and -exponent <= scale and value.adjusted() < MAX_DIGITS - scale
