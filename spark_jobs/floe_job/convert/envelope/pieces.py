"""Batches decoded a piece at a time: what a decoder copies of large records stays small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.convert.json.framing import nbytes
from floe_job.convert.typed.base import SchemalessPart, TypedBatch, TypedPart
from floe_job.source.record_batch import ParsedValues

PIECE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a piece: memory of twice that is not kept for reuse (``floe_job.memory_tuning``), but new for each batch."""

MIN_RECORDS: Final = 256
"""Records of a piece, however large they are."""


def decode_in_pieces(
    decode: Callable[[Sequence[bytes]], TypedBatch],
    values: Sequence[bytes],
    piece_bytes: int = PIECE_BYTES,
    min_records: int = MIN_RECORDS,
) -> TypedBatch:
    """Decode values as ``decode`` does, some of them at a time."""
    size = max(min_records, piece_bytes * len(values) // max(1, nbytes(values)))
    if size >= len(values):
        return decode(values)
    firsts = range(0, len(values), size)
    batches = [(first, decode(values[first : first + size])) for first in firsts]
    parts: dict[int, list[tuple[int, TypedPart]]] = {}
    for first, batch in batches:
        for part in batch.parts:
            parts.setdefault(id(part.schema), []).append((first, part))
    return TypedBatch(
        tuple(map(_joined, parts.values())),
        tuple(one.at(first + one.index) for first, batch in batches for one in batch.rejected),
        sum(batch.fast_rows for _, batch in batches),
        _joined_schemaless([(first, batch.schemaless) for first, batch in batches if batch.schemaless is not None]),
    )


def _joined(parts: Sequence[tuple[int, TypedPart]]) -> TypedPart:
    places = np.concatenate([first + part.places for first, part in parts])
    return TypedPart(parts[0][1].schema, places, pa.concat_arrays([part.column for _, part in parts]))


def _joined_schemaless(parts: Sequence[tuple[int, SchemalessPart]]) -> SchemalessPart | None:
    if not parts:
        return None
    values = [value for _, part in parts for value in part.values]
    is_parsed = isinstance(parts[0][1].values, ParsedValues)
    places = np.concatenate([first + part.places for first, part in parts])
    return SchemalessPart(places, ParsedValues(values) if is_parsed else values)
