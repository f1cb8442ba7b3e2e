"""Destinations: the tables that a route value names, and which of them the slice writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from floe.config.sections.tables import TableSettings
from floe_job.contract.task import RouteRules
from floe_job.routing.route_values import matcher
from floe_job.routing.rules import Destination
from floe_job.routing.table_names import MAX_CHARACTERS, Unusable, table_name

TOO_LONG = "\ud800"
"""Replaces all values of more than MAX_CHARACTERS: a producer may send a value of a megabyte. It is no text of UTF-8."""

MAX_UNKNOWN = 20_000
"""Maximum number of table names that one task reports to the driver."""


class Destinations:
    """Finds the destination of each route value, once. ``known``: the tables that the task received.

    ``unknown``: the tables that the driver has to look up, in the order in which records named them.
    """

    def __init__(self, rules: RouteRules, known: Mapping[str, object]) -> None:
        self._rules = rules
        self._known = known
        self.unknown: dict[str, None] = {}
        self._found: dict[tuple[str, str | None], Destination] = {}
        self._patterns = {t: matcher(s.route_regex) for t, s in rules.tables if s.route_regex is not None}

    def of(self, topic: str, values: Sequence[str | None]) -> list[Destination]:
        """Return the destination of each of some distinct route values, whether the slice writes to it or not."""
        if len(self._found) > MAX_UNKNOWN:
            self._found.clear()
        values = [value if value is None or len(value) <= MAX_CHARACTERS else TOO_LONG for value in values]
        new = [value for value in dict.fromkeys(values) if (topic, value) not in self._found]
        if new:
            takers = [(t, s) for t, s in self._rules.tables if s.topics is None or topic in s.topics]
            texts = ["" if value is None or value == TOO_LONG else value for value in new]
            matched = {t: self._patterns[t](texts) for t, _ in takers if t in self._patterns}
            for i, value in enumerate(new):
                has_value = value is not None and value != TOO_LONG
                found = tuple(
                    t for t, s in takers if (has_value and matched[t][i] if t in matched else self._takes_all(s))
                )
                self._found[topic, value] = self._destination(topic, value, found, is_asked=bool(matched))
        return [self._found[topic, value] for value in values]

    def _destination(self, topic: str, value: str | None, found: tuple[str, ...], *, is_asked: bool) -> Destination:
        routing = self._rules.routing
        if routing.template is None and (found or not is_asked):
            return found
        if value is None and routing.is_by_value:
            return Unusable("it has no route value")
        if value == TOO_LONG:
            return Unusable(f"its route value has more than {MAX_CHARACTERS} characters")
        if routing.template is None:
            return found
        name = table_name(routing.template, topic, value or "")
        if isinstance(name, str) and name == self._rules.reserved:
            return Unusable(f"{name!r} is the table of the dead letters")
        return (name,) if isinstance(name, str) else name

    def _takes_all(self, settings: TableSettings) -> bool:
        """Return whether a table without expression takes the records of its topics."""
        return settings.topics is not None or not self._rules.routing.is_by_value

    def own(self, destination: Destination) -> Destination:
        """Return only the tables of this slice; note those that the driver has to look up."""
        if isinstance(destination, Unusable):
            return destination
        only = self._rules.only
        tables = tuple(table for table in destination if only is None or table in only)
        for table in tables:
            if (reason := self.missing(table)) is not None:
                return Unusable(reason)
        return tables

    def missing(self, table: str) -> str | None:
        """Return why a table does not exist, once the driver has looked. Until then it is noted for the driver."""
        if table in self._known:
            return None
        if self._rules.closed is not None:
            return f"table {table!r} {self._rules.closed}"
        if len(self.unknown) >= MAX_UNKNOWN:
            return f"table {table!r} is one of more than {MAX_UNKNOWN} new ones"
        self.unknown[table] = None
        return None
