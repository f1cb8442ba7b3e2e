"""Stamps in Avro, each behind the id of its schema, as serializers with a schema registry write them.

Written and read by fastavro; nothing of floe's is used.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import fastavro

from tests.faults.oracle.stamps import BROKEN, COLUMNS, Stamp, check_stamp, checksum

OPTIONAL = {"n": "long", "to": "string", "note": "string"}
"""The fields beside the stamp, which may be null."""

FRAME = 5
"""Bytes before a value: a magic byte and the id."""


def schema_text(**more: str) -> str:
    """Return the schema of stamped records; ``more``: the types of further fields, or other types of the optional ones."""
    whole = {name: "long" if name in ("seq", "crc") else "string" for name in COLUMNS}
    optional = [{"name": n, "type": ["null", kind], "default": None} for n, kind in {**OPTIONAL, **more}.items()]
    fields = [{"name": name, "type": kind} for name, kind in whole.items()]
    return json.dumps({"type": "record", "name": "Stamped", "fields": [*fields, *optional]})


class AvroStamps:
    """Values of Avro. ``register`` takes the text of a schema to a registry and returns its id."""

    def __init__(self, register: Callable[[str], int]) -> None:
        self._register = register
        self._schemas: dict[int, Any] = {}
        self.current = self.add()

    def add(self, **more: str) -> int:
        """Register a schema, with which records are written from now on, and return its id."""
        self.current = self.register(**more)
        return self.current

    def register(self, **more: str) -> int:
        """Register a schema and return its id."""
        text = schema_text(**more)
        schema_id = self._register(text)
        self._schemas[schema_id] = fastavro.parse_schema(json.loads(text))
        return schema_id

    def write(self, stamp: Stamp, pad: str, more: Mapping[str, Any] | None = None) -> bytes:
        return self.encode({**stamp._asdict(), "pad": pad, "crc": checksum(stamp, pad), **(more or {})})

    def encode(self, record: Mapping[str, Any], schema_id: int | None = None) -> bytes:
        """Write a record with a schema, the current one unless given; fields that the schema lacks are left out."""
        schema_id = schema_id or self.current
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, self._schemas[schema_id], dict(record))
        return b"\0" + schema_id.to_bytes(FRAME - 1, "big") + stream.getvalue()

    def read(self, value: bytes) -> Stamp:
        schema = self._schemas.get(int.from_bytes(value[1:FRAME], "big"))
        if schema is None or value[:1] != b"\0":
            return BROKEN
        stream = io.BytesIO(value[FRAME:])
        try:
            record = fastavro.schemaless_reader(stream, schema, None)
            assert isinstance(record, dict)
            return BROKEN if stream.read(1) else check_stamp(*(record[name] for name in COLUMNS))
        except (ValueError, KeyError, TypeError, IndexError, EOFError, AssertionError):
            return BROKEN
