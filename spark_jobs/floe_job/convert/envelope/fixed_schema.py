"""Payloads without an envelope, of one schema that the configuration has (``schema.content``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from floe_job.contract.rejected_record import Rejected
from floe_job.convert.envelope.payloads import PayloadDecoder
from floe_job.convert.envelope.schema_parser import connect_schema
from floe_job.convert.json.parse import parse_value
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.schema_source import TOO_DEEP, check_unicode
from floe_job.exceptions import InvalidRecord, Malformed, UnusableSchema


class FixedSchemaDecoder:
    """Decodes values that are payloads of one schema: a ``TypedDecoder``."""

    def __init__(self, schema: str, *, fill_defaults: bool, stage: str) -> None:
        """``schema``: its JSON. ``fill_defaults``: what is null gets the default of its schema."""
        self._stage = stage
        self._decoder: PayloadDecoder | InvalidRecord
        try:
            check_unicode(schema)
            made = connect_schema(parse_value(schema.encode()), fill_defaults=fill_defaults)
            self._decoder = PayloadDecoder(made, fill_defaults=fill_defaults)
        except InvalidRecord as error:
            self._decoder = UnusableSchema(f"schema.content: {error}")
        except RecursionError:
            self._decoder = UnusableSchema(f"schema.content: {TOO_DEEP}")

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None."""
        if isinstance(self._decoder, InvalidRecord):
            return TypedBatch((), tuple(self._rejected(place, self._decoder) for place in range(len(values))), 0)
        texts = list(values)
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        places = np.flatnonzero(sizes)
        ends = np.cumsum(sizes + 1) - 1
        column = self._decoder.decode(bytearray(b"\n".join((*texts, b""))), (ends - sizes)[places], ends[places])
        bad = [(int(places[one.row]), one.why) for one in column.bad]
        bad += [(place, "not JSON: empty") for place in np.flatnonzero(sizes == 0).tolist()]
        parts = (TypedPart(self._decoder.schema, places[column.rows], column.values),) if len(column.rows) else ()
        return TypedBatch(
            parts, tuple(self._rejected(place, Malformed(why)) for place, why in sorted(bad)), column.fast
        )

    def _rejected(self, place: int, error: InvalidRecord) -> Rejected:
        return Rejected(place, self._stage, error.reason, type(error).__name__)
