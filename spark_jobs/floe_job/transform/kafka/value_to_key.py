"""Kafka's ValueToKey: a key of fields of the value."""

from __future__ import annotations

from typing import Any

from floe.config.transforms.kafka.value_to_key import ValueToKey
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.whole.values import TypedValues
from floe_job.exceptions import TransformRefused
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.columns import objects_of, schemas_of
from floe_job.transform.requirements import required_object, required_struct, shown
from floe_job.transform.struct_fields import defaults_of
from floe_job.transform.value_change import MAX_KNOWN

PURPOSE = "copying fields from value to key"


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
                    given = required_object(value, PURPOSE)
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
        required_struct(schema, PURPOSE)
        fields = dict(schema.fields)
        missing = [name for name in self._fields if name not in fields]
        if missing:
            problem = f"the value has no field {shown(missing[0])} for {PURPOSE}"
            raise TransformRefused(problem)
        return ConnectSchema(Kind.STRUCT, fields=tuple((name, fields[name]) for name in self._fields))
