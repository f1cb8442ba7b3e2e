"""The sink's CopyValue: the value of a field is in another one too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from floe.config.transforms.iceberg.copy_value import CopyValue
from floe_job.connect.schema import ABSENT, ConnectSchema
from floe_job.exceptions import TransformRefused
from floe_job.transform.required import required_object, required_struct
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
        """Copy a field of structs; fields that are null get their defaults."""
        made = self._schema(schema)
        defaults = _defaults(schema)

        def change(value: Any, origin: Origin | None) -> Any:
            filled = {name: defaults.get(name) if entry is None else entry for name, entry in value.items()}
            return {**filled, self._target: filled[self._source]}

        return Changed(made, change)

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Copy the column; not where a default has to be filled in."""
        made = self._schema(schema)
        defaults = _defaults(schema)

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            if any(column.field(name).null_count for name in defaults):
                return None
            arrays = [*(column.field(index) for index in range(len(schema.fields))), column.field(self._source)]
            fields = [pa.field(name, array.type) for (name, _), array in zip(made.fields, arrays, strict=True)]
            return pa.StructArray.from_arrays(arrays, fields=fields)

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
        return replace(schema, optional=False, default=ABSENT, fields=made)


def _defaults(schema: ConnectSchema) -> dict[str, Any]:
    return {name: one.default for name, one in schema.fields if one.has_default and one.default is not None}
