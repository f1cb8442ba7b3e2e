"""Events as Java and floe wrote them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, settings

from floe.control.wire.avro_schema import to_modified_utf8
from floe.control.wire.codec import HEAD, MAGIC, encode
from floe.control.wire.events import Event, Payload
from tests.support.repository import ROOT

GOLDENS = sorted((ROOT / "tests/unit/control/wire/goldens").glob("*.event"))
ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
NOON = datetime(2024, 1, 2, 12, tzinfo=UTC)
thoroughly = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def event_of(payload: Payload) -> Event:
    """Return an event of a connector of the sink."""
    return Event(ID, NOON, "connect-sink", payload)


def framed(schema: object, body: bytes = b"") -> bytes:
    """Return a message: magic, the schema with its length, the body."""
    header = to_modified_utf8(schema if isinstance(schema, str) else json.dumps(schema))
    return HEAD.pack(MAGIC, len(header)) + header + body


def schema_of(event: Event) -> dict[str, Any]:
    """Return the schema in front of an event."""
    data = encode(event)
    schema: dict[str, Any] = json.loads(data[4 : 4 + HEAD.unpack_from(data)[1]])
    return schema


def body_of(event: Event) -> bytes:
    """Return an event's bytes behind its schema."""
    data = encode(event)
    return data[4 + HEAD.unpack_from(data)[1] :]
