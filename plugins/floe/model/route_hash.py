"""Hashes of what decides which rows of a topic reach which table."""

import hashlib
import json
from collections.abc import Iterable, Mapping

MAIN_BRANCH = "main"

ALL_ROWS = "all"
"""The rule of a table that gets every row of a topic."""

KAFKA_CONNECT_ROUTE = "java"
"""Route hash of the rows that a Kafka Connect sink wrote before the takeover; floe cannot determine which rows these are."""


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def route_hash(topic: str, branch: str | None, rows: object = ALL_ROWS) -> str:
    """Hash the route of one topic's rows into one table: topic, routing rule, branch.

    ``rows``: the rule as JSON, ``ALL_ROWS`` where there is none, see ``Connector.route_rule``.
    """
    return branch_route(_digest({"topic": topic, "rows": rows, "branch": MAIN_BRANCH}), branch)


def branch_route(route: str, branch: str | None) -> str:
    """Return the hash on a branch for a route hash of main; the hash of the sink's rows is the same on all branches."""
    if branch in (None, MAIN_BRANCH) or route == KAFKA_CONNECT_ROUTE:
        return route
    return _digest({"route": route, "branch": branch})


def moved_route(route: str, was: str, branch: str, known: Iterable[str]) -> str:
    """Return the hash on another branch for a route hash of the branch ``was``.

    A hash cannot be inverted. For a branch other than main, main's ``known`` hashes are tried. If none matches, the hash
    is returned unchanged.
    """
    if was == branch:
        return route
    of_main = {branch_route(one, was): one for one in known}
    return branch_route(of_main[route], branch) if route in of_main else route


def routing_hash(routes: Mapping[str, str]) -> str:
    """Hash the routing of one topic over all tables of a connector, from their route hashes; positions contain it."""
    return _digest({"tables": dict(routes)})
