"""Debezium's ExtractNewDocumentState: rows out of change events of MongoDB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from floe.config.transforms.debezium import Deletes, EventReference, NewDocumentState
from floe.config.transforms.kafka_fields import Flatten
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind, struct
from floe_job.exceptions import TransformRefused
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.debezium.event import (
    DELETED,
    OP,
    SUFFIX,
    header_bytes,
    is_event,
    is_plain_event,
    locate,
    value_in,
)
from floe_job.transform.documents import change
from floe_job.transform.documents.extended_json import Bson, Document
from floe_job.transform.documents.extended_json import DocumentKind as BsonKind
from floe_job.transform.documents.schema import DocumentSchemas, struct_of
from floe_job.transform.kafka.flatten import FlattenChange
from floe_job.transform.struct_fields import required_struct, shown
from floe_job.transform.value_change import ChangedRecords, with_headers

MAX_KNOWN = 1000
"""Schemas that are kept, so that records of one schema have one."""


class NewDocumentStates:
    """Takes the document after each change out of its event, or what is asked for of deletes: a ``RecordTransform``."""

    def __init__(self, options: NewDocumentState) -> None:
        self._options = options
        self._schemas = DocumentSchemas(options.as_documents)
        self._flatten = None if options.delimiter is None else FlattenChange(Flatten(delimiter=options.delimiter))
        self._of_tombstones = [(one.name, b"d") for one in options.headers if one.field == OP]
        self._known: dict[ConnectSchema, ConnectSchema] = {}

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Unwrap the events; what is none, by its key or its value, stays as it is."""
        records = ChangedRecords(batch)
        headers = batch.read_headers() if self._options.headers else ()

        def unwrap(row: int, value: Any, schema: ConnectSchema | None) -> None:
            if not self._is_change(value, schema, records.keys[row], records.key_schemas[row]):
                return
            if self._options.headers:
                made = self._of_tombstones if value is None else added_headers(self._options.headers, value, schema)
                records.set_headers(row, with_headers(headers[row], made))
            key = change.key_document(records.keys[row])
            if value is not None and schema is not None and not is_event(schema):
                return
            document = self._row(value, schema, key)
            if document is None:
                records.leave_out(row)
                return
            records.set_key(row, *self._struct(None, key))
            records.set_value(row, *self._made(document, value, schema))

        return records.each(unwrap)

    def _is_change(self, value: Any, schema: ConnectSchema | None, key: Any, key_schema: ConnectSchema | None) -> bool:
        """Return whether a record is a change: by its key; of those without schemas by its value, or a tombstone's key."""
        if key_schema is not None or schema is not None:
            return change.has_key(key_schema)
        return is_plain_event(value) if value is not None else isinstance(key, dict) and change.KEY_ID in key

    def _row(self, value: Any, schema: ConnectSchema | None, key: Document) -> Document | None:
        """Return the document that an event leaves, empty for a tombstone; None for one that is left out."""
        options = self._options
        if value is None:
            return {} if options.keeps_tombstones else None
        if schema is not None:
            required_struct(schema, "a change event")
        after = change.part(value, change.AFTER, schema)
        update = change.part(value, change.UPDATE, schema)
        is_delete = after is None and update is None
        found: Document = {}
        if is_delete and options.deletes is Deletes.DROP:
            return None
        if is_delete and options.deletes is Deletes.REWRITE:
            before = change.part(value, change.BEFORE, schema)
            found = {} if before is None else change.document_in(before, change.BEFORE)
        elif after is not None:
            found = change.document_in(after, change.AFTER)
        elif update is not None:
            change.require_update(schema)
            found = self._with_delimiter(change.updated({}, update, key, needs_fields=False))
        if options.deletes is Deletes.REWRITE:
            found[DELETED] = Bson(BsonKind.BOOLEAN, is_delete)
            if options.with_id and change.ID not in found:
                found[change.ID] = key[change.KEY_ID]
        return found

    def _with_delimiter(self, document: Document) -> Document:
        delimiter = self._options.delimiter
        return document if delimiter is None else {name.replace(".", delimiter): one for name, one in document.items()}

    def _made(self, document: Document, event: Any, schema: ConnectSchema | None) -> tuple[Any, ConnectSchema | None]:
        if not document:
            return None, None
        name = None if schema is None or schema.name is None else schema.name.removesuffix(SUFFIX)
        value, made = self._struct(name, document)
        added = added_fields(self._options.fields, event, schema)
        fields = dict(made.fields)
        for field, inner, entry in added:
            if field in fields:
                problem = f"the document has a field {field!r} already, which add.fields would add"
                raise TransformRefused(problem)
            fields[field], value[field] = inner, entry
        made = self._one(ConnectSchema(Kind.STRUCT, False, name, fields=tuple(fields.items())))
        if self._flatten is None:
            return value, made
        flat = self._flatten.typed(made)
        return flat.change(value, None), flat.schema if flat.schema is None else self._one(flat.schema)

    def _struct(self, name: str | None, document: Document) -> tuple[dict[str, Any], ConnectSchema]:
        fields = self._schemas.fields(name, document)
        schema = self._one(struct(fields, name=name))
        return struct_of(document, schema, as_documents=self._options.as_documents), schema

    def _one(self, schema: ConnectSchema) -> ConnectSchema:
        known = self._known.get(schema)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[schema] = schema
        return known


# What ``add.fields`` and ``add.headers`` add to rows and records of MongoDB.


_PLAIN: Final[dict[type, Kind]] = {str: Kind.STRING, bool: Kind.BOOLEAN, int: Kind.INT64, type(None): Kind.STRING}


def added_headers(
    references: Iterable[EventReference], event: Any, schema: ConnectSchema | None
) -> list[tuple[str, bytes | None]]:
    """Return the headers that name parts of an event; those that it has. Raises TransformRefused."""
    if schema is None:
        parts = ((one.name, value_in(one, event)) for one in references)
        return [(name, header_bytes(None, value)) for name, value in parts if value is not ABSENT]
    required_struct(schema, "add.headers")
    return [(one.name, header_bytes(one.schema, one.value(event))) for one in locate(references, schema)]


def added_fields(
    references: tuple[EventReference, ...], event: Any, schema: ConnectSchema | None
) -> Iterator[tuple[str, ConnectSchema, Any]]:
    """Yield name, schema and value of each part of an event. Raises TransformRefused where there is no such part."""
    if schema is None:
        for one in references:
            value = value_in(one, event)
            if type(value) not in _PLAIN:
                problem = f"add.fields names {one.field!r}, and the event has no text or number there"
                raise TransformRefused(problem)
            yield one.name, ConnectSchema(_PLAIN[type(value)], optional=True), value
        return
    located = {one.name: one for one in locate(references, schema)}
    for one in references:
        found = located.get(one.name)
        if found is None:
            problem = f"add.fields names {one.field!r}, which the event does not have"
            raise TransformRefused(problem)
        value = found.value(event)
        if found.schema.kind in (Kind.STRUCT, Kind.MAP):
            if value is not None:
                problem = (
                    f"add.fields names {one.field!r}, which has fields of its own, {shown(value)}: name one of these"
                )
                raise TransformRefused(problem)
            continue
        yield one.name, found.schema, value
