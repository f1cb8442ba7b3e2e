"""The sink's MongoDebeziumTransform: the documents in change events of MongoDB become structs."""

from __future__ import annotations

from typing import Any, Final

from floe.config.transforms.iceberg import MongoChange
from floe_job.connect.schema import ConnectSchema, Kind, struct
from floe_job.exceptions import TransformRefused
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.documents import change
from floe_job.transform.documents.extended_json import Document
from floe_job.transform.documents.schema import DocumentSchemas, struct_of
from floe_job.transform.struct_fields import required_struct
from floe_job.transform.value_change import ChangedRecords

MAX_KNOWN: Final = 1000
"""Schemas that are kept, so that records of one schema have one."""
_SUFFIX: Final = ".Envelope"


class MongoChanges:
    """Makes structs of the documents before and after a change: a ``RecordTransform``."""

    def __init__(self, options: MongoChange) -> None:
        self._as_documents = options.as_documents
        self._schemas = DocumentSchemas(options.as_documents, has_empty_arrays=False)
        self._known: dict[ConnectSchema, ConnectSchema] = {}

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Change the events; a record that is none becomes a tombstone without a key."""
        records = ChangedRecords(batch)

        def changed(row: int, value: Any, schema: ConnectSchema | None) -> None:
            if value is None:
                return
            if schema is None:
                problem = (
                    "a change event needs a schema, and the value has none: set value.converter.schemas.enable=true"
                )
                raise TransformRefused(problem)
            if not change.has_key(records.key_schemas[row]) or not (schema.name or "").endswith(_SUFFIX):
                records.set_key(row, None, None)
                records.set_value(row, None, None)
                return
            required_struct(schema, "a change event")
            key = change.key_document(records.keys[row])
            made = self._event(value, schema, key)
            records.set_key(row, *self._struct(key, optional=False))
            records.set_value(row, *made)

        return records.each(changed)

    def _event(
        self, event: dict[str, Any], schema: ConnectSchema, key: Document
    ) -> tuple[dict[str, Any], ConnectSchema]:
        states = {name: change.part(event, name, schema) for name in (change.AFTER, change.BEFORE)}
        update = change.part(event, change.UPDATE, schema)
        if update is None and all(one is None for one in states.values()):
            problem = "the event has no document before or after the change, and no update"
            raise TransformRefused(problem)
        found = {name: change.document_in(value, name) for name, value in states.items() if value is not None}
        if change.AFTER not in found and update is not None:
            change.require_update(schema)
            found[change.AFTER] = change.updated(found.get(change.BEFORE, {}), update, key, needs_fields=True)
        fields: dict[str, ConnectSchema] = {}
        made: dict[str, Any] = {}
        for name, inner in schema.fields:
            if name in found:
                made[name], fields[name] = self._struct(found[name], optional=True)
            elif name not in states:
                made[name], fields[name] = event[name], inner
        return made, self._one(struct(fields, name=schema.name))

    def _struct(self, document: Document, *, optional: bool) -> tuple[dict[str, Any], ConnectSchema]:
        fields = self._schemas.fields(None, document)
        schema = self._one(ConnectSchema(Kind.STRUCT, optional, fields=tuple(fields.items())))
        return struct_of(document, schema, as_documents=self._as_documents), schema

    def _one(self, schema: ConnectSchema) -> ConnectSchema:
        known = self._known.get(schema)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[schema] = schema
        return known
