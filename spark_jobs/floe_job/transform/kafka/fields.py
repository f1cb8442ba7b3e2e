"""Kafka's transforms of single fields: ``ReplaceField``, ``InsertField`` and ``MaskField``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.kafka_fields import (
    OFFSET,
    PARTITION,
    STATIC,
    TIMESTAMP,
    TOPIC,
    InsertField,
    MaskField,
    ReplaceField,
)
from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS, arrow_type, is_decimal, scale_of
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.field_steps.conversions import masked
from floe_job.transform.field_steps.demand import Demands
from floe_job.transform.field_steps.inserts import inserted
from floe_job.transform.kafka.java_numbers import java_decimal, java_float, java_integer, java_single
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
from floe_job.types.numbers import LONG_RANGE, HugeInteger, Single
from floe_job.types.typed_values import Day, DayTime, Moment

# Kafka's ReplaceField: fields are left out, or get another name.


REPLACEMENT = "field replacement"
_SHOWN_CHARACTERS: Final = 100


class ReplaceFieldChange(ValueChange):
    """Leaves fields out and renames them, at the top of an object or a struct."""

    def __init__(self, options: ReplaceField) -> None:
        self._options = options
        self._names = dict(options.renames)

    def _is_kept(self, name: str) -> bool:
        return name not in self._options.exclude and (not self._options.include or name in self._options.include)

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Replace the fields of an object; of two fields that get one name the later one counts."""
        value = required_object(value, REPLACEMENT)
        return {self._names.get(name, name): entry for name, entry in value.items() if self._is_kept(name)}

    def typed(self, schema: ConnectSchema) -> Changed:
        """Replace the fields of structs."""
        made = self._schema(schema)
        pairs = [(name, self._names.get(name, name)) for name, _ in schema.fields if self._is_kept(name)]
        defaults = defaults_of(schema, is_on=self._options.fills_defaults)

        def change(value: Any, origin: Origin | None) -> Any:
            return {
                new: defaults.get(old) if value[old] is None and old in defaults else value[old] for old, new in pairs
            }

        return Changed(made, change)

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Replace the columns; not where a default may have to be filled in."""
        made = self._schema(schema)
        kept = [index for index, (name, _) in enumerate(schema.fields) if self._is_kept(name)]
        filled = [index for index in kept if self._options.fills_defaults and schema.fields[index][1].has_default]

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            if any(column.field(index).null_count for index in filled):
                return None
            arrays = [column.field(index) for index in kept]
            fields = [pa.field(name, array.type) for (name, _), array in zip(made.fields, arrays, strict=True)]
            if not arrays:
                return None
            return pa.StructArray.from_arrays(arrays, fields=fields)

        return ChangedColumns(made, change)

    @property
    def is_of_fields(self) -> bool:
        """It is, see ``ValueChange``."""
        return True

    def demands(self, wanted: Demands) -> Demands:
        """Read columns from the fields that they are named after. An object with both names is read the exact way."""
        old_of = {new: old for old, new in self._options.renames}

        def before(name: str) -> str | None:
            old = old_of.get(name, name)
            return None if (old == name and name in self._names) or not self._is_kept(old) else old

        columns = {
            column: demand if demand.field is None else demand.of(before(demand.field))
            for column, demand in wanted.columns.items()
        }
        hidden = {before(name) for name in wanted.hidden} - {None} | set(self._options.exclude)
        probed = {before(name) for name in wanted.probed} | {
            new for new in old_of if self._is_kept(new) and new not in self._names
        }
        if self._options.include and wanted.grows and not wanted.closed:
            # a field that is left, and has no column yet
            read = {demand.field for demand in columns.values()} | hidden
            probed |= {name for name in self._options.include if self._is_kept(name) and name not in read}
        return Demands(
            columns,
            wanted.grows,
            frozenset(name for name in hidden if name is not None),
            frozenset(name for name in probed if name is not None),
            wanted.closed or bool(self._options.include),
        )

    def _schema(self, schema: ConnectSchema) -> ConnectSchema:
        """Return the schema of changed structs, which is not optional, as Java's.

        Java refuses them as well where a field keeps its name and another one gets it; or, if that other one is left out, it
        writes that one's value.
        """
        required_struct(schema, REPLACEMENT)
        fields = tuple((self._names.get(name, name), inner) for name, inner in schema.fields if self._is_kept(name))
        taken = set(self._names.values())
        kept = [name for name, _ in schema.fields if self._is_kept(name) and name not in self._names and name in taken]
        if kept:
            shown_name = f"{kept[0][:_SHOWN_CHARACTERS]!r}"
            problem = f"{REPLACEMENT} gives a name that another field has: {shown_name}; leave that one out"
            raise TransformRefused(problem)
        return replace(schema, fields=fields, optional=False, default=ABSENT)


# Kafka's InsertField: fields with what Kafka knows of a record, or with a text.


INSERTION = "field insertion"
_KINDS: Final = {
    TOPIC: ConnectSchema(Kind.STRING),
    PARTITION: ConnectSchema(Kind.INT32),
    OFFSET: ConnectSchema(Kind.INT64),
    TIMESTAMP: ConnectSchema(Kind.INT64, name=logical.TIMESTAMP, version=1),
    STATIC: ConnectSchema(Kind.STRING),
}


class InsertFieldChange(ValueChange):
    """Adds fields to objects and structs: to an object also in place of one that it has."""

    reads_origin = True

    def __init__(self, options: InsertField) -> None:
        self._options = options

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Add the fields to an object; the time is a number, and is left out where there is none."""
        made = dict(required_object(value, INSERTION))
        for part, name, _ in self._options.fields:
            found = self._value(part, origin)
            if found is not None:
                made[name] = found
        return made

    def typed(self, schema: ConnectSchema) -> Changed:
        """Add the fields to structs; the time is a timestamp."""
        made, defaults = self._schema(schema), defaults_of(schema, is_on=self._options.fills_defaults)

        def change(value: Any, origin: Origin | None) -> Any:
            added = filled(value, defaults)
            for part, name, _ in self._options.fields:
                found = self._value(part, origin)
                added[name] = _moment(found) if part == TIMESTAMP and found is not None else found
            return added

        return Changed(made, change)

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Add columns."""
        made, defaults = self._schema(schema), defaults_of(schema, is_on=self._options.fills_defaults)

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            if has_filled(column, schema, defaults):
                return None
            own = [column.field(at) for at in range(len(schema.fields))]
            try:
                added = [self._column(part, len(column), origins) for part, _, _ in self._options.fields]
            except pa.ArrowInvalid:  # a time beyond those that a column holds: its record alone is refused
                return None
            return struct_column(made, [*own, *added])

        return ChangedColumns(made, change)

    @property
    def is_of_fields(self) -> bool:
        """It is, see ``ValueChange``."""
        return True

    def demands(self, wanted: Demands) -> Demands | None:
        """Make the columns without the records' values."""
        return inserted(self._options, wanted)

    def _schema(self, schema: ConnectSchema) -> ConnectSchema:
        required_struct(schema, INSERTION)
        added = [
            (name, ConnectSchema(kind.kind, optional, kind.name, kind.version))
            for (part, name, optional), kind in ((one, _KINDS[one[0]]) for one in self._options.fields)
        ]
        return struct_like(schema, (*schema.fields, *added), optional=False)

    def _value(self, part: str, origin: Origin | None) -> Any:
        return self._options.static_value if part == STATIC else getattr(origin, part)

    def _column(self, part: str, size: int, origins: Callable[[], Origins]) -> pa.Array:
        if part == STATIC:
            return pa.repeat(pa.scalar(self._options.static_value, pa.large_string()), size)
        found = origins()
        if part == TOPIC:
            return pa.array(found.topics, pa.large_string())
        if part == PARTITION:
            return pa.repeat(pa.scalar(found.partition, pa.int32()), size)
        if part == OFFSET:
            return pa.array(found.offsets, pa.int64())
        millis = pa.array(found.timestamps, pa.int64())
        return millis.cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))


def _moment(millis: int) -> Moment:
    micros = millis * 1000
    if not LONG_RANGE[0] <= micros <= LONG_RANGE[1]:
        problem = f"the record's time {millis} (ms) is beyond what a timestamp holds"
        raise TransformRefused(problem)
    return Moment(micros)


# Kafka's MaskField: fields get an empty value of their type, or a given one; null stays null.


MASKING = "mask fields"
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
        made = dict(required_object(value, MASKING))
        for name in self._fields:
            made[name] = self._masked(name, made.get(name), None)
        return made

    def typed(self, schema: ConnectSchema) -> Changed:
        """Mask fields of structs."""
        required_struct(schema, MASKING)
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
        required_struct(schema, MASKING)
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
