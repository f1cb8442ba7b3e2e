"""Whole values with schemas, for transforms that need them, and back again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, cast

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.contract.rejected import Rejected
from floe_job.convert.base import Parsed
from floe_job.convert.json.parse import parse_any
from floe_job.convert.typed.base import SchemalessPart, TypedBatch, TypedDecoder, TypedPart
from floe_job.convert.typed.python_values import python_values
from floe_job.exceptions import InvalidRecord, Malformed
from floe_job.source.record_batch import ParsedValues
from floe_job.stages import COERCE
from floe_job.types.typed_values import Day


class TypedValues(ParsedValues):
    """Values with their schemas; None for a tombstone and its schema, and for the schema of a value that came without one.

    What changes a value drops the schemas.
    """

    def __init__(self, values: Sequence[Any] = (), schemas: Sequence[ConnectSchema | None] = ()) -> None:
        super().__init__(values)
        self.schemas = list(schemas)

    def select(self, indices: Sequence[int]) -> TypedValues:
        """Return some of the values, by index."""
        return TypedValues([self[i] for i in indices], [self.schemas[i] for i in indices])


def parsed(decoder: TypedDecoder, values: Sequence[bytes | None]) -> Parsed:
    """Decode whole values, for transforms; None for a tombstone, and for what is rejected."""
    places = [i for i, value in enumerate(values) if value is not None]
    batch = decoder.decode([values[i] for i in places])  # type: ignore[misc]
    found, schemas = [None] * len(values), cast("list[ConnectSchema | None]", [None] * len(values))
    rejected = [one.at(places[one.index]) for one in batch.rejected]
    for part in batch.parts:
        present, nulls = without_nulls(part)
        rejected += [one.at(places[one.index]) for one in nulls]
        for place, value in zip(present.places.tolist(), python_values(present.column, part.schema), strict=True):
            found[places[place]], schemas[places[place]] = value, part.schema
    for place, text in (
        () if batch.schemaless is None else zip(batch.schemaless.places.tolist(), batch.schemaless.values, strict=True)
    ):
        try:
            found[places[place]] = parse_any(text)
        except InvalidRecord as error:
            rejected.append(Rejected(places[place], error.stage, error.reason, type(error).__name__))
    return Parsed(TypedValues(found, schemas), tuple(sorted(rejected, key=lambda one: one.index)))


def without_nulls(part: TypedPart) -> tuple[TypedPart, list[Rejected]]:
    """Take out the records whose whole value is null."""
    if not part.column.null_count:
        return part, []
    present = part.column.is_valid().to_numpy(zero_copy_only=False)
    why = "its value is null, though its bytes are not: a tombstone has no bytes"
    nulls = [Rejected(i, COERCE, why, Malformed.__name__) for i in part.places[~present].tolist()]
    return TypedPart(part.schema, part.places[present], part.column.filter(pa.array(present))), nulls


def batch_of(values: TypedValues) -> TypedBatch:
    """Return values as a decoder returns them."""
    places: dict[ConnectSchema, list[int]] = {}
    for place, schema in enumerate(values.schemas):
        if schema is not None:
            places.setdefault(schema, []).append(place)
    parts = tuple(
        TypedPart(schema, np.array(some, np.int64), arrow_column([values[i] for i in some], schema))
        for schema, some in places.items()
    )
    plain = [i for i, schema in enumerate(values.schemas) if schema is None and values[i] is not None]
    others = SchemalessPart(np.array(plain, np.int64), ParsedValues([values[i] for i in plain])) if plain else None
    return TypedBatch(parts, (), 0, others)


def arrow_column(values: Sequence[Any], schema: ConnectSchema) -> pa.Array:
    """Return values as a column in the Arrow type of their schema: the reverse of ``python_values``."""
    kind, mask = arrow_type(schema), pa.array([value is None for value in values], pa.bool_())
    if schema.kind is Kind.STRUCT:
        children = [
            arrow_column([None if value is None else value[name] for value in values], inner)
            for name, inner in schema.fields
        ]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if schema.kind in (Kind.ARRAY, Kind.MAP):
        offsets = list(accumulate((len(value or ()) for value in values), initial=0))
        entries = [entry for value in values for entry in (value or ())]
        if schema.kind is Kind.ARRAY:
            column = arrow_column(entries, cast(ConnectSchema, schema.element))
            return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), column, type=kind, mask=mask)
        inner_values = [entry for value in values for entry in (value or {}).values()]
        keys = arrow_column(entries, cast(ConnectSchema, schema.key))
        column = arrow_column(inner_values, cast(ConnectSchema, schema.element))
        return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, column, type=kind, mask=mask)
    if pa.types.is_temporal(kind):
        numbers = [
            None if value is None else value.days if isinstance(value, Day) else value.micros for value in values
        ]
        return pa.array(numbers, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    return pa.array(values, kind)
