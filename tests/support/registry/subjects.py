"""Registering schemas through a registry's Confluent API."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from urllib.parse import quote


def register(
    url: str, subject: str, schema: str, schema_type: str = "AVRO", references: Mapping[str, str] | None = None
) -> int:
    """Register a schema and return its id. ``references``: the subject of each name that it refers to, in version 1."""
    named = [{"name": name, "subject": where, "version": 1} for name, where in (references or {}).items()]
    body = {"schema": schema, "schemaType": schema_type, "references": named}
    request = urllib.request.Request(  # noqa: S310 - http, on loopback
        f"{url}/subjects/{quote(subject, safe='')}/versions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return int(json.load(answer)["id"])
