"""Registering schemas through a registry's Confluent API, as a producer does."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from urllib.parse import quote

from stack.exceptions import StackError


def register(
    url: str, subject: str, schema: str, schema_type: str = "AVRO", references: Mapping[str, str] | None = None
) -> int:
    """Register a schema and return its id; the same schema again has the same id.

    ``references``: the subject of each name that it refers to, in version 1. Raises StackError.
    """
    named = [{"name": name, "subject": where, "version": 1} for name, where in (references or {}).items()]
    body = {"schema": schema, "schemaType": schema_type, "references": named}
    request = urllib.request.Request(  # noqa: S310 - http, on loopback
        f"{url}/subjects/{quote(subject, safe='')}/versions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return int(json.load(answer)["id"])
    except urllib.error.HTTPError as error:
        said = error.read(500).decode(errors="replace")
        message = f"the registry at {url} did not take the schema of {subject!r}: HTTP {error.code}, {said}"
        raise StackError(message) from error
    except OSError as error:
        message = f"the registry at {url} does not answer: {error}"
        raise StackError(message) from error
