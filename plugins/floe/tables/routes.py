"""A connector's routes: which rows of a topic reach which table, on which branch, as hashes."""

from collections.abc import Iterable

from floe.config import Connector
from floe.model.route_hash import MAIN_BRANCH, route_hash, routing_hash

EVERY_TABLE = "*"
"""Placeholder for the tables that records name, in the hash of a topic's routing."""


DEAD_LETTERS = "dead letters"
"""The rule of the dead-letter table, whatever the routing is."""


class Routes:
    """The routes of one connector, as it is configured now."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    def branch(self, table: str) -> str:
        """Return the branch that a table is written on."""
        return self._connector.table(table).branch or MAIN_BRANCH

    def route(self, topic: str, table: str) -> str:
        """Return the hash of one topic's way into one table."""
        return self.on_branch(topic, table, self.branch(table))

    def on_branch(self, topic: str, table: str, branch: str) -> str:
        """Return what that hash would be on another branch."""
        if table == self._connector.errors.table:
            return route_hash(topic, branch, DEAD_LETTERS)
        return route_hash(topic, branch, self._connector.route_rule(table, topic))

    def of(self, table: str, topics: Iterable[str]) -> dict[str, str]:
        """Return one table's route hash per topic."""
        return {topic: self.route(topic, table) for topic in topics}

    def routing(self, topic: str) -> str:
        """Return the hash of a topic's routing over all tables."""
        routes = {table: self.route(topic, table) for table in self._connector.tables}
        if self._connector.routing.is_dynamic:
            every = self.route(topic, EVERY_TABLE)
            known = [table for table, _ in self._connector.settings.known]
            others = {table: route for table in known if (route := self.route(topic, table)) != every}
            routes = {EVERY_TABLE: every, **others}
        return routing_hash(routes)
