"""The parts of a change event of MongoDB that hold documents."""

from __future__ import annotations

from typing import Any, Final

from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.documents.extended_json import Document, parse_document
from floe_job.transform.struct_fields import shown

AFTER, BEFORE, UPDATE = "after", "before", "updateDescription"
UPDATED, REMOVED = "updatedFields", "removedFields"
ID, KEY_ID = "_id", "id"

KEY_SUFFIX: Final = ".Key"
"""How the schemas of keys are named at the end."""


def has_key(schema: ConnectSchema | None) -> bool:
    """Return whether a key is that of a change event, by its schema."""
    return schema is not None and schema.name is not None and schema.name.endswith(KEY_SUFFIX)


def key_document(key: Any) -> Document:
    """Return the key as a document with the field ``id``. Raises TransformRefused."""
    identity = key.get(KEY_ID) if isinstance(key, dict) else None
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        problem = f"the key of the record has no {KEY_ID!r} in Extended JSON, but is {shown(key)}"
        raise TransformRefused(problem)
    return parse_document(f'{{ "{KEY_ID}" : {identity}}}')


def part(event: dict[str, Any], name: str, schema: ConnectSchema | None) -> Any:
    """Return a field of an event, which one with a schema must have. Raises TransformRefused."""
    if schema is not None and name not in dict(schema.fields):
        problem = f"the event has no field {name!r}"
        raise TransformRefused(problem)
    return event.get(name)


def document_in(value: Any, name: str) -> Document:
    """Return the document in a field of an event. Raises TransformRefused."""
    if not isinstance(value, str):
        problem = f"{name!r} of the event is no text with a document, but {shown(value)}"
        raise TransformRefused(problem)
    return parse_document(value)


def updated(document: Document, update: Any, key: Document, *, needs_fields: bool) -> Document:
    """Return a document with the changes of an update, and the id of its key if it has none. Raises TransformRefused.

    ``needs_fields``: an update that says of no field what it is now is refused.
    """
    if not isinstance(update, dict):
        problem = f"{UPDATE!r} of the event is no struct, but {shown(update)}"
        raise TransformRefused(problem)
    fields, removed = update.get(UPDATED), update.get(REMOVED)
    found = dict(document)
    if fields is not None or needs_fields:
        found |= document_in(fields, UPDATED)
    for name in removed or ():
        found.pop(name, None)
    if ID not in found:
        found[ID] = key[KEY_ID]
    return found


def require_update(schema: ConnectSchema | None) -> None:
    """Raise TransformRefused unless an event's schema has what an update says. ``schema``: of the event."""
    found = None if schema is None else dict(schema.fields).get(UPDATE)
    if schema is None:
        return
    kinds = {name: one.kind for name, one in found.fields} if found is not None else {}
    if kinds.get(UPDATED) is not Kind.STRING or kinds.get(REMOVED) is not Kind.ARRAY:
        problem = f"{UPDATE!r} of the event has no text {UPDATED!r} and array {REMOVED!r}"
        raise TransformRefused(problem)
