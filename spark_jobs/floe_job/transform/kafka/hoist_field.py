"""Kafka's HoistField: the value becomes the only field of a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from floe.config.transforms.kafka.hoist_field import HoistField
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.transform.struct_fields import struct_column
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange


class HoistFieldChange(ValueChange):
    """Puts values into an object or a struct; of a tombstone it makes an object whose field is null."""

    takes_null = True

    def __init__(self, options: HoistField) -> None:
        self._name = options.field

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Make an object of any value."""
        return {self._name: value}

    def typed(self, schema: ConnectSchema) -> Changed:
        """Make structs of any values."""
        return Changed(self._schema(schema), self.plain)

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Make a column of structs."""
        made = self._schema(schema)

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            return struct_column(made, [column])

        return ChangedColumns(made, change)

    def _schema(self, schema: ConnectSchema) -> ConnectSchema:
        return ConnectSchema(Kind.STRUCT, fields=((self._name, schema),))
