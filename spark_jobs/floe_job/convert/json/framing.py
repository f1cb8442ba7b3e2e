"""Records as one text, in which each is a line or more and the boundaries between records are certain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from pyiceberg.schema import Schema

from floe_job.convert.json.parse import bare
from floe_job.schema.evolution import widened
from floe_job.schema.proposal import ColumnRules
from floe_job.source.values import Lines, Values
from floe_job.types import Lookup

Text = bytes | bytearray

BLOCK_BYTES = 128 * 1024
"""Bytes that are compared at once: they and the result fit into a processor's cache."""

_FIRST, _LAST = itemgetter(slice(0, 1)), itemgetter(slice(-1, None))


def joined(values: Sequence[bytes]) -> Lines:
    """Join records by newlines, making sure that each newline between two records is between two whole objects.

    ``}``, newline, ``{`` is an error inside any object, array or string, so a parser that gets through was at the top
    level there; blanks beside the newline change nothing in that. Raises NotExact where a value does not begin and end as
    an object.
    """
    if isinstance(values, Values):
        lines = values.lines()
        if lines is not None:
            return lines
        values = list(values)
    if not (set(map(_FIRST, values)) == {b"{"} and set(map(_LAST, values)) == {b"}"}):
        values = [bare(value) for value in values]
        for row, value in enumerate(values):
            if not (value.startswith(b"{") and value.endswith(b"}")):
                raise NotExact(row)
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    ends = np.cumsum(sizes + 1) - 1
    return Lines(b"\n".join((*values, b"")), ends - sizes, ends)


def occurrences(character: bytes, text: Text, ignoring: int = 0) -> int:
    """Count a character; ``ignoring``: bits that do not count, all of them set in it.

    Python's own count takes ten times as long where there are many.
    """
    nbytes = np.frombuffer(text, np.uint8)
    blocks = (nbytes[start : start + BLOCK_BYTES] for start in range(0, len(nbytes), BLOCK_BYTES))
    return sum(int(np.count_nonzero((block | ignoring if ignoring else block) == ord(character))) for block in blocks)


def nbytes(values: Sequence[bytes]) -> int:
    """Return the bytes of all values."""
    return values.nbytes if isinstance(values, Values) else sum(map(len, values))


def without(values: Sequence[bytes], indices: Collection[int]) -> Sequence[bytes]:
    """Return the values but some, by index."""
    if not indices:
        return values
    kept = [i for i in range(len(values)) if i not in indices]
    return values.select(kept) if isinstance(values, Values) else [values[i] for i in kept]


# Why a batch cannot take the columnar path as it is.


class NotExact(Exception):
    """The columnar result would not, or might not, be the exact path's. ``row`` is a hint at the first such record."""

    def __init__(self, row: int | None = None) -> None:
        super().__init__(row)
        self.row = row


class Respelled(Exception):
    """Keys were found that mean known columns. The batch has to be read again with these keys as well."""


class UnexpectedField(Exception):
    """A record has a field that the columns which were given do not have."""


class NoTemplate(Exception):
    """Records have too little in common, or contain what a template does not cover, such as arrays or escapes."""


# The columns that a transform fills in beside the record.


class Injected:
    """The top-level names of a table whose values are not taken from the record, even if the record uses these names."""

    def __init__(self, schema: Schema, lookup: Lookup, rules: ColumnRules) -> None:
        self._lookup = lookup
        self._top = lookup.of(schema.as_struct())
        self._names = frozenset(map(lookup.same, rules.injected))
        self.columns = frozenset(field.name for field in schema.fields if lookup.same(field.name) in self._names)

    def hides(self, key: str) -> bool:
        """Return whether a record's top-level field is to be ignored."""
        return bool(self._names) and (self._lookup.same(key) in self._names or self._top.column(key) in self.columns)

    def without(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record without the fields that are to be ignored."""
        if not self._names:
            return record
        return {key: value for key, value in record.items() if not self.hides(key)}

    def left_empty(self, schema: Schema) -> Schema:
        """Return ``schema`` as it is before the columns are filled in: they may be null."""
        if not self.columns:
            return schema
        return widened(schema, {}, {field.field_id for field in schema.fields if field.name in self.columns})
