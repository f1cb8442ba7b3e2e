"""A decoder of typed values that are decoded already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import arrow_type
from floe_job.convert.typed.base import TypedBatch, TypedPart


class GivenValues:
    """A decoder each of whose values is a schema and a Python value."""

    def decode(self, values: Sequence[Any]) -> TypedBatch:
        """Return the values, a part for each schema."""
        parts = []
        for schema in dict.fromkeys(schema for schema, _ in values):
            places = [i for i, (other, _) in enumerate(values) if other == schema]
            column = pa.array([values[i][1] for i in places], arrow_type(schema))
            parts.append(TypedPart(schema, np.array(places, np.int64), column))
        return TypedBatch(tuple(parts), (), len(values))
