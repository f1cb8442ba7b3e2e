"""Keys as the only field of an object, so that a key of any type is read as a field of that type is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.connect.schema import struct
from floe_job.contract.rejected_record import Rejected
from floe_job.convert.json.parse import parse_value
from floe_job.convert.typed.base import SchemalessPart, TypedBatch, TypedDecoder, TypedPart
from floe_job.exceptions import Malformed
from floe_job.source.record_batch import ParsedValues
from floe_job.stages import KEY_CONVERTER

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
