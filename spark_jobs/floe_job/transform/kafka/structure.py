"""Kafka's transforms of a whole value: ``ExtractField``, ``HoistField``, ``ValueToKey`` and ``SetSchemaMetadata``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from floe.config.transforms.kafka_fields import ExtractField, HoistField, SetSchemaMetadata, ValueToKey
from floe_job.connect import debezium
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.whole_values import TypedValues
from floe_job.exceptions import TransformRefused
from floe_job.transform.batch import ParsedBatch, objects_of, schemas_of
from floe_job.transform.struct_fields import (
    defaults_of,
    filled,
    has_filled,
    required_object,
    required_struct,
    shown,
    struct_column,
)
from floe_job.transform.value_change import MAX_KNOWN, Changed, ChangedColumns, Origin, Origins, ValueChange

# Kafka's ExtractField: one field takes the place of the value.


EXTRACTION = "field extraction"


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
            value = required_object(value, EXTRACTION).get(name)
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
            required_struct(schema, EXTRACTION)
            fields = dict(schema.fields)
            if name not in fields:
                problem = f"the struct has no field {shown(name)} for {EXTRACTION}"
                raise TransformRefused(problem)
            defaults.append(defaults_of(schema, is_on=self._fills_defaults).get(name))
            schema = fields[name]
        return schema, defaults


# Kafka's HoistField: the value becomes the only field of a new one.


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


# Kafka's ValueToKey: a key of fields of the value.


COPYING = "copying fields from value to key"


class KeyOfValue:
    """Gives records keys of fields of their values; a tombstone is refused."""

    def __init__(self, options: ValueToKey) -> None:
        self._fields = tuple(dict.fromkeys(options.fields))
        self._fills_defaults = options.fills_defaults
        self._known: dict[int, tuple[ConnectSchema, ConnectSchema, dict[str, Any]]] = {}

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Make the keys."""
        values = objects_of(batch.values)
        keys: list[Any] = [None] * len(values)
        schemas: list[Any] = [None] * len(values)
        refused: dict[int, str] = {}
        for row, (value, schema) in enumerate(zip(values, schemas_of(values), strict=True)):
            try:
                if schema is None:
                    given = required_object(value, COPYING)
                    keys[row] = {name: given.get(name) for name in self._fields}
                else:
                    schemas[row], defaults = self._schema(schema)
                    keys[row] = {name: self._entry(value, name, defaults) for name in self._fields}
            except TransformRefused as error:
                refused[row] = error.reason
        made = TypedValues(keys, schemas) if isinstance(values, TypedValues) else keys
        return batch.changed(keys=made).reject(refused)

    def _entry(self, value: dict[str, Any], name: str, defaults: dict[str, Any]) -> Any:
        return defaults.get(name) if value[name] is None else value[name]

    def _schema(self, schema: ConnectSchema) -> tuple[ConnectSchema, dict[str, Any]]:
        """Return the schema of keys, and the defaults that fields get for null. Raises TransformRefused."""
        if id(schema) not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[id(schema)] = (schema, self._made(schema), defaults_of(schema, is_on=self._fills_defaults))
        return self._known[id(schema)][1:]

    def _made(self, schema: ConnectSchema) -> ConnectSchema:
        required_struct(schema, COPYING)
        fields = dict(schema.fields)
        missing = [name for name in self._fields if name not in fields]
        if missing:
            problem = f"the value has no field {shown(missing[0])} for {COPYING}"
            raise TransformRefused(problem)
        return ConnectSchema(Kind.STRUCT, fields=tuple((name, fields[name]) for name in self._fields))


# Kafka's SetSchemaMetadata: another name or version of the schema.


SCHEMA_UPDATE = "updating schema metadata"


class SchemaMetadataChange(ValueChange):
    """Gives schemas another name or version; a value without a schema is refused."""

    def __init__(self, options: SetSchemaMetadata) -> None:
        self._options = options

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Refuse a value without a schema."""
        problem = f"the value has no schema for {SCHEMA_UPDATE}: read it by a converter that has one"
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
        required_struct(schema, SCHEMA_UPDATE)
        name = schema.name if self._options.name is None else self._options.name
        version = schema.version if self._options.version is None else self._options.version
        made = replace(schema, name=name, version=version)
        if debezium.meaning_of(made) != debezium.meaning_of(schema):
            problem = f"with the name {shown(name)} the values would mean something else, for {SCHEMA_UPDATE}"
            raise TransformRefused(problem)
        return made
