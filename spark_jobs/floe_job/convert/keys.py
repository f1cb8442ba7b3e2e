"""Keys in JSON: without schemas, and with theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.connect.schema import struct
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.base import FieldConverter
from floe_job.convert.json.parse import parse_value
from floe_job.convert.typed.base import SchemalessPart, TypedBatch, TypedDecoder, TypedPart
from floe_job.exceptions import COERCE, KEY_CONVERTER, InvalidRecord, Malformed
from floe_job.source.record_batch import ParsedValues
from floe_job.source.values import Values, column_of
from floe_job.types.java_text import string_column

# Keys in JSON without schemas.


_PLAIN: Final = r'\A(?:"[^"\\\x00-\x1f]*"|0|-?[1-9][0-9]{0,17}|true|false)\z'
"""JSON that is its text, but for quotes: strings without escapes, integers, booleans."""


class JsonKeyField:
    """Reads a field of keys that are objects."""

    def __init__(self, field: FieldConverter) -> None:
        """``field``: the reader of the same field of values."""
        self._field = field

    def read(self, values: Sequence[bytes] | ParsedValues) -> tuple[Sequence[Rejected], pa.Array]:
        """Return the texts of those keys that are not rejected, null where there is none."""
        rejected, texts = self._field.read(values)
        return [_of_key(one, values[one.index]) for one in rejected], texts


class JsonKeyText:
    """Reads whole keys: text, numbers and booleans by their text, objects and arrays as compact JSON."""

    def read(self, values: Sequence[bytes] | ParsedValues) -> tuple[Sequence[Rejected], pa.Array]:
        """Return the texts of those keys that are not rejected; null for ``null``."""
        if isinstance(values, ParsedValues):
            return _each(range(len(values)), values)
        column = column_of(values) if isinstance(values, Values) else pa.array(values, pa.large_binary())
        is_plain = pc.match_substring_regex(column, _PLAIN)
        try:
            plain = _unquoted(column.filter(is_plain))
        except pa.ArrowInvalid:  # one of them is not UTF-8
            return _each(range(len(column)), column.to_pylist())
        if len(plain) == len(column):
            return [], plain
        others = np.flatnonzero(~_mask(is_plain))
        rejected, texts = _each(others.tolist(), column.take(pa.array(others)).to_pylist())
        found = np.delete(others, np.flatnonzero(np.isin(others, [one.index for one in rejected])))
        order = np.argsort(np.concatenate([np.flatnonzero(_mask(is_plain)), found]), kind="stable")
        return rejected, pa.concat_arrays([plain, texts]).take(pa.array(order))


def _of_key(rejected: Rejected, key: Any) -> Rejected:
    """Say of a key that cannot be read that it cannot, and of one without fields that it has none."""
    try:
        _value(key)
    except Malformed as error:
        return Rejected(rejected.index, KEY_CONVERTER, error.reason, type(error).__name__)
    return Rejected(rejected.index, COERCE, rejected.reason, rejected.error)


def _unquoted(column: pa.Array) -> pa.Array:
    """Return the texts of what is plain. Raises ArrowInvalid for what is not UTF-8."""
    is_text = pc.starts_with(column, pattern='"')
    return pc.if_else(is_text, pc.binary_slice(column, 1, -1), column).cast(pa.large_string())


def _each(places: Sequence[int], keys: Sequence[Any]) -> tuple[list[Rejected], pa.Array]:
    rejected, texts = [], []
    for place, key in zip(places, keys, strict=True):
        try:
            value = _value(key)
            texts.append(None if value is None else string_column(value))
        except InvalidRecord as error:
            stage = KEY_CONVERTER if isinstance(error, Malformed) else COERCE
            rejected.append(Rejected(place, stage, error.reason, type(error).__name__))
    return rejected, pa.array(texts, pa.large_string())


def _value(key: Any) -> Any:
    return parse_value(key) if isinstance(key, bytes) else key


def _mask(array: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    found: np.ndarray[Any, np.dtype[np.bool_]] = array.to_numpy(zero_copy_only=False)
    return found.astype(np.bool_)


# Keys as the only field of an object, so that a key of any type is read as a field of that type is.


FIELD: Final = "key"
"""The name of the field."""


class WrappedKeys:
    """Decodes keys, each into a struct of one field: a ``TypedDecoder``."""

    def __init__(self, decoder: TypedDecoder) -> None:
        """``decoder``: of the keys, for the stage ``key_converter``."""
        self._decoder = decoder

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode keys, none of them None; one that is null by its schema is a field that is null."""
        batch = self._decoder.decode(values)
        parts = tuple(_wrapped(part) for part in batch.parts)
        if batch.schemaless is None:
            return TypedBatch(parts, batch.rejected, batch.fast_rows)
        schemaless, bad = _parsed(batch.schemaless)
        rejected = tuple(sorted((*batch.rejected, *bad), key=lambda one: one.index))
        return TypedBatch(parts, rejected, batch.fast_rows, schemaless)


def _wrapped(part: TypedPart) -> TypedPart:
    column = pa.StructArray.from_arrays([part.column], fields=[pa.field(FIELD, part.column.type)])
    return TypedPart(struct({FIELD: part.schema}), part.places, column)


def _parsed(part: SchemalessPart) -> tuple[SchemalessPart, list[Rejected]]:
    if isinstance(part.values, ParsedValues):
        return SchemalessPart(part.places, ParsedValues([{FIELD: value} for value in part.values])), []
    found, kept, bad = ParsedValues(), [], []
    for place, text in zip(part.places.tolist(), part.values, strict=True):
        try:
            found.append({FIELD: parse_value(text)})
            kept.append(place)
        except Malformed as error:
            bad.append(Rejected(place, KEY_CONVERTER, error.reason, type(error).__name__))
    return SchemalessPart(np.array(kept, np.int64), found), bad
