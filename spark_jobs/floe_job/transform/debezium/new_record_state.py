"""Debezium's ExtractNewRecordState: rows out of change events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from floe.config.transforms.debezium import Deletes, NewRecordState
from floe.config.transforms.kafka_fields import ReplaceField
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.base import Places, TypedPart
from floe_job.convert.typed.python_values import python_values
from floe_job.convert.typed.whole_values import TypedColumns
from floe_job.exceptions import TransformRefused
from floe_job.source.messages import Headers
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.debezium.event import (
    AFTER,
    BEFORE,
    OP,
    Outcome,
    StateRows,
    TypedEvents,
    header_bytes,
    is_event,
    is_plain_event,
    plain_outcome,
    routed,
)
from floe_job.transform.kafka.fields import ReplaceFieldChange
from floe_job.transform.struct_fields import required_struct, shown
from floe_job.transform.value_change import ChangedRecords, with_headers

MAX_KNOWN = 1000
"""Schemas whose change is kept: a topic with more has others compiled again."""


class NewRecordStates:
    """Takes the state after each change out of its event, or what is asked for of deletes: a ``RecordTransform``."""

    def __init__(self, options: NewRecordState) -> None:
        self._options = options
        self._known: dict[int, tuple[ConnectSchema, TypedEvents | TransformRefused | None]] = {}
        codes = [one.name for one in options.headers if one.field == OP]
        self._of_tombstones = tuple((name, b"d") for name in codes)

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Unwrap the events; what is none stays as it is."""
        if isinstance(batch.values, TypedColumns):
            made = self._as_columns(batch, batch.values)
            if made is not None:
                return made
            batch = batch.with_objects()
        return self._one_by_one(batch)

    # -- as columns ---------------------------------------------------------------------------------------------------

    def _as_columns(self, batch: ParsedBatch, values: TypedColumns) -> ParsedBatch | None:
        if values.schemaless is not None or self._options.drop_header:
            return None
        found = ColumnOutcomes(np.ones(len(batch), np.bool_) if self._options.keeps_tombstones else values.present)
        try:
            for part in values.parts:
                events = self._events(part.schema)
                if events is None:
                    found.parts.append(part)
                elif not unwrap(self._options, events, part, found):
                    return None
        except TransformRefused:  # each record is refused with this reason, one by one
            return None
        if self._of_tombstones and self._options.keeps_tombstones:
            found.headers |= {row: list(self._of_tombstones) for row in np.flatnonzero(~values.present).tolist()}
        return self._columns_changed(batch, found)

    def _columns_changed(self, batch: ParsedBatch, found: ColumnOutcomes) -> ParsedBatch | None:
        changes: dict[str, Any] = {"values": TypedColumns(len(batch), ())}
        if found.topics:
            changes["topics"] = [found.topics.get(row, own) for row, own in enumerate(batch.read_topics())]
        if found.headers:
            headers = batch.read_headers()
            if any(headers[row] is None for row in found.headers):
                return None
            changes["headers"] = [
                with_headers(own, found.headers[row]) if row in found.headers else own
                for row, own in enumerate(headers)
            ]
        landing = np.cumsum(found.kept) - 1
        parts = [TypedPart(part.schema, landing[part.places], part.column) for part in found.parts]
        kept = batch.changed(**changes).filter(found.kept)  # type: ignore[arg-type]
        return kept.changed(values=TypedColumns(len(kept), parts))

    # -- one by one ---------------------------------------------------------------------------------------------------

    def _one_by_one(self, batch: ParsedBatch) -> ParsedBatch:
        records = ChangedRecords(batch)
        headers = batch.read_headers() if self._options.headers or self._options.drop_header else ()

        def change(row: int, value: Any, schema: ConnectSchema | None) -> None:
            outcome = self._outcome(value, schema)
            if outcome is None:
                records.leave_out(row)
                return
            if outcome.headers:
                records.set_headers(row, with_headers(headers[row], outcome.headers))
            if outcome.is_change and self._options.drop_header:
                names = dropped_names(self._options, [*(headers[row] or ()), *outcome.headers])
                outcome = leave_out_fields(self._options, names, records, row, outcome) if names else outcome
            records.set_value(row, outcome.value, outcome.schema)
            if outcome.topic is not None:
                records.set_topic(row, outcome.topic)

        return records.each(change)

    def _outcome(self, value: Any, schema: ConnectSchema | None) -> Outcome | None:
        if value is None:
            return Outcome(None, None, None, self._of_tombstones) if self._options.keeps_tombstones else None
        if schema is None:
            return plain_outcome(self._options, value) if is_plain_event(value) else Outcome(value)
        events = self._events(schema)
        return Outcome(value, schema) if events is None else events.outcome(value)

    def _events(self, schema: ConnectSchema) -> TypedEvents | None:
        """Return what becomes of the events of a schema; None if it has none. Raises TransformRefused."""
        known = self._known.get(id(schema))
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[id(schema)] = (schema, self._compiled(schema))
        if isinstance(known[1], TransformRefused):
            raise known[1]
        return known[1]

    def _compiled(self, schema: ConnectSchema) -> TypedEvents | TransformRefused | None:
        if not is_event(schema):
            return None
        try:
            return TypedEvents(self._options, schema)
        except TransformRefused as error:
            return error


# Change events with a schema as columns: rows are taken out of them without an object for each.


Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass
class ColumnOutcomes:
    """What becomes of the events of a batch. ``kept``: which records stay; ``topics``, ``headers``: by place, where new."""

    kept: Mask
    parts: list[TypedPart] = field(default_factory=list)
    topics: dict[int, str] = field(default_factory=dict)
    headers: dict[int, list[tuple[str, bytes | None]]] = field(default_factory=dict)


def unwrap(options: NewRecordState, events: TypedEvents, part: TypedPart, found: ColumnOutcomes) -> bool:
    """Note what becomes of the events of a part; False where they have to be seen one by one.

    Raises TransformRefused where some are refused: they have to be seen one by one too.
    """
    for one in events.headers:
        values = python_values(one.column(part.column), one.schema)
        for place, value in zip(part.places.tolist(), values, strict=True):
            found.headers.setdefault(place, []).append((one.name, header_bytes(one.schema, value)))
    after = part.column.field(AFTER)
    if not after.null_count:
        return _written(options, events, part, AFTER, None, found)
    if BEFORE not in events.fields:
        return False
    is_live = _valid(after)
    is_dead = ~is_live & _valid(part.column.field(BEFORE))
    gone = ~is_live & ~is_dead if options.deletes is not Deletes.DROP else ~is_live
    found.kept[part.places[gone]] = False
    if is_live.any() and not _written(options, events, part, AFTER, is_live, found):
        return False
    if options.deletes is Deletes.DROP or not is_dead.any():
        return True
    if options.deletes is Deletes.REWRITE:
        return _written(options, events, part, BEFORE, is_dead, found)
    if options.route_by:
        events.require_route(BEFORE)
        _route(options, part.column.field(BEFORE).field(options.route_by), part.places, is_dead, found)
    return True


def _written(
    options: NewRecordState, events: TypedEvents, part: TypedPart, state: str, mask: Mask | None, found: ColumnOutcomes
) -> bool:
    """Note the rows of a state; ``mask``: where there are some."""
    rows = events.rows(state)
    if options.route_by:
        events.require_route(state)
        if options.route_by not in rows.names:
            return False
    chosen = None if mask is None else pa.array(mask)
    column = _rows_of(rows, part.column, part.column.field(state), chosen)
    if column is None:
        return False
    places = part.places if mask is None else part.places[mask]
    found.parts.append(TypedPart(rows.schema, places, column))
    if options.route_by:
        _route(options, column.field(options.route_by), places, None, found)
    return True


def _rows_of(
    rows: StateRows, events: pa.StructArray, state: pa.StructArray, chosen: pa.Array | None
) -> pa.Array | None:
    def some(column: pa.Array) -> pa.Array:
        return column if chosen is None else column.filter(chosen)

    own = some(state)
    absent = (some(one.column(events)) for one in rows.absent)
    if any(column.null_count < len(column) for column in absent):
        return None
    if any(own.field(name).null_count for name in rows.defaults):
        return None
    columns = [own.field(index) for index in range(len(rows.names))]
    if rows.flag is not None:
        columns.append(pa.repeat(pa.scalar(rows.flag, pa.large_string()), len(own)))
    columns += [some(one.column(events)) for one in rows.added]
    if not columns:
        return None
    names = [name for name, _ in rows.schema.fields]
    fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _route(options: NewRecordState, column: pa.Array, places: Places, mask: Mask | None, found: ColumnOutcomes) -> None:
    texts: Sequence[Any] = column.to_pylist()
    for row, (place, text) in enumerate(zip(places.tolist(), texts, strict=True)):
        topic = routed(text) if mask is None or mask[row] else None
        if topic is not None:
            found.topics[place] = topic


def _valid(column: pa.Array) -> Mask:
    found: Mask = column.is_valid().to_numpy(zero_copy_only=False)
    return found


# Fields that a header of the record names, and that are left out of its value and its key.


def dropped_names(options: NewRecordState, headers: Headers) -> list[Any]:
    """Return the names in the header; none without it. Raises TransformRefused for a header that is no list."""
    given = next((value for name, value in headers if name == options.drop_header), None)
    if given is None:
        return []
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        found = given
    if found is None:
        return []
    if not isinstance(found, list):
        problem = f"the header {shown(options.drop_header)} is no list of fields to leave out, but {shown(given)}"
        raise TransformRefused(problem)
    return found


def leave_out_fields(
    options: NewRecordState, names: Sequence[Any], records: ChangedRecords, row: int, outcome: Outcome
) -> Outcome:
    """Leave fields out of a record's key, if they are to be, and out of what becomes of it. Raises TransformRefused."""
    if options.reads_keys and records.keys[row] is not None:
        records.set_key(row, *_without(options, names, records.keys[row], records.key_schemas[row]))
    left = [name for name in names if name not in outcome.fixed]
    value, schema = _without(options, left, outcome.value, outcome.schema)
    return replace(outcome, value=value, schema=schema)


def _without(
    options: NewRecordState, names: Sequence[Any], value: Any, schema: ConnectSchema | None
) -> tuple[Any, ConnectSchema | None]:
    """Return a value, or a key, without fields, and its schema. Raises TransformRefused."""
    if schema is not None and options.drops_optional:
        required_struct(schema, "fields to leave out")
        names = [name for name, inner in schema.fields if inner.optional and name in names]
    excluded = tuple(str(name) for name in names)
    if value is None or not excluded:
        return value, schema
    change = ReplaceFieldChange(ReplaceField(exclude=excluded))
    if schema is None:
        return change.plain(value, None), None
    made = change.typed(schema)
    return made.change(value, None), made.schema
