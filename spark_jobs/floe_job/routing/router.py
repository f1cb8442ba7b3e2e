"""Routing: which tables each record goes to."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from floe.config.sections.tables import TableSettings
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe_job.contract.rejected_record import Rejected
from floe_job.contract.task import RouteRules
from floe_job.convert.base import Converters
from floe_job.routing.key_texts import TEXT_KEYS, UNROUTABLE, ReadKeys
from floe_job.routing.route_values import RouteValues, matcher
from floe_job.routing.rules import Destination, Places, Routed
from floe_job.routing.table_names import MAX_CHARACTERS, Unusable, table_name
from floe_job.source.record_batch import Records
from floe_job.stages import ROUTE

TOO_LONG = "\ud800"
"""Replaces all values of more than MAX_CHARACTERS: a producer may send a value of a megabyte. It is no text of UTF-8."""

NOWHERE = -1

MAX_UNKNOWN = 20_000
"""Maximum number of table names that one task reports to the driver."""


class Router:
    """Routes the records of one task. ``known``: the tables that the task received. ``converters``: of values.

    ``read_keys``: what reads keys, where they are routed by; by default as text.
    """

    def __init__(
        self,
        rules: RouteRules,
        known: Mapping[str, object],
        converters: Converters,
        read_keys: ReadKeys = TEXT_KEYS,
    ) -> None:
        self._rules = rules
        self._known = known
        self.unknown: dict[str, None] = {}
        self._found: dict[tuple[str, str | None], Destination] = {}
        self._patterns = {t: matcher(s.route_regex) for t, s in rules.tables if s.route_regex is not None}
        self._values = RouteValues(rules.routing, converters, read_keys)

    def route(self, records: Records) -> Routed:
        """Find the tables of each record; none of the values is None."""
        return self._route(records) if self._rules.redriven is None else self._redrive(records, self._rules.redriven)

    def relevant(self, records: Records) -> Records:
        """Return the records that this slice handles: in a redrive, those with dead letters."""
        dead_letters = self._rules.redriven
        if dead_letters is None:
            return records
        log_id = LogId.of(records.part.range)
        offsets = dead_letters.at(None, log_id)
        for table in dead_letters.tables:
            offsets = offsets | dead_letters.at(table, log_id)
        return records.select(_indices(records, offsets))

    def _redrive(self, records: Records, dead_letters: DeadLetterOffsets) -> Routed:
        """Pass records to the tables that refused them, and route again those that were refused before routing."""
        log_id = LogId.of(records.part.range)
        unrouted = _indices(records, dead_letters.at(None, log_id))
        routed = self._route(records.select(unrouted)) if unrouted else Routed()
        places = {
            table: unrouted if found is None else [unrouted[i] for i in found.tolist()]
            for table, found in routed.places.items()
        }
        for table in dead_letters.tables:
            own = set(_indices(records, dead_letters.at(table, log_id)))
            if not own or (table not in self._known and self._unexpected(table) is not None):
                continue  # its dead letters do not change
            places[table] = sorted(own.union(places.get(table, ())))
        routed.tables = {table: records.select(found) for table, found in places.items()}
        reached = {i for found in places.values() for i in found}
        # a record that reached a table anyway has a dead letter of that table, not one of no table
        routed.malformed = _placed(routed.malformed, unrouted, reached)
        routed.unroutable = sorted(_placed(routed.unroutable, unrouted, reached), key=lambda one: one.index)
        routed.reached = len(reached)
        routed.filtered = len(records) - len(reached) - len(routed.malformed) - len(routed.unroutable)
        return routed

    def _route(self, records: Records) -> Routed:
        if self._rules.routing.is_by_value:
            rejected, values = self._values.of(records)
            routed = self.spread(records, values, rejected)
        else:
            routed = Routed()
            (destination,) = self._destinations(records.topic, [None])
            self._deliver(routed, len(records), [destination], None, np.zeros(len(records), np.intp))
        routed.tables = {
            table: records if places is None else records.select(places.tolist())
            for table, places in routed.places.items()
        }
        return routed

    def spread(self, records: Records, values: pa.Array, rejected: Sequence[Rejected] = ()) -> Routed:
        """Find the places of records by their route values: of all records but those that were rejected."""
        routed, topic = Routed(), records.topic
        routed.malformed = [one for one in rejected if one.stage != ROUTE]
        unreadable = [one for one in rejected if one.stage == ROUTE]
        encoded: pa.DictionaryArray = values.dictionary_encode(null_encoding="encode")
        destinations = self._destinations(topic, encoded.dictionary.to_pylist())
        codes = np.full(len(records), NOWHERE)
        codes[np.delete(np.arange(len(records)), [one.index for one in rejected])] = encoded.indices.to_numpy(
            zero_copy_only=False
        )
        if unreadable:  # tables that require no value get them anyway
            (whole,) = self._destinations(topic, [None])
            if isinstance(whole, Unusable) or not whole:
                routed.unroutable = list(unreadable)
            else:
                codes[[one.index for one in unreadable]] = len(destinations)
                destinations.append(whole)
        kept = np.flatnonzero(codes != NOWHERE)
        self._deliver(routed, len(records), destinations, kept, codes[kept])
        routed.unroutable.sort(key=lambda one: one.index)
        if not self._rules.rejects_records:
            routed.filtered += len(routed.malformed) + len(routed.unroutable)
            routed.malformed, routed.unroutable = [], []
        return routed

    def _deliver(
        self, routed: Routed, count: int, destinations: Sequence[Destination], kept: Places | None, codes: Places
    ) -> None:
        """Find the places of each table: the record ``kept[i]`` has the destination ``codes[i]``; all ``count`` if None."""
        codes_of: dict[str, list[int]] = {}
        by_code = _Places(codes, len(destinations))
        for code, destination in enumerate(destinations):
            tables = self._own(destination)
            if isinstance(tables, Unusable):
                places = by_code.of([code]) if kept is None else kept[by_code.of([code])]
                routed.unroutable += [Rejected(i, ROUTE, tables.reason, UNROUTABLE) for i in places.tolist()]
            elif not tables:
                routed.filtered += by_code.count(code)
            else:
                routed.reached += by_code.count(code)
                for table in tables:
                    codes_of.setdefault(table, []).append(code)
        for table, own in codes_of.items():
            if len(own) == len(destinations) and (kept is None or len(kept) == count):
                routed.places[table] = None
                continue
            places = by_code.of(own) if kept is None else kept[by_code.of(own)]
            if len(places):
                routed.places[table] = places

    # -- destinations -------------------------------------------------------------------------------------------------

    def _destinations(self, topic: str, values: Sequence[str | None]) -> list[Destination]:
        """Return the destination of each of some distinct route values."""
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

    def _own(self, destination: Destination) -> Destination:
        """Return only the tables of this slice; report unknown ones to the driver."""
        if isinstance(destination, Unusable):
            return destination
        only = self._rules.only
        tables = tuple(table for table in destination if only is None or table in only)
        for table in tables:
            if table not in self._known and (reason := self._unexpected(table)) is not None:
                return Unusable(reason)
        return tables

    def _unexpected(self, table: str) -> str | None:
        """Note a table that the driver has to look up. Once the driver has looked, return why the table does not exist."""
        if self._rules.closed is not None:
            return f"table {table!r} {self._rules.closed}"
        if len(self.unknown) >= MAX_UNKNOWN:
            return f"table {table!r} is one of more than {MAX_UNKNOWN} new ones"
        self.unknown[table] = None
        return None


class _Places:
    """The places of each code, sorted once: the cost of searching for each code separately grows with their number."""

    def __init__(self, codes: Places, count: int) -> None:
        self._order = np.argsort(codes, kind="stable")
        self._ends = np.cumsum(np.bincount(codes, minlength=count))

    def count(self, code: int) -> int:
        return int(self._ends[code]) - self._start(code)

    def of(self, codes: Sequence[int]) -> Places:
        """Return the places that have one of some codes, in ascending order."""
        found = [self._order[self._start(code) : self._ends[code]] for code in codes]
        return found[0] if len(found) == 1 else np.sort(np.concatenate(found))

    def _start(self, code: int) -> int:
        return int(self._ends[code - 1]) if code else 0


def _indices(records: Records, offsets: Intervals) -> list[int]:
    """Return which of the records have one of the offsets."""
    near = offsets & Intervals(((records.offsets[0], records.offsets[-1] + 1),))
    return [i for i, offset in enumerate(records.offsets) if near.has(offset)] if near else []


def _placed(rejected: Sequence[Rejected], indices: Sequence[int], reached: Container[int]) -> list[Rejected]:
    """Return what was rejected of some records by its index among all, without what reached a table."""
    placed = [replace(one, index=indices[one.index]) for one in rejected]
    return [one for one in placed if one.index not in reached]
