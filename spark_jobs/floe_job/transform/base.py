"""The interfaces of transforms.

A *record transform* sees whole records before routing, and may do what a single message transform of Kafka Connect may:
change value, key, headers and timestamp, rename the topic, leave a record out, or refuse it. A *column transform* only adds
columns to rows that are decoded already, a column at once. Each of them guarantees:

* A record that it refuses is the only one affected; the order of the others does not change.
* The result is the same however the records are cut into batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa
from pyiceberg.schema import Schema

from floe_job.schema.evolution import Path
from floe_job.schema.proposal import Proposal
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.record_metadata import RecordMetadata

Refusal = tuple[int, str, str]
"""A row that a column transform refuses: its index, the error's name, the reason."""


class RecordTransform(Protocol):
    """Changes whole records."""

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Return the batch with its changes; given values are not modified, but replaced by others."""


class Predicate(Protocol):
    """A condition on records."""

    def test(self, batch: ParsedBatch) -> Sequence[bool]:
        """Return for each record whether the condition is true."""


class ColumnTransform(Protocol):
    """Adds columns to the rows of one table, whose schema is None while it does not exist.

    ``injected``: the top-level names that it fills in, in the table or not. ``full_names``: the dotted names of all of it.
    ``record_schema``: the table's schema without them. ``with_keys``, ``with_headers``: what ``fill`` requires.
    """

    injected: frozenset[str]
    record_schema: Schema | None
    with_keys: bool
    with_headers: bool

    @property
    def full_names(self) -> frozenset[str]: ...

    def needs(self) -> dict[Path, Proposal]:
        """Propose what the table lacks."""

    def fill(self, rows: pa.Table, metadata: RecordMetadata) -> tuple[pa.Table, list[Refusal]]:
        """Add the columns to rows of ``record_schema``; rows that they refuse are left out."""
