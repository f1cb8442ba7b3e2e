"""Destinations: the tables that a route value names, and which of them the slice writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floe.config.sections.routing import TOPIC, VALUE, Routing, topic_part
from floe.config.sections.tables import TableSettings
from floe_job.contract.dead_letter import Rejected
from floe_job.contract.task import RouteRules
from floe_job.convert.base import Converters, FieldConverter
from floe_job.exceptions import ROUTE, VALUE_CONVERTER
from floe_job.routing.key_texts import UNROUTABLE, ReadKeys
from floe_job.source.record_batch import UNREADABLE, Records

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


# Route values: the text of each record that determines its tables.


Matches = Callable[[Sequence[str]], "np.ndarray[Any, np.dtype[np.bool_]]"]


class RouteValues:
    """Reads the route values of records: from a field, a header or the key."""

    def __init__(self, routing: Routing, converters: Converters, read_keys: ReadKeys) -> None:
        """``converters``: of values. ``read_keys``: what reads keys, where they are routed by."""
        self._routing = routing
        self._field = converters.for_field(routing.path) if routing.by == "field" else None
        self._read_keys = read_keys

    def of(self, records: Records) -> tuple[Sequence[Rejected], pa.Array]:
        """Return the values as text, null where there is none, of those records that are not rejected."""
        if self._field is not None:
            return self._of_field(records, self._field)
        if self._routing.by == "key":
            return self._read_keys(records)
        return self._of_headers(records)

    def _of_field(self, records: Records, field: FieldConverter) -> tuple[Sequence[Rejected], pa.Array]:
        rejected, texts = field.read(records.content)
        return [_renamed(one, self._routing.path) for one in rejected], texts

    def _of_headers(self, records: Records) -> tuple[Sequence[Rejected], pa.Array]:
        name = self._routing.header
        texts, bad = [], []
        for index, headers in enumerate(records.all_headers()):
            if headers is None:
                bad.append(Rejected(index, ROUTE, UNREADABLE, UNROUTABLE))
                continue
            raw = _last(headers, name)
            try:
                texts.append(None if raw is None else raw.decode())
            except UnicodeDecodeError:
                bad.append(Rejected(index, ROUTE, f"the header {name!r} is not UTF-8", UNROUTABLE))
        return bad, pa.array(texts, pa.large_string())


def matcher(pattern: str) -> Matches:
    """Compile an expression that has to match a whole value.

    By Arrow's engine, or by floe's own for what that refuses (look-around, say): the time of either is linear in the values.
    """
    from floe.config.expressions.java_regex import compile_expression  # not above: few connectors have patterns

    compiled = compile_expression(pattern)
    whole = rf"\A(?:{compiled.pattern})\z"
    try:
        pc.match_substring_regex(pa.array([""]), whole)
    except pa.ArrowInvalid:
        return lambda values: np.array(compiled.matches(values), np.bool_)

    def matches(values: Sequence[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        found = pc.match_substring_regex(pa.array(values, pa.large_string()), whole)
        return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)

    return matches


def _renamed(rejected: Rejected, path: Sequence[str]) -> Rejected:
    """Reject a record whose field cannot be read as one without a route."""
    if rejected.stage == VALUE_CONVERTER:  # no value of it can be read
        return rejected
    reason = f"the route field {'.'.join(path)!r} cannot be read: {rejected.reason}"
    return Rejected(rejected.index, ROUTE, reason, UNROUTABLE)


def _last(headers: Sequence[tuple[str, bytes | None]], name: str) -> bytes | None:
    return next((value for key, value in reversed(headers) if key == name), None)


# Names of tables from route values. The rules are strict: producers choose the values, and names become paths.


MAX_CHARACTERS = 1000
"""Maximum length of a route value; a longer one names no table."""

MAX_PARTS = 6
"""Maximum number of parts in a table's name, namespaces included."""

_PART = re.compile(r"[a-z_][a-z0-9_]{0,127}")
_ONE_PART = re.compile(r"[a-z0-9_]+")
_METADATA_TABLES = frozenset(
    {
        *("all_data_files", "all_delete_files", "all_entries", "all_files", "all_manifests", "changes", "data_files"),
        *("delete_files", "entries", "files", "history", "manifests", "metadata_log_entries", "partitions"),
        *("position_deletes", "refs", "snapshots"),
    }
)


@dataclass(frozen=True)
class Unusable:
    """Why a route value names no table."""

    reason: str


def table_name(template: str, topic: str, value: str) -> str | Unusable:
    """Fill in a template; return the name of a table, in lower case, or why there is none."""
    if not value.isascii():
        return Unusable(f"its route value {value[:60]!r} has characters beyond ASCII")
    lowered = value.lower()
    if VALUE in template and template != VALUE and not _ONE_PART.fullmatch(lowered):
        return Unusable(f"its route value {value[:60]!r} is no part of a name: letters, digits and '_' make one")
    name = template.replace(TOPIC, topic_part(topic)).replace(VALUE, lowered)
    parts = name.split(".")
    if len(parts) > MAX_PARTS:
        return Unusable(f"its route value {value[:60]!r} has {len(parts)} parts, at most {MAX_PARTS} are taken")
    if len(parts) < 2:
        return Unusable(f"its route value {value[:60]!r} names no namespace: namespace.table is needed")
    wrong = next((part for part in parts if not _PART.fullmatch(part)), None)
    if wrong is not None:
        return Unusable(f"{name[:100]!r} is no table's name: {wrong[:60]!r} has other characters than a-z, 0-9 and '_'")
    if len(parts) > 2 and parts[-1] in _METADATA_TABLES:
        return Unusable(f"{name[:100]!r} is the name of a metadata table of {'.'.join(parts[:-1])[:100]!r}")
    return name


# Routes: what a task needs to route its records, and where they went.


Places = npt.NDArray[np.intp]
"""Indices of records, in ascending order."""

Destination = tuple[str, ...] | Unusable
"""The tables of a route value, or why it has none."""


@dataclass
class Routed:
    """Records by table. ``filtered``: the number that go to no table, by configuration or because another slice handles them.
    ``malformed``: what cannot be read. ``unroutable``: without a usable route value. ``places``: by table, the indices
    of its records; None for all.
    """

    tables: dict[str, Records] = field(default_factory=dict)
    places: dict[str, Places | None] = field(default_factory=dict)
    filtered: int = 0
    malformed: list[Rejected] = field(default_factory=list)
    unroutable: list[Rejected] = field(default_factory=list)
    reached: int = 0
