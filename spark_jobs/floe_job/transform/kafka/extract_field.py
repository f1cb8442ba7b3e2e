"""Kafka's ExtractField: one field takes the place of the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.kafka.extract_field import ExtractField
from floe_job.connect.schema import ConnectSchema
from floe_job.exceptions import TransformRefused
from floe_job.transform.requirements import required_object, required_struct, shown
from floe_job.transform.struct_fields import defaults_of
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange

PURPOSE = "field extraction"


class ExtractFieldChange(ValueChange):
    """Takes a field out; where an object or a struct on the way is null, so is the value."""

    def __init__(self, options: ExtractField) -> None:
        self._path = options.path
        self._fills_defaults = options.fills_defaults

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Take the field of an object; null if it has none."""
        for name in self._path:
            if value is None:
                return None
            value = required_object(value, PURPOSE).get(name)
        return value

    def typed(self, schema: ConnectSchema) -> Changed:
        """Take the field of structs, which have to have it."""
        found, defaults = self._found(schema)

        def change(value: Any, origin: Origin | None) -> Any:
            for name, default in zip(self._path, defaults, strict=True):
                if value is None:
                    return None
                value = default if value[name] is None else value[name]
            return value

        return Changed(found, change)

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Take a column, unless it has nulls: those become tombstones, or defaults."""
        found, _ = self._found(schema)
        places = []
        inner = schema
        for name in self._path:
            place = [one for one, _ in inner.fields].index(name)
            places.append(place)
            inner = inner.fields[place][1]

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            for place in places:
                column = pc.struct_field(column, [place])
                if column.null_count:
                    return None
            return column

        return ChangedColumns(found, change)

    def _found(self, schema: ConnectSchema) -> tuple[ConnectSchema, list[Any]]:
        """Return the schema of the field, and what each name on the way has for null."""
        defaults = []
        for name in self._path:
            required_struct(schema, PURPOSE)
            fields = dict(schema.fields)
            if name not in fields:
                problem = f"the struct has no field {shown(name)} for {PURPOSE}"
                raise TransformRefused(problem)
            defaults.append(defaults_of(schema, is_on=self._fills_defaults).get(name))
            schema = fields[name]
        return schema, defaults
