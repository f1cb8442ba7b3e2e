"""A connector's transforms, one after the other. What only some connectors need is loaded for these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema

from floe.config.converters.kinds import JSON
from floe.config.sections.transforms import TransformSpec, source_columns, split_chain
from floe_job.convert.column_limits import ChunkPart, in_parts
from floe_job.source.record_batch import ParsedValues, Records

if TYPE_CHECKING:
    from floe.config.sections.routing import Routing
    from floe.config.transforms.options import SourceColumnNames, TransformOptions
    from floe_job.contract.task import RouteRules
    from floe_job.convert.base import Converters, TableConverter
    from floe_job.schema.evolution import Path
    from floe_job.schema.proposal import ColumnRules, Proposal
    from floe_job.transform.base import ColumnTransform, Predicate, RecordTransform, Refusal
    from floe_job.transform.batch import ParsedBatch, Readers
    from floe_job.transform.field_steps.plan import FieldRows
    from floe_job.transform.record_metadata import RecordMetadata
    from floe_job.transform.value_change import EachValue


@dataclass(frozen=True)
class _Step:
    transform: RecordTransform
    reads: Reads
    reads_keys: bool
    predicate: Predicate | None
    negate: bool

    @classmethod
    def of(cls, spec: TransformSpec) -> _Step:
        from floe_job.transform.base import engine_of, predicate_of, transform_of

        predicate = None if spec.predicate is None else predicate_of(spec.predicate)
        reads = Reads(engine_of(spec.options).reads)
        return cls(transform_of(spec.options), reads, spec.options.reads_keys, predicate, spec.negate)

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        if self.reads is not Reads.NOTHING:
            batch = batch.with_values() if self.reads is Reads.COLUMNS else batch.with_objects()
        if self.reads_keys:
            batch = batch.with_keys()
        if self.predicate is None:
            return self.transform.apply(batch)
        chosen, others = batch.parted([bool(holds) is not self.negate for holds in self.predicate.test(batch)])
        return self.transform.apply(chosen).joined(others) if len(chosen) else batch


PARSED_BYTES = 4 * 1024 * 1024
"""Bytes of values that are parsed at once: as Python's objects they take ten times that."""


class Chain:
    """The transforms in their order: those that see records, and after them the columns that are added to rows."""

    def __init__(
        self, specs: Sequence[TransformSpec], routing: Routing | None = None, *, is_plain_json: bool = True
    ) -> None:
        """Raises ValueError for a transform without code. ``routing``: None leaves no transforms of fields to ``field_rows``.

        ``is_plain_json``: whether values are JSON without schemas. Other values are columns before they are routed.
        """
        self._specs, self._route_field = specs, "" if routing is None else routing.field
        whole, self._added = split_chain(specs, self._route_field)
        steps = [_Step.of(spec) for spec in whole]
        left = _steps_of_fields(steps, whole, routing) if routing is not None and is_plain_json else 0
        self._steps = steps[: len(steps) - left]
        self._field_steps = [cast("EachValue", step.transform) for step in steps[len(steps) - left :]]

    @classmethod
    def of(cls, specs: Sequence[TransformSpec]) -> Chain:
        """Make the chain of a connector's transforms."""
        return cls(specs)

    @classmethod
    def of_task(cls, routes: RouteRules) -> Chain:
        """Make the chain of a task: transforms of fields may be left to ``field_rows``."""
        return cls(routes.transforms, routes.routing, is_plain_json=routes.value_converter.kind == JSON)

    @property
    def is_columnar(self) -> bool:
        """Whether it only adds columns: then no record is parsed before it is routed."""
        return not self._steps

    @property
    def source_columns(self) -> tuple[SourceColumnNames, ...]:
        """Where rows may have topic, partition and offset of their records."""
        return source_columns(self._specs, self._route_field)

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Apply the transforms that see records."""
        for step in self._steps:
            if not len(batch):
                break
            batch = step.apply(batch)
        return batch

    @property
    def reads_keys(self) -> bool:
        """Whether a transform has to see parsed keys."""
        return any(step.reads_keys for step in self._steps)

    def batches(self, records: Records, readers: Readers) -> Iterator[ParsedBatch]:
        """Apply the transforms that see records to them, tombstones too; some at a time, where their values are parsed."""
        size = max(1, len(records))
        if any(step.reads is not Reads.NOTHING for step in self._steps):
            size = max(1, PARSED_BYTES * len(records) // max(1, records.values.nbytes))
        for start in range(0, len(records), size):
            some = records.select(range(start, min(start + size, len(records)))) if size < len(records) else records
            for _, batch in in_parts(len(some), partial(self._applied, some, readers)):
                yield batch

    def _applied(self, records: Records, readers: Readers, part: ChunkPart) -> ParsedBatch:
        from floe_job.transform.batch import ParsedBatch

        some = records if part == (0, len(records)) else records.select(range(*part))
        return self.without_refused(self.apply(ParsedBatch.unread(some, readers)))

    @property
    def refuses_tombstones(self) -> bool:
        """Whether ``without_refused`` may refuse any."""
        return any(step.change.takes_null for step in self._field_steps)

    def without_refused(self, batch: ParsedBatch) -> ParsedBatch:
        """Refuse the tombstones that transforms refuse which were left to ``field_rows``: no table gets them."""
        steps = [step for step in self._field_steps if step.change.takes_null]
        rows = np.flatnonzero(batch.is_tombstone).tolist() if steps else []
        if not rows:
            return batch
        none = replace(batch.select(rows), values=ParsedValues([None] * len(rows)), rejected=())
        for step in steps:
            none = step.apply(none)
        row_of = {batch.places[row]: row for row in rows}
        return batch.reject({row_of[one.index]: one.reason for one in none.rejected})

    def field_rows(
        self, schema: Schema | None, rules: ColumnRules, table: TableConverter, converters: Converters
    ) -> FieldRows | None:
        """Make what decodes the records of a table, if transforms of fields were left to it.

        ``schema``, ``rules``, ``table``: of the table, without columns that are added; ``converters``: of values.
        """
        if not self._field_steps:
            return None
        from floe_job.transform.field_steps.plan import FieldPlan, FieldRows

        changes = [step.change for step in self._field_steps]
        plan = None if schema is None else FieldPlan.of(schema, rules, changes)
        return FieldRows(self._field_steps, table, converters, plan)

    def columns_of(self, schema: Schema | None, *, fold: bool) -> ColumnTransform:
        """Make what adds the columns to one table; with ``fold`` regardless of case. Raises UnsupportedColumn."""
        by_kind: dict[type[TransformOptions], list[TransformOptions]] = {}
        for spec in self._added:
            by_kind.setdefault(type(spec.options), []).append(spec.options)
        makers: list[Callable[[Schema | None], ColumnTransform]] = []
        if by_kind:
            from floe_job.transform.base import engine_of
        for options in by_kind.values():
            columns = engine_of(options[0]).columns
            if columns is None:
                problem = f"{type(options[0]).__name__} is said to be columnar, and its engine makes no columns"
                raise ValueError(problem)
            makers.append(partial(columns, transforms=options, fold=fold))
        return makers[0](schema) if len(makers) == 1 else Columns(schema, makers)


def _steps_of_fields(steps: Sequence[_Step], specs: Sequence[TransformSpec], routing: Routing) -> int:
    """Return how many steps at the end only change fields, if those before see no values, and none decides the route."""
    if not steps:
        return 0
    from floe_job.transform.value_change import EachValue

    count = 0
    for step, spec in zip(reversed(steps), reversed(specs), strict=True):
        is_own = isinstance(step.transform, EachValue) and step.transform.is_of_fields and step.predicate is None
        if not is_own or spec.options.changes_routing(routing.by, routing.name):
            break
        count += 1
    return count if all(step.reads is Reads.NOTHING for step in steps[: len(steps) - count]) else 0


class Columns:
    """Columns of several kinds, or of none."""

    def __init__(self, schema: Schema | None, makers: Sequence[Callable[[Schema | None], ColumnTransform]]) -> None:
        """``makers``: in the order in which columns are added; the last one sees the table's whole schema."""
        self._parts: list[ColumnTransform] = []
        self.record_schema = schema
        for make in reversed(makers):
            part = make(self.record_schema)
            self._parts.insert(0, part)
            self.record_schema = part.record_schema
        self.injected = frozenset[str]().union(*(part.injected for part in self._parts))
        self.with_keys = any(part.with_keys for part in self._parts)
        self.with_headers = any(part.with_headers for part in self._parts)

    @property
    def full_names(self) -> frozenset[str]:
        """The dotted names of all that is filled in."""
        return frozenset[str]().union(*(part.full_names for part in self._parts))

    def needs(self) -> dict[Path, Proposal]:
        """Propose what the table lacks."""
        return {path: proposal for part in self._parts for path, proposal in part.needs().items()}

    def fill(self, rows: pa.Table, metadata: RecordMetadata) -> tuple[pa.Table, list[Refusal]]:
        """Add the columns of each kind in turn; a row that one refuses is not shown to the next."""
        refusals: list[Refusal] = []
        places = list(range(len(metadata)))
        for part in self._parts:
            rows, refused = part.fill(rows, metadata)
            refusals += [(places[row], error, reason) for row, error, reason in refused]
            if refused:
                gone = {row for row, _, _ in refused}
                kept = [row for row in range(len(metadata)) if row not in gone]
                metadata, places = metadata.take(kept), [places[row] for row in kept]
        return rows, sorted(refusals)


# What a record transform has to see of values.


class Reads(Enum):
    """What a record transform has to see of values: nothing; columns where they are, else objects; objects always."""

    NOTHING = "nothing"
    COLUMNS = "columns"
    OBJECTS = "objects"
