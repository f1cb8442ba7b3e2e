"""The interface of decoders of values with schemas: Avro, Protobuf, JSON with an envelope, plain types.

A decoder turns bytes into columns, and knows nothing of tables. It guarantees:

* A record that is not right is the only one rejected, with the reason; its neighbours are decoded.
* The result is the same however the records are cut into batches.
* Columns have the Arrow type that ``floe_job.connect.arrow`` has for the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from floe_job.connect.schema import ConnectSchema
from floe_job.contract.dead_letter import Rejected
from floe_job.source.record_batch import ParsedValues

Places = np.ndarray[Any, np.dtype[np.int64]]
"""Indices of records in a batch, ascending."""


@dataclass(frozen=True)
class TypedPart:
    """Records of one schema: ``places[i]`` is the index in the batch of the record whose value is ``column[i]``."""

    schema: ConnectSchema
    places: Places
    column: pa.Array


@dataclass(frozen=True)
class SchemalessPart:
    """Records that came without a schema: the index in the batch of each, and its value as JSON, or as it was parsed."""

    places: Places
    values: Sequence[bytes] | ParsedValues


@dataclass(frozen=True)
class TypedBatch:
    """A decoded batch: each record is in one of the parts, or rejected.

    ``fast_rows``: of the records, those that were decoded as columns. ``schemaless``: those that came without a schema.
    """

    parts: tuple[TypedPart, ...]
    rejected: tuple[Rejected, ...]
    fast_rows: int
    schemaless: SchemalessPart | None = None


class TypedDecoder(Protocol):
    """Decodes the values (or keys, or one header) of records. One per task and use."""

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None.

        Raises RegistryError, where schemas come from a registry that does not answer. ColumnsTooLarge for several values
        whose columns would take too much memory together.
        """
