"""Rows of one table from records whose fields a chain of transforms changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from floe_job.contract.rejected_record import Rejected
from floe_job.convert.base import Converters, Decoded, TableConverter
from floe_job.source.record_batch import Records
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.field_steps.demand import Mask
from floe_job.transform.field_steps.plan import FieldPlan
from floe_job.transform.readers import UNREAD, Readers, value_reader
from floe_job.transform.value_change import EachValue


class FieldRows:
    """Decodes the records of a table: as columns where that is exact, else value by value.

    ``needs`` and what they mean are those of the table's converter.
    """

    def __init__(
        self, steps: Sequence[EachValue], table: TableConverter, converters: Converters, plan: FieldPlan | None
    ) -> None:
        """``table``: the converter of the table, for values as the steps leave them. ``plan``: None where there is none."""
        self._steps = steps
        self._table = table
        self._readers = Readers(value_reader(converters), UNREAD.keys)
        self._plan = plan

    def decode(self, records: Records) -> Decoded:
        """Decode records, none of them a tombstone. Raises SchemaConflict, as the table's converter does."""
        if self._plan is None or self._table.needs:
            return self._exactly(records)
        rows, is_exact = self._plan.read(records)
        if not is_exact.any():
            return Decoded(rows, (), len(records), len(records))
        exact = np.flatnonzero(is_exact)
        decoded = self._exactly(records.select(exact.tolist()))
        rejected = tuple(one.at(int(exact[one.index])) for one in decoded.rejected)
        table = None if decoded.table is None else _merged(rows, decoded.table, is_exact, rejected)
        return Decoded(table, rejected, len(records) - len(exact), len(records))

    def _exactly(self, records: Records) -> Decoded:
        batch = ParsedBatch.unread(records, self._readers).with_objects()
        for step in self._steps:
            batch = step.apply(batch)
        decoded = self._table.decode(batch.values)
        rejected = [*batch.rejected, *(one.at(batch.places[one.index]) for one in decoded.rejected)]
        return Decoded(decoded.table, tuple(sorted(rejected, key=lambda one: one.index)), 0, len(records))


def _merged(rows: pa.Table, exact: pa.Table, is_exact: Mask, rejected: Sequence[Rejected]) -> pa.Table:
    """Join the rows of both ways in the order of their records."""
    kept = np.ones(len(is_exact), np.bool_)
    kept[[one.index for one in rejected]] = False
    order = np.empty(len(is_exact), np.int64)
    order[~is_exact] = np.arange(rows.num_rows)
    order[is_exact & kept] = rows.num_rows + np.arange(exact.num_rows)
    return pa.concat_tables([rows, exact]).take(pa.array(order[kept]))
