"""Kafka's SetSchemaMetadata: another name or version of the schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from floe.config.transforms.kafka.schema_metadata import SetSchemaMetadata
from floe_job.connect import debezium
from floe_job.connect.schema import ConnectSchema
from floe_job.exceptions import TransformRefused
from floe_job.transform.requirements import required_struct, shown
from floe_job.transform.struct_fields import defaults_of, filled, has_filled
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange

PURPOSE = "updating schema metadata"


class SchemaMetadataChange(ValueChange):
    """Gives schemas another name or version; a value without a schema is refused."""

    def __init__(self, options: SetSchemaMetadata) -> None:
        self._options = options

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Refuse a value without a schema."""
        problem = f"the value has no schema for {PURPOSE}: read it by a converter that has one"
        raise TransformRefused(problem)

    def typed(self, schema: ConnectSchema) -> Changed:
        """Change the schema of values."""
        defaults = defaults_of(schema, is_on=self._options.fills_defaults)
        if not defaults:
            return Changed(self._schema(schema), lambda value, _: value)
        return Changed(self._schema(schema), lambda value, _: filled(value, defaults))

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Change the schema of columns."""
        made, defaults = self._schema(schema), defaults_of(schema, is_on=self._options.fills_defaults)

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            return None if defaults and has_filled(column, schema, defaults) else column

        return ChangedColumns(made, change)

    def _schema(self, schema: ConnectSchema) -> ConnectSchema:
        required_struct(schema, PURPOSE)
        name = schema.name if self._options.name is None else self._options.name
        version = schema.version if self._options.version is None else self._options.version
        made = replace(schema, name=name, version=version)
        if debezium.meaning_of(made) != debezium.meaning_of(schema):
            problem = f"with the name {shown(name)} the values would mean something else, for {PURPOSE}"
            raise TransformRefused(problem)
        return made
