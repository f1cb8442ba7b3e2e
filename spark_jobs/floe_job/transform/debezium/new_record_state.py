"""Debezium's ExtractNewRecordState: rows out of change events."""

from __future__ import annotations

from typing import Any

import numpy as np

from floe.config.transforms.debezium.new_record_state import NewRecordState
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.base import TypedPart
from floe_job.convert.typed.whole.values import TypedColumns
from floe_job.exceptions import TransformRefused
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.changed_records import ChangedRecords, with_headers
from floe_job.transform.debezium.dropped_fields import dropped_names, leave_out_fields
from floe_job.transform.debezium.event import TypedEvents, is_event
from floe_job.transform.debezium.event_columns import ColumnOutcomes, unwrap
from floe_job.transform.debezium.outcome import OP, Outcome
from floe_job.transform.debezium.plain_event import is_plain_event, plain_outcome

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
