"""The interfaces of transforms.

A *record transform* sees whole records before routing, and may do what a single message transform of Kafka Connect may:
change value, key, headers and timestamp, rename the topic, leave a record out, or refuse it. A *column transform* only adds
columns to rows that are decoded already, a column at once. Each of them guarantees:

* A record that it refuses is the only one affected; the order of the others does not change.
* The result is the same however the records are cut into batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyiceberg.schema import Schema

from floe_job.schema.evolution import Path
from floe_job.schema.proposal import Proposal
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.record_metadata import RecordMetadata

if TYPE_CHECKING:
    from floe.config.sections.transforms import PredicateSpec
    from floe.config.transforms.options import TransformEngine, TransformOptions


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


# The code of a chain's transforms and conditions, as their settings name it. A module is loaded once a chain needs
# it.


def engine_of(options: TransformOptions) -> TransformEngine:
    """Return the code for some settings. Raises ValueError where they name none."""
    engine: TransformEngine | None = getattr(type(options), "engine", None)
    if engine is None:
        problem = f"nothing transforms by {type(options).__qualname__}: its class has no `engine`"
        raise ValueError(problem)
    return engine


def transform_of(options: Any) -> RecordTransform:
    """Make a transform of records from its settings. Raises what ``engine_of`` and the code raise."""
    engine = engine_of(options)
    made: Any = engine.records(options)
    if engine.changes == "records":
        found: RecordTransform = made
        return found
    from floe_job.transform.value_change import EachValue

    return EachValue(made, options.side) if engine.changes == "side" else EachValue(made)


def predicate_of(spec: PredicateSpec) -> Predicate:
    """Return the code of a condition."""
    found: Predicate = spec.engine(spec)
    return found
