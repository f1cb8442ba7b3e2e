"""Routing: which tables each record goes to."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.offsets import Intervals
from floe_job.contract.dead_letter import Rejected
from floe_job.contract.task import RouteRules
from floe_job.convert.base import Converters
from floe_job.exceptions import ROUTE
from floe_job.routing.destinations import Destination, Destinations, Places, Routed, RouteValues, Unusable
from floe_job.routing.key_texts import TEXT_KEYS, UNROUTABLE, ReadKeys
from floe_job.source.record_batch import Records

NOWHERE = -1
"""In the place of a destination's number, of a record that was rejected before."""


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
        self._destinations = Destinations(rules, known)
        self._values = RouteValues(rules.routing, converters, read_keys)

    @property
    def unknown(self) -> Mapping[str, None]:
        """The tables that the driver has to look up."""
        return self._destinations.unknown

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
            if not own or self._destinations.missing(table) is not None:
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
            destinations = self._destinations.of(records.topic, [None])
            self._deliver(routed, destinations, np.zeros(len(records), np.intp))
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
        destinations = self._destinations.of(topic, encoded.dictionary.to_pylist())
        codes = np.full(len(records), NOWHERE)
        codes[np.delete(np.arange(len(records)), [one.index for one in rejected])] = encoded.indices.to_numpy(
            zero_copy_only=False
        )
        if unreadable:  # tables that require no value get them anyway
            (whole,) = self._destinations.of(topic, [None])
            if isinstance(whole, Unusable) or not whole:
                routed.unroutable = list(unreadable)
            else:
                codes[[one.index for one in unreadable]] = len(destinations)
                destinations.append(whole)
        self._deliver(routed, destinations, codes)
        routed.unroutable.sort(key=lambda one: one.index)
        if not self._rules.rejects_records:
            routed.filtered += len(routed.malformed) + len(routed.unroutable)
            routed.malformed, routed.unroutable = [], []
        return routed

    def _deliver(self, routed: Routed, destinations: Sequence[Destination], codes: Places) -> None:
        """Find the places of each table. ``codes``: of each record the number of its destination, or NOWHERE."""
        codes_of: dict[str, list[int]] = {}
        by_code = _ByCode(codes, len(destinations))
        for code, destination in enumerate(destinations):
            tables = self._destinations.own(destination)
            if isinstance(tables, Unusable):
                places = by_code.places([code]).tolist()
                routed.unroutable += [Rejected(i, ROUTE, tables.reason, UNROUTABLE) for i in places]
            elif not tables:
                routed.filtered += by_code.count(code)
            else:
                routed.reached += by_code.count(code)
                for table in tables:
                    codes_of.setdefault(table, []).append(code)
        for table, own in codes_of.items():
            if len(own) == len(destinations) and not by_code.count(NOWHERE):
                routed.places[table] = None
            elif len(places_of_table := by_code.places(own)):
                routed.places[table] = places_of_table


class _ByCode:
    """The places of each code from NOWHERE on, sorted once: a search for each code would cost as many passes as there are."""

    def __init__(self, codes: Places, count: int) -> None:
        self._order = np.argsort(codes, kind="stable")
        self._bounds = np.concatenate(([0], np.cumsum(np.bincount(codes - NOWHERE, minlength=count + 1))))

    def count(self, code: int) -> int:
        start, end = self._span(code)
        return end - start

    def places(self, codes: Sequence[int]) -> Places:
        """Return the places that have one of some codes, in ascending order."""
        found = [self._order[slice(*self._span(code))] for code in codes]
        return found[0] if len(found) == 1 else np.sort(np.concatenate(found))

    def _span(self, code: int) -> tuple[int, int]:
        return int(self._bounds[code - NOWHERE]), int(self._bounds[code - NOWHERE + 1])


def _indices(records: Records, offsets: Intervals) -> list[int]:
    """Return which of the records have one of the offsets."""
    near = offsets & Intervals(((records.offsets[0], records.offsets[-1] + 1),))
    return [i for i, offset in enumerate(records.offsets) if near.has(offset)] if near else []


def _placed(rejected: Sequence[Rejected], indices: Sequence[int], reached: Container[int]) -> list[Rejected]:
    """Return what was rejected of some records by its index among all, without what reached a table."""
    placed = [replace(one, index=indices[one.index]) for one in rejected]
    return [one for one in placed if one.index not in reached]
