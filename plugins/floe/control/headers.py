"""The Kafka record headers that floe adds to the sink's events. The Java sink does not read them.

* on every event: ``floe-v``, ``floe-slice`` (plan id/index), ``floe-kind``, and of a sealed plan ``floe-mac``
* on ``DataWritten``: ``floe-part`` (``i/n``), ``floe-net``, ``floe-route``, ``floe-branch``, ``floe-spec-id``,
  ``floe-schema-id``, and of what is replaced ``floe-seen`` (dead letters that the writer knew to be rows)
* on ``DataComplete``: ``floe-ranges`` (with topic ids), ``floe-tables``, ``floe-books``,
  ``floe-lost`` (ranges accepted as lost), ``floe-revived`` (dead letters that became rows, by table),
  ``floe-resolved`` (dead letters that are resolved after the tables are committed), of a replacement ``floe-known`` (dead
  letters that were open when it was written), of a redrive ``floe-reasons`` (by error, how many records failed again), of a
  slice that a time-out has made smaller ``floe-write-ms`` (how long its write took)
* on ``StartCommit``, if the operator made decisions: ``floe-decisions``
"""

import json
from collections.abc import Mapping
from typing import Any

from floe.kafka.transactions import Headers

VERSION = "floe-v"
SLICE = "floe-slice"
KIND = "floe-kind"
PART = "floe-part"
NEW_OFFSETS = "floe-net"
ROUTE = "floe-route"
BRANCH = "floe-branch"
SPEC_ID = "floe-spec-id"
SCHEMA_ID = "floe-schema-id"
SEEN = "floe-seen"
RANGES = "floe-ranges"
TABLES = "floe-tables"
COUNTS = "floe-books"
LOST = "floe-lost"
RECOVERED = "floe-revived"
RESOLVED = "floe-resolved"
KNOWN = "floe-known"
REASONS = "floe-reasons"
WRITE_MS = "floe-write-ms"
DECISIONS = "floe-decisions"
MAC = "floe-mac"

FORMAT = "1"


def header_list(slice_id: str, kind: str, more: Mapping[str, Any] | None = None) -> Headers:
    """Build the headers of one event; values other than strings are written as compact JSON."""
    fields: dict[str, Any] = {VERSION: FORMAT, SLICE: slice_id, KIND: kind, **(more or {})}
    return [
        (name, value if isinstance(value, str) else json.dumps(value, separators=(",", ":")))
        for name, value in fields.items()
    ]


def json_header(headers: Mapping[str, str], name: str) -> Any:
    """Read one JSON header. Raises ValueError, naming it, when it is missing or malformed."""
    try:
        return json.loads(headers[name])
    except KeyError:
        msg = f"header {name} is missing"
        raise ValueError(msg) from None
    except ValueError as error:
        msg = f"header {name} is not JSON: {headers[name][:80]!r}"
        raise ValueError(msg) from error
