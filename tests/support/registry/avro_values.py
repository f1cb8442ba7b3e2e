"""Avro records as producers with a registry write them."""

from __future__ import annotations

import io
from typing import Any

import fastavro


def datum(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    """Write a record without its frame."""
    written = io.BytesIO()
    fastavro.schemaless_writer(written, fastavro.parse_schema(schema), record)
    return written.getvalue()


def framed(schema_id: int, value: bytes, nbytes: int = 4) -> bytes:
    """Put the magic byte and the id of a schema before a value."""
    return b"\x00" + schema_id.to_bytes(nbytes, "big") + value


def record_schema(name: str, **fields: Any) -> dict[str, Any]:
    """Return the schema of a record: the type of each field."""
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}
