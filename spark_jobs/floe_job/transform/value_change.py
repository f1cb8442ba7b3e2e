"""Transforms that change one value, or one key, by itself: most of those with ``$Value`` and ``$Key``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe.config.transforms.options import Side
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.base import TypedPart
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues
from floe_job.exceptions import TransformRefused
from floe_job.source.messages import Headers
from floe_job.source.record_batch import UNREADABLE
from floe_job.transform.batch import ParsedBatch, objects_of, schemas_of
from floe_job.transform.field_steps.demand import Demands

MAX_KNOWN: Final = 1000
"""Schemas whose change is kept: a topic with more has others compiled again."""


class Origin(NamedTuple):
    """Where a record is from: its current topic, partition, offset and time (epoch ms)."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None


@dataclass(frozen=True)
class Origins:
    """Where the records of a column are from: an entry each, timestamps in epoch ms."""

    topics: Sequence[str]
    partition: int
    offsets: Sequence[int]
    timestamps: Sequence[int | None]


class Changed(NamedTuple):
    """The schema of changed values, and what changes a value; that raises TransformRefused."""

    schema: ConnectSchema | None
    change: Callable[[Any, Origin | None], Any]


class ChangedColumns(NamedTuple):
    """The schema of changed values, and what changes a column of them, none of which is null at the top.

    ``change`` returns a column in the Arrow type of the schema, or None where values have to be changed one by one.
    """

    schema: ConnectSchema
    change: Callable[[pa.Array, Callable[[], Origins]], pa.Array | None]


class ValueChange(ABC):
    """Changes values one by one, as the Java class does with the value, or the key, of a record.

    ``reads_origin``: whether it needs to know where the record is from. ``takes_null``: whether it changes a value that is
    null too; else that stays as it is.
    """

    reads_origin = False
    takes_null = False

    @abstractmethod
    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Change a value without a schema: an object of JSON, or of ``types.typed_values``. Raises TransformRefused.

        The given value is not modified.
        """

    @abstractmethod
    def typed(self, schema: ConnectSchema) -> Changed:
        """Compile the change of values with a schema. Raises TransformRefused where no such value can be changed."""

    @property
    def is_of_fields(self) -> bool:
        """Whether all it does is to add, drop, rename or change fields at the top of objects, each by itself."""
        return False

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Compile the change of columns; None where values have to be changed one by one."""
        return None

    def demands(self, wanted: Demands) -> Demands | None:
        """Return what a table's columns need before the change, of objects without schemas; None where that is not known."""
        return None


@dataclass
class _Compiled:
    """What is known of one schema. ``schema``: it, kept so that no other gets its address."""

    schema: ConnectSchema
    typed: Changed | TransformRefused | None = None
    columns: ChangedColumns | None = None
    has_columns: bool = True


@dataclass
class EachValue:
    """Applies a change to the value or the key of each record: a ``RecordTransform``."""

    change: ValueChange
    side: Side = "value"
    _known: dict[int, _Compiled] = field(default_factory=dict)

    @property
    def is_of_fields(self) -> bool:
        """Whether it only changes fields of values, see ``ValueChange``."""
        return self.side == "value" and self.change.is_of_fields

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Change the values; those that cannot be are refused."""
        if self.side == "key":
            return self._one_by_one(batch)
        if isinstance(batch.values, TypedColumns):
            changed = self._as_columns(batch, batch.values)
            if changed is not None:
                return changed
            batch = batch.with_objects()
        return self._one_by_one(batch)

    def _as_columns(self, batch: ParsedBatch, values: TypedColumns) -> ParsedBatch | None:
        if values.schemaless is not None or (self.change.takes_null and not values.present.all()):
            return None
        parts = []
        for part in values.parts:
            columns = self._columns_of(part.schema)
            made = None if columns is None else columns.change(part.column, lambda part=part: _origins(batch, part))  # type: ignore[misc]
            if columns is None or made is None:
                return None
            parts.append(TypedPart(columns.schema, part.places, made))
        return batch.changed(values=TypedColumns(len(values), parts))

    def _one_by_one(self, batch: ParsedBatch) -> ParsedBatch:
        values = objects_of(batch.parsed_keys if self.side == "key" else batch.values)
        schemas = schemas_of(values)
        origins = _each_origin(batch) if self.change.reads_origin else None
        found, found_schemas, refused = list(values), list(schemas), {}
        for row, (value, schema) in enumerate(zip(values, schemas, strict=True)):
            origin = None if origins is None else next(origins)
            if value is None and not self.change.takes_null:
                continue
            try:
                if schema is None:
                    found[row] = self.change.plain(value, origin)
                else:
                    changed = self._typed_of(schema)
                    made_value = changed.change(value, origin)
                    found[row], found_schemas[row] = made_value, None if made_value is None else changed.schema
            except TransformRefused as error:
                refused[row] = error.reason
        is_typed = isinstance(values, TypedValues)
        made: Any = TypedValues(found, found_schemas) if is_typed else found
        if self.side == "value":
            return batch.changed(values=made).reject(refused)
        others = [one is not value for one, value in zip(found, values, strict=True)]
        return batch.changed(keys=made, other_keys=np.array(others, np.bool_)).reject(refused)

    def _compiled(self, schema: ConnectSchema) -> _Compiled:
        known = self._known.get(id(schema))
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[id(schema)] = _Compiled(schema)
        return known

    def _typed_of(self, schema: ConnectSchema) -> Changed:
        known = self._compiled(schema)
        if known.typed is None:
            try:
                known.typed = self.change.typed(schema)
            except TransformRefused as error:
                known.typed = error
        if isinstance(known.typed, TransformRefused):
            raise known.typed
        return known.typed

    def _columns_of(self, schema: ConnectSchema) -> ChangedColumns | None:
        known = self._compiled(schema)
        if known.has_columns and known.columns is None:
            try:
                known.columns = self.change.columns(schema)
            except TransformRefused:  # each record is refused with this reason, one by one
                known.columns = None
            known.has_columns = known.columns is not None
        return known.columns


def _each_origin(batch: ParsedBatch) -> Iterator[Origin]:
    partition = batch.partition
    for topic, offset, timestamp in zip(batch.read_topics(), batch.offsets, batch.read_timestamps(), strict=True):
        yield Origin(topic, partition, offset, timestamp)


def _origins(batch: ParsedBatch, part: TypedPart) -> Origins:
    rows = part.places.tolist()
    topics, offsets, timestamps = batch.read_topics(), np.asarray(batch.offsets), batch.read_timestamps()
    return Origins(
        [topics[row] for row in rows], batch.partition, offsets[part.places].tolist(), [timestamps[row] for row in rows]
    )


# The records of a batch with what becomes of each, noted one by one.


class ChangedRecords:
    """What becomes of the records of a batch, by their place in it; what is not noted stays as it is."""

    def __init__(self, batch: ParsedBatch) -> None:
        """``batch``: with its values, and with its keys, if they are read or set."""
        self._batch = batch
        self._kept = np.ones(len(batch), np.bool_)
        self._refused: dict[int, str] = {}
        values = objects_of(batch.values)
        self.values: list[Any] = list(values)
        self.schemas: list[ConnectSchema | None] = list(schemas_of(values))
        keys = [] if batch.parsed_keys is None else objects_of(batch.parsed_keys)
        self.keys: list[Any] = list(keys)
        self.key_schemas: list[ConnectSchema | None] = list(schemas_of(keys))
        self._other_keys = np.zeros(len(batch), np.bool_)
        self._topics: dict[int, str] = {}
        self._headers: dict[int, Headers] = {}

    def each(self, change: Callable[[int, Any, ConnectSchema | None], None]) -> ParsedBatch:
        """Call ``change`` with each place, value and schema, and return what is left; it may raise TransformRefused."""
        for row, value, schema in self._rows():
            try:
                change(row, value, schema)
            except TransformRefused as error:
                self._refused[row] = error.reason
        return self._result()

    def leave_out(self, row: int) -> None:
        """Leave a record out: it is counted as filtered."""
        self._kept[row] = False

    def set_value(self, row: int, value: Any, schema: ConnectSchema | None) -> None:
        """Give a record another value; None for a tombstone."""
        self.values[row], self.schemas[row] = value, None if value is None else schema

    def set_key(self, row: int, key: Any, schema: ConnectSchema | None) -> None:
        """Give a record another key."""
        self.keys[row], self.key_schemas[row] = key, None if key is None else schema
        self._other_keys[row] = True

    def set_topic(self, row: int, topic: str) -> None:
        """Give a record another topic."""
        self._topics[row] = topic

    def set_headers(self, row: int, headers: Headers) -> None:
        """Give a record other headers."""
        self._headers[row] = headers

    def _rows(self) -> Iterator[tuple[int, Any, ConnectSchema | None]]:
        yield from zip(range(len(self._batch)), list(self.values), list(self.schemas), strict=True)

    def _result(self) -> ParsedBatch:
        changes: dict[str, Any] = {"values": _with_schemas(self.values, self.schemas)}
        if self._other_keys.any():
            changes |= {"keys": _with_schemas(self.keys, self.key_schemas), "other_keys": self._other_keys}
        if self._topics:
            changes["topics"] = [self._topics.get(row, own) for row, own in enumerate(self._batch.read_topics())]
        if self._headers:
            changes["headers"] = [self._headers.get(row, own) for row, own in enumerate(self._batch.read_headers())]
        kept = self._batch.changed(**changes).filter(self._kept)  # type: ignore[arg-type]
        landing = (np.cumsum(self._kept) - 1).tolist()
        return kept.reject({landing[row]: reason for row, reason in self._refused.items() if self._kept[row]})


def with_headers(own: Headers | None, more: Sequence[tuple[str, bytes | None]]) -> Headers:
    """Return headers with more of them behind. Raises TransformRefused where the record's own cannot be read."""
    if own is None:
        raise TransformRefused(UNREADABLE)
    return [*own, *more]


def _with_schemas(values: list[Any], schemas: list[ConnectSchema | None]) -> Any:
    return TypedValues(values, schemas) if any(schema is not None for schema in schemas) else values
