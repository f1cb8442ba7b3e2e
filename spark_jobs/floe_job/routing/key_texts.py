"""The texts of keys, by which records are routed: each key of a batch is decoded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe.config.converters.base import PLAIN_JSON, ConverterSpec
from floe.config.converters.charsets import ENCODING, codec_of
from floe.config.converters.kinds import BYTES, STRING
from floe_job.contract.dead_letter import Rejected
from floe_job.contract.task import RouteRules
from floe_job.convert.base import FieldConverter
from floe_job.convert.context import ConverterContext
from floe_job.convert.header_framing import Framed, framing_of
from floe_job.convert.makers import converters_of
from floe_job.convert.plain.texts import UTF_8, text_reader
from floe_job.exceptions import KEY_CONVERTER, ROUTE
from floe_job.source.record_batch import ParsedValues, Records
from floe_job.source.values import column_of, values_of

UNROUTABLE: Final = "Unroutable"

ReadKeys = Callable[[Records], tuple[Sequence[Rejected], pa.Array]]
"""Returns the texts of the keys of those records that are not rejected, null where there is none."""


def key_texts(rules: RouteRules, context: ConverterContext) -> ReadKeys:
    """Make what reads the field of keys that records are routed by, or whole keys; those without a converter are text.

    Raises ConfigError and RegistryMisconfigured.
    """
    spec, path = rules.key_converter, rules.routing.path
    if rules.routing.by != "key" or spec is None or _is_text(spec):
        return TEXT_KEYS
    reader = converters_of(spec, context).for_key(path)
    changed = converters_of(PLAIN_JSON, context).for_key(path) if path else _Utf8()
    return KeyTexts(reader, path, framing_of(spec, context), changed)


class KeyTexts:
    """Reads the keys of records as text."""

    def __init__(
        self,
        reader: FieldConverter,
        path: Sequence[str] = (),
        framed: Framed | None = None,
        changed: FieldConverter | None = None,
    ) -> None:
        """``framed``: puts ids in headers before keys. ``changed``: reads keys that a transform wrote, as text or JSON."""
        self._reader = reader
        self._changed = reader if changed is None else changed
        self._what = f"the route field {'.'.join(path)!r} of the key cannot be read" if path else "the key has no text"
        self._framed = framed

    def __call__(self, records: Records) -> tuple[Sequence[Rejected], pa.Array]:
        """Read the keys of some records."""
        reader, column = self._keys(records)
        encoded: pa.DictionaryArray = column.dictionary_encode()
        refused, texts = reader.read(values_of(encoded.dictionary))
        # behind the texts a null, for the records without a key
        count = len(encoded.dictionary)
        refused_by_kind = {one.index: self._rejected(one) for one in refused}
        places = np.full(count + 1, len(texts), np.int64)
        places[np.delete(np.arange(count), list(refused_by_kind))] = np.arange(len(texts))
        kinds: np.ndarray[Any, np.dtype[np.int64]] = (
            encoded.indices.fill_null(count).to_numpy(zero_copy_only=False).astype(np.int64)
        )
        is_refused = np.zeros(count + 1, np.bool_)
        is_refused[list(refused_by_kind)] = True
        bad = np.flatnonzero(is_refused[kinds])
        rejected = [refused_by_kind[int(kinds[row])].at(row) for row in bad.tolist()]
        with_null = pa.concat_arrays([texts, pa.nulls(1, texts.type)])
        return rejected, with_null.take(pa.array(places[np.delete(kinds, bad)]))

    def _keys(self, records: Records) -> tuple[FieldConverter, pa.Array]:
        if records.changes is not None and records.changes.keys is not None:
            return self._changed, pa.array(records.changes.keys, pa.large_binary())
        keys = records.messages.key_values()
        if self._framed is None:
            return self._reader, column_of(keys)
        framed = self._framed(replace(records, values=keys, encoded=None))
        return self._reader, column_of(keys if framed.encoded is None else framed.encoded)

    def _rejected(self, one: Rejected) -> Rejected:
        """Reject a record whose key has no such text as one without a route."""
        if one.stage == KEY_CONVERTER or one.error == UNROUTABLE:
            return one
        return Rejected(one.index, ROUTE, f"{self._what}: {one.reason}", UNROUTABLE)


class _Utf8:
    """Reads the bytes of keys as text: a ``FieldConverter``."""

    def __init__(self) -> None:
        self._read = text_reader(UTF_8)

    def read(self, values: Sequence[bytes] | ParsedValues) -> tuple[Sequence[Rejected], pa.Array]:
        """Return the texts of those keys that are UTF-8."""
        column = self._read(values)
        return [Rejected(place, ROUTE, "the key is not UTF-8", UNROUTABLE) for place, _ in column.bad], column.values


def _is_text(spec: ConverterSpec) -> bool:
    """Whether keys are taken as they are, as they have always been for these converters."""
    return spec.kind == BYTES or (spec.kind == STRING and codec_of(spec.options.get(ENCODING, UTF_8)) == UTF_8)


TEXT_KEYS: Final[ReadKeys] = KeyTexts(_Utf8())
"""Reads whole keys as they are."""
