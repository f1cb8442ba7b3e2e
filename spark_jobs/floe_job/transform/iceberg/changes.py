"""The sink's transforms of changes: rows out of the events of Debezium and of AWS DMS, each with a field ``_cdc``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from floe.config.transforms.iceberg import DebeziumChange, DmsChange
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues
from floe_job.exceptions import TransformRefused
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.iceberg import cdc
from floe_job.transform.iceberg.typed_change import (
    DATABASE,
    OP,
    SCHEMA,
    SOURCE,
    STATES,
    TABLE,
    TS,
    KeyColumns,
    TypedChange,
    written,
)
from floe_job.transform.struct_fields import required_object
from floe_job.transform.value_change import ChangedRecords

# The sink's DebeziumTransform: rows out of change events, each with a field ``_cdc``.


MAX_KNOWN: Final = 1000
"""Schemas whose change is kept: a topic with more has others compiled again."""


class DebeziumChanges:
    """Takes the rows out of change events: a ``RecordTransform``."""

    def __init__(self, options: DebeziumChange) -> None:
        self._pattern = options.target_pattern
        self._known: dict[int, tuple[ConnectSchema, TypedChange | TransformRefused]] = {}

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Change the events; tombstones stay as they are."""
        if isinstance(batch.values, TypedColumns):
            made = self._as_columns(batch, batch.values)
            if made is not None:
                return batch.changed(values=made)
        return self._one_by_one(batch)

    def _as_columns(self, batch: ParsedBatch, values: TypedColumns) -> TypedColumns | None:
        keys = batch.parsed_keys
        if values.schemaless is not None or isinstance(keys, TypedValues):
            return None
        if isinstance(keys, TypedColumns) and keys.schemaless is not None:
            return None
        columns = KeyColumns(keys if isinstance(keys, TypedColumns) else None, len(batch))
        offsets = np.asarray(batch.offsets, np.int64)
        parts = []
        try:
            for part in values.parts:
                made = written(self._pattern, self._change(part.schema), part, columns, offsets)
                if made is None:
                    return None
                parts += made
        except TransformRefused:  # each record is refused with this reason, one by one
            return None
        return TypedColumns(len(values), parts)

    def _one_by_one(self, batch: ParsedBatch) -> ParsedBatch:
        records, offsets = ChangedRecords(batch), batch.offsets

        def change(row: int, value: Any, schema: ConnectSchema | None) -> None:
            if value is None:
                return
            key, key_schema = records.keys[row], records.key_schemas[row]
            if schema is not None:
                event = self._change(schema)
                records.set_value(row, *event.value(self._pattern, value, offsets[row], key, key_schema))
                return
            made = self._plain(required_object(value, "a change event"), offsets[row], key, key_schema)
            if made is None:
                records.leave_out(row)
            else:
                records.set_value(row, made, None)

        return records.each(change)

    def _plain(
        self, event: dict[str, Any], offset: int, key: Any, key_schema: ConnectSchema | None
    ) -> dict[str, Any] | None:
        """Return an event without a schema as it is written; None for one without a row. Raises TransformRefused."""
        if event.get(OP) is None:
            problem = f"the event has no {OP!r}, which says what kind of change it is"
            raise TransformRefused(problem)
        operation = cdc.operation_of(event[OP])
        row = event.get(STATES[operation])
        if type(row) is not dict:
            return None
        source = required_object(event.get(SOURCE), f"the {SOURCE!r} of an event")
        database = cdc.text_of(source.get(SCHEMA if SCHEMA in source else DATABASE), "the name of the database")
        table = cdc.text_of(source.get(TABLE), "the name of the table")
        metadata = {cdc.OP: operation, cdc.TS: event.get(TS), cdc.OFFSET: offset}
        metadata[cdc.SOURCE] = cdc.source_of(database, table)
        metadata[cdc.TARGET] = cdc.target_of(self._pattern, database, table)
        if type(key) is dict and key_schema is None:
            metadata[cdc.KEY] = key
        return {**row, cdc.CDC: metadata}

    def _change(self, schema: ConnectSchema) -> TypedChange:
        known = self._known.get(id(schema))
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[id(schema)] = (schema, _compiled(schema))
        if isinstance(known[1], TransformRefused):
            raise known[1]
        return known[1]


def _compiled(schema: ConnectSchema) -> TypedChange | TransformRefused:
    try:
        return TypedChange(schema)
    except TransformRefused as error:
        return error


# The sink's DmsTransform: rows out of the change events of AWS DMS, each with a field ``_cdc``.


_OPERATIONS: Final = {"update": cdc.UPDATE, "delete": cdc.DELETE}
_DATA, _METADATA = "data", "metadata"


class DmsChanges:
    """Takes the rows out of change events: a ``RecordTransform``."""

    def __init__(self, options: DmsChange) -> None:
        """Read nothing of ``options``: there are none."""

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Change the events, none of which may have a schema; those without data are left out, tombstones stay."""
        records = ChangedRecords(batch)

        def change(row: int, value: Any, schema: ConnectSchema | None) -> None:
            if value is None:
                return
            if schema is not None:
                problem = "an event of AWS DMS has no schema, and the value has one"
                raise TransformRefused(problem)
            made = _row(required_object(value, "an event of AWS DMS"))
            if made is None:
                records.leave_out(row)
            else:
                records.set_value(row, made, None)

        return records.each(change)


def _row(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return the row in an event; None where there is none. Raises TransformRefused."""
    data, metadata = event.get(_DATA), event.get(_METADATA)
    if type(data) is not dict or type(metadata) is not dict:
        return None
    if metadata.get("operation") is None:
        problem = "the metadata of the event has no 'operation'"
        raise TransformRefused(problem)
    operation = metadata["operation"]
    schema, table = (
        None if metadata.get(name) is None else cdc.text_of(metadata[name], f"{name!r} in the metadata")
        for name in ("schema-name", "table-name")
    )
    found = {
        cdc.OP: _OPERATIONS.get(operation, cdc.INSERT) if isinstance(operation, str) else cdc.INSERT,
        cdc.TS: metadata.get("timestamp"),
        cdc.SOURCE: cdc.source_of(schema, table),
    }
    return {**data, cdc.CDC: found}
