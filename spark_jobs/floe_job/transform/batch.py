"""A batch of records in a chain of transforms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from floe.config.converters.base import ConverterSpec
from floe.config.sections.transforms import reads_keys
from floe_job.contract.dead_letter import Rejected
from floe_job.contract.task import Task
from floe_job.convert.base import Converters, Parsed
from floe_job.convert.context import ConverterContext, LookupRecorder
from floe_job.convert.header_framing import framing_of
from floe_job.convert.makers import converters_of
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues
from floe_job.exceptions import KEY_CONVERTER, TRANSFORM, VALUE_CONVERTER, TransformRefused
from floe_job.source.messages import Headers, Messages
from floe_job.source.record_batch import ParsedValues, RecordChanges, Records
from floe_job.types.typed_values import json_form

# What reads the values and keys of records for a chain of transforms.


Read = Callable[[Records, Sequence[int]], Parsed]
"""Parses what some records have, by their places; what it rejects is named by its place among these."""


@dataclass(frozen=True)
class Readers:
    """``values``, ``keys``: read those of some of the records."""

    values: Read
    keys: Read

    @classmethod
    def of(cls, task: Task, converters: Converters, key_lookups: LookupRecorder) -> Readers:
        """Make those of a task. ``converters``: of its values. Raises RegistryMisconfigured."""
        has_keys = reads_keys(task.routes.transforms)
        spec = task.routes.key_converter if has_keys else None
        return cls(value_reader(converters), key_reader(spec, ConverterContext.of_attempt(task.attempt, key_lookups)))


def value_reader(converters: Converters) -> Read:
    """Make a reader of values."""

    def read(records: Records, places: Sequence[int]) -> Parsed:
        some = records if len(places) == len(records) else records.select(places)
        return converters.whole(some.bytes_of_values)

    return read


def key_reader(spec: ConverterSpec | None, context: ConverterContext) -> Read:
    """Make a reader of keys; without a converter, none can be read. Raises RegistryMisconfigured."""
    if spec is None:
        return _none
    converters, framed = converters_of(spec, context), framing_of(spec, context)

    def read(records: Records, places: Sequence[int]) -> Parsed:
        some = records.select(places)
        keys = framed(replace(some, values=some.messages.key_values(), encoded=None))
        parsed = converters.whole(keys.bytes_of_values)
        rejected = (
            replace(one, stage=KEY_CONVERTER) if one.stage == VALUE_CONVERTER else one for one in parsed.rejected
        )
        return Parsed(parsed.values, tuple(rejected))

    return read


def _none(records: Records, places: Sequence[int]) -> Parsed:
    problem = "a transform reads what its settings do not say that it reads"
    raise ValueError(problem)


UNREAD = Readers(_none, _none)
"""Reads nothing."""


Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""Some of the records."""

UNREAD_KEY: Final = object()
"""A key that is not parsed yet, among some that transforms made."""

REFUSED = TransformRefused.__name__
"""The error name of records that a transform refuses."""


@dataclass(frozen=True)
class ParsedBatch:
    """A batch of records in a chain of transforms: the same place in each column is the same record.

    ``source``: the records as Kafka has them, which dead letters keep. ``places``: which of them are left, ascending.
    ``values``: None until a transform asks for them, then parsed; a value of None is a tombstone. ``topics``, ``headers``,
    ``timestamps`` (epoch ms): None as long as no transform changed them. ``parsed_keys``: None until a transform asks for
    them; ``other_keys``: which of them one changed, None for none. ``rejected``: by their index in ``source``.
    ``filtered``: how many were left out. ``readers``: what reads values and keys.
    """

    source: Records
    places: Sequence[int]
    values: Any = None
    topics: Sequence[str] | None = None
    parsed_keys: Any = None
    other_keys: Mask | None = None
    headers: Sequence[Headers | None] | None = None
    timestamps: Sequence[int | None] | None = None
    rejected: tuple[Rejected, ...] = ()
    filtered: int = 0
    readers: Readers = field(default=UNREAD, compare=False)

    @classmethod
    def of(cls, source: Records, parsed: Parsed) -> ParsedBatch:
        """Start with records and their parsed values."""
        return cls(source, range(len(source)))._with_values(parsed)

    @classmethod
    def unread(cls, source: Records, readers: Readers) -> ParsedBatch:
        """Start with records whose values are parsed once a transform asks for them."""
        return cls(source, range(len(source)), readers=readers)

    def __len__(self) -> int:
        return len(self.places)

    # -- what is parsed only where a transform asks for it ------------------------------------------------------------------

    def with_values(self) -> ParsedBatch:
        """Return the batch with its values parsed; those that cannot be are rejected."""
        if self.values is not None:
            return self
        return self._with_values(self.readers.values(self.source, self.places))

    def with_objects(self) -> ParsedBatch:
        """Return the batch with its values as Python's objects, a ``ParsedValues``."""
        read = self.with_values()
        return replace(read, values=read.values.objects()) if isinstance(read.values, TypedColumns) else read

    def with_keys(self) -> ParsedBatch:
        """Return the batch with its keys parsed, as columns where they are; records whose key cannot be are rejected.

        Keys that a transform changed are not parsed.
        """
        if self.parsed_keys is not None:
            if self.other_keys is None:
                return self
            unread = [key is UNREAD_KEY for key in objects_of(self.parsed_keys)]
            if not any(unread):
                return self
            part, rest = self.parted(unread)
            return replace(part, parsed_keys=None).with_keys().joined(rest)
        parsed = self.readers.keys(self.source, self.places)
        return replace(self, parsed_keys=parsed.values)._without(parsed.rejected)

    def _with_values(self, parsed: Parsed) -> ParsedBatch:
        return replace(self, values=parsed.values)._without(parsed.rejected)

    def _without(self, rejected: Sequence[Rejected]) -> ParsedBatch:
        """Leave out records that a converter rejected, by their place in this batch."""
        if not rejected:
            return self
        gone = {one.index for one in rejected}
        placed = tuple(one.at(self.places[one.index]) for one in rejected)
        left = self.select([row for row in range(len(self)) if row not in gone])
        return replace(left, rejected=(*self.rejected, *placed))

    # -- what records have besides their value ------------------------------------------------------------------------

    @property
    def partition(self) -> int:
        """The partition of all of them."""
        return self.source.part.range.partition

    @property
    def offsets(self) -> list[int]:
        """The offset of each."""
        return [self.source.offsets[place] for place in self.places]

    @property
    def source_messages(self) -> Messages:
        """The records that are left, as Kafka has them."""
        messages = self.source.messages
        return messages if len(self) == len(messages) else messages.select(self.places)

    def read_topics(self) -> Sequence[str]:
        """Return the current topic of each."""
        return [self.source.topic] * len(self) if self.topics is None else self.topics

    def read_headers(self) -> Sequence[Headers | None]:
        """Return the current headers of each; None where they cannot be read."""
        return self.source_messages.headers() if self.headers is None else self.headers

    def read_timestamps(self) -> Sequence[int | None]:
        """Return the current time of each."""
        return self.source_messages.timestamps() if self.timestamps is None else self.timestamps

    def key_bytes(self) -> Sequence[bytes | None]:
        """Return the current key of each in bytes; a key that a transform changed is written as text or else as JSON."""
        own = self.source_messages.keys()
        if self.other_keys is None:
            return own
        changed = zip(self.other_keys.tolist(), own, self.parsed_keys, strict=True)
        return [key_bytes(key) if is_other else bytes_ for is_other, bytes_, key in changed]

    @property
    def is_tombstone(self) -> Mask:
        """Whether each has no value now."""
        if isinstance(self.values, TypedColumns):
            return ~self.values.present
        if self.values is not None:
            return np.array([value is None for value in self.values], np.bool_)
        found = np.ones(len(self.source), np.bool_)
        found[self.source.values.present()] = False
        return found[np.asarray(self.places, np.int64)]

    # -- what transforms do -------------------------------------------------------------------------------------------

    def changed(self, **columns: Any) -> ParsedBatch:
        """Return the batch with other ``values``, ``topics``, ``keys``, ``headers`` or ``timestamps``, one for each record.

        Values and keys that are a plain list have no schemas. ``other_keys``: which of ``keys`` are others; all by default.
        Raises ValueError for a column of another length.
        """
        wrong = {name: len(column) for name, column in columns.items() if len(column) != len(self)}
        if wrong:
            problem = f"a transform gave {wrong} for {len(self)} records"
            raise ValueError(problem)
        if "keys" in columns:
            given = columns.get("other_keys", np.ones(len(self), np.bool_))
            known = given if self.other_keys is None else self.other_keys | given
            columns |= {"parsed_keys": columns.pop("keys"), "other_keys": known}
        for name in columns.keys() & {"values", "parsed_keys"}:
            if not isinstance(columns[name], ParsedValues | TypedColumns):
                columns[name] = ParsedValues(columns[name])
        return replace(self, **columns)

    def filter(self, is_kept: Sequence[bool]) -> ParsedBatch:
        """Leave out the others: they are counted as filtered."""
        kept = np.flatnonzero(np.asarray(is_kept, np.bool_)).tolist()
        return replace(self.select(kept), filtered=self.filtered + len(self) - len(kept))

    def reject(self, reasons: Mapping[int, str], error: str = REFUSED) -> ParsedBatch:
        """Refuse records, by their place in this batch: they become dead letters, whole, as Kafka has them."""
        return self._without([Rejected(row, TRANSFORM, reasons[row], error) for row in sorted(reasons)])

    def select(self, rows: Sequence[int]) -> ParsedBatch:
        """Return some of the records, by their place in this batch, in ascending order."""
        if len(rows) == len(self):
            return self
        return replace(
            self,
            places=[self.places[row] for row in rows],
            values=None if self.values is None else self.values.select(rows),
            topics=some(self.topics, rows),
            parsed_keys=None if self.parsed_keys is None else self.parsed_keys.select(rows),
            other_keys=None if self.other_keys is None else self.other_keys[np.asarray(rows, np.int64)],
            headers=some(self.headers, rows),
            timestamps=some(self.timestamps, rows),
        )

    def parted(self, is_in: Sequence[bool]) -> tuple[ParsedBatch, ParsedBatch]:
        """Split the records in two: the first batch has all that was counted and rejected so far."""
        mask = np.asarray(is_in, np.bool_)
        chosen, others = self.select(np.flatnonzero(mask).tolist()), self.select(np.flatnonzero(~mask).tolist())
        return chosen, replace(others, rejected=(), filtered=0)

    def joined(self, other: ParsedBatch) -> ParsedBatch:
        """Join two parts again, in the records' order."""
        if not len(other):
            return replace(self, rejected=(*self.rejected, *other.rejected), filtered=self.filtered + other.filtered)
        mine, theirs = self, other
        if (mine.values is None) != (theirs.values is None):
            mine, theirs = mine.with_values(), theirs.with_values()
        has_keys = mine._either(theirs, "parsed_keys")
        order = np.argsort(np.array([*mine.places, *theirs.places], np.int64), kind="stable")
        return replace(
            mine,
            places=both(mine.places, theirs.places, order),
            values=joined_values(mine.values, theirs.values, order),
            topics=both(mine.read_topics(), theirs.read_topics(), order) if mine._either(theirs, "topics") else None,
            parsed_keys=joined_values(mine._known_keys, theirs._known_keys, order) if has_keys else None,
            other_keys=np.concatenate([mine._is_other_key, theirs._is_other_key])[order]
            if mine._either(theirs, "other_keys")
            else None,
            headers=both(mine.read_headers(), theirs.read_headers(), order)
            if mine._either(theirs, "headers")
            else None,
            timestamps=both(mine.read_timestamps(), theirs.read_timestamps(), order)
            if mine._either(theirs, "timestamps")
            else None,
            rejected=(*mine.rejected, *theirs.rejected),
            filtered=mine.filtered + theirs.filtered,
        )

    def _either(self, other: ParsedBatch, name: str) -> bool:
        return getattr(self, name) is not None or getattr(other, name) is not None

    @property
    def _known_keys(self) -> Any:
        return ParsedValues([UNREAD_KEY] * len(self)) if self.parsed_keys is None else self.parsed_keys

    @property
    def _is_other_key(self) -> Mask:
        return np.zeros(len(self), np.bool_) if self.other_keys is None else self.other_keys

    # -- results ------------------------------------------------------------------------------------------------------

    def rejected_by_stage(self) -> tuple[list[Rejected], list[Rejected]]:
        """Return what converters refused, and what transforms refused."""
        by_transforms = [one for one in self.rejected if one.stage == TRANSFORM]
        return [one for one in self.rejected if one.stage != TRANSFORM], by_transforms

    @property
    def tombstones(self) -> int:
        """How many records have no value now: they have no row."""
        return int(np.count_nonzero(self.is_tombstone))

    def by_topic(self) -> Iterator[Records]:
        """Yield the records that have a value as they are to be routed, those of each topic together.

        Records whose key a transform changed come apart from those with the key that Kafka has.
        """
        is_other, present = self._is_other_key, ~self.is_tombstone
        for has_other_keys in (False, True):
            yield from self._of_topics(np.flatnonzero(present & (is_other == has_other_keys)).tolist(), has_other_keys)

    def _of_topics(self, some: Sequence[int], has_other_keys: bool) -> Iterator[Records]:
        rows_of: dict[str, list[int]] = {}
        if self.topics is None:
            rows_of[self.source.topic] = [*some]
        else:
            for row in some:
                rows_of.setdefault(self.topics[row], []).append(row)
        for topic, rows in rows_of.items():
            if rows:
                changed = self.select(rows)
                keys = list(changed.key_bytes()) if has_other_keys else None
                changes = RecordChanges(topic, changed.values, keys, changed.headers, changed.timestamps)
                left = self.source if len(changed) == len(self.source) else self.source.select(changed.places)
                yield left.changed(changes)


# Keys that transforms changed, as bytes.


def key_bytes(key: Any) -> bytes | None:
    """Write a key that a transform changed as a converter of JSON would: text as it is, all else as compact JSON.

    Decimals are texts, with all their digits.
    """
    if key is None or isinstance(key, bytes):
        return key
    return (key if isinstance(key, str) else _WRITER.encode(json_form(key))).encode("utf-8", "replace")


_WRITER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
"""What JSON has no type for are decimals, and integers of more digits than Python parses."""


# Columns of a batch: a part of them, and two of them in one order.


Order = np.ndarray[Any, np.dtype[np.int64]]
"""Places in two columns, one after the other, as the joined one has them."""


def some(column: Sequence[Any] | None, rows: Sequence[int]) -> Sequence[Any] | None:
    """Return some of a column's entries; None for none."""
    return None if column is None else [column[row] for row in rows]


def both(first: Sequence[Any], other: Sequence[Any], order: Order) -> Sequence[Any]:
    """Return the entries of two columns in one order."""
    entries = [*first, *other]
    return [entries[place] for place in order.tolist()]


def joined_values(first: Any, other: Any, order: Order) -> Any:
    """Return the values of two batches in one order; None if they are unread."""
    if first is None:
        return None
    if isinstance(first, TypedColumns) and isinstance(other, TypedColumns):
        landing = np.empty(len(order), np.int64)
        landing[order] = np.arange(len(order))
        return first.joined(other, landing[: len(first)], landing[len(first) :])
    mine, theirs = objects_of(first), objects_of(other)
    values = both(mine, theirs, order)
    if isinstance(mine, TypedValues) or isinstance(theirs, TypedValues):
        return TypedValues(values, both(schemas_of(mine), schemas_of(theirs), order))
    return ParsedValues(values)


def objects_of(values: Any) -> ParsedValues:
    """Return parsed values as objects."""
    found: ParsedValues = values.objects() if isinstance(values, TypedColumns) else values
    return found


def schemas_of(values: Any) -> Sequence[Any]:
    """Return the schema of each parsed value; None for one that has none."""
    typed = values.objects() if isinstance(values, TypedColumns) else values
    return typed.schemas if isinstance(typed, TypedValues) else [None] * len(values)
