"""Hashes of what decides which rows of a topic reach which table."""

import hashlib
import json
from collections.abc import Iterable

MAIN_BRANCH = "main"

SINK_ROUTE = "java"
"""Route hash of what a Kafka Connect sink wrote before floe took over: which rows those were, floe does not know."""


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def route_hash(topic: str, branch: str | None) -> str:
    """Hash the way of one topic's rows into one table: topic, routing, transforms, branch.

    Every row of the topic goes there today; routing and transforms join the hash when they are built.
    """
    return _digest({"topic": topic, "rows": "all", "branch": branch or MAIN_BRANCH})


def routing_hash(topic: str, tables: Iterable[str], branch: str | None) -> str:
    """Hash the routing of one topic over all tables of a connector; a position carries it."""
    return _digest({"tables": {table: route_hash(topic, branch) for table in tables}})
