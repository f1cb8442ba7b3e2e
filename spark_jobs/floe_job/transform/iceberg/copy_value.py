"""The sink's CopyValue: the value of a field is in another one too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from floe.config.transforms.iceberg import CopyValue
from floe_job.connect.schema import ConnectSchema
from floe_job.exceptions import TransformRefused
from floe_job.transform.struct_fields import required_object, required_struct, struct_column, struct_like
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange

PURPOSE = "a copy"


class CopyValueChange(ValueChange):
    """Copies a field at the top of an object or a struct."""

    def __init__(self, options: CopyValue) -> None:
        self._source, self._target = options.source, options.target

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Copy a field of an object; null where there is no such field."""
        value = required_object(value, PURPOSE)
        return {**value, self._target: value.get(self._source)}

    def typed(self, schema: ConnectSchema) -> Changed:
        """Copy a field of structs."""
        return Changed(self._schema(schema), lambda value, _: {**value, self._target: value[self._source]})

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Copy the column."""
        made = self._schema(schema)

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            arrays = [column.field(index) for index in range(len(schema.fields))]
            return struct_column(made, [*arrays, column.field(self._source)])

        return ChangedColumns(made, change)

    def _schema(self, schema: ConnectSchema) -> ConnectSchema:
        required_struct(schema, PURPOSE)
        fields = dict(schema.fields)
        if self._source not in fields:
            problem = f"the struct has no field {self._source!r} to copy"
            raise TransformRefused(problem)
        if self._target in fields:
            problem = f"the struct has a field {self._target!r} already, which would get the copy"
            raise TransformRefused(problem)
        made = (*schema.fields, (self._target, fields[self._source]))
        return struct_like(schema, made, optional=False)
