"""Change events with a schema as columns: rows are taken out of them without an object for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from floe.config.transforms.debezium.deletes import Deletes
from floe.config.transforms.debezium.new_record_state import NewRecordState
from floe_job.convert.typed.base import Places, TypedPart
from floe_job.convert.typed.python_values import python_values
from floe_job.transform.debezium.event import TypedEvents
from floe_job.transform.debezium.header_bytes import header_bytes
from floe_job.transform.debezium.outcome import AFTER, BEFORE
from floe_job.transform.debezium.rows import Rows, routed

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


def _rows_of(rows: Rows, events: pa.StructArray, state: pa.StructArray, chosen: pa.Array | None) -> pa.Array | None:
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
