"""Registering schemas through a registry's Confluent API, and through Apicurio's own."""

from __future__ import annotations

import json
import urllib.request

from stack.subjects import register

__all__ = ["register", "register_artifact"]


def register_artifact(url: str, name: str, schema: str, schema_type: str = "AVRO") -> tuple[int, int]:
    """Register a schema through Apicurio's own API (``url``: of the server); return its global id and its content id."""
    request = urllib.request.Request(  # noqa: S310 - http, on loopback
        f"{url}/apis/registry/v2/groups/default/artifacts",
        schema.encode(),
        {"Content-Type": "application/json", "X-Registry-ArtifactId": name, "X-Registry-ArtifactType": schema_type},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        found = json.load(answer)
    return int(found["globalId"]), int(found["contentId"])
