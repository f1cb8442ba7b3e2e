"""Kafka's InsertField: fields with what Kafka knows of a record, or with a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from floe.config.transforms.kafka.insert_field import OFFSET, PARTITION, STATIC, TIMESTAMP, TOPIC, InsertField
from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.field_steps.demand import Demands
from floe_job.transform.field_steps.inserts import inserted
from floe_job.transform.requirements import required_object, required_struct
from floe_job.transform.struct_fields import defaults_of, filled, has_filled, struct_column, struct_like
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange
from floe_job.types.numbers import LONG_RANGE
from floe_job.types.typed_values import Moment

PURPOSE = "field insertion"
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
        made = dict(required_object(value, PURPOSE))
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
        required_struct(schema, PURPOSE)
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
