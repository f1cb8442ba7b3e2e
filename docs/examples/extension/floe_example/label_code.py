"""The code of a transform that only adds columns: to rows, and to records where other transforms come behind."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from floe_example.label import Label
from floe_job.schema.evolution import Path
from floe_job.schema.proposal import Proposal
from floe_job.transform.base import Refusal
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.record_metadata import RecordMetadata


class LabelRecords:
    """The same, where other transforms come behind."""

    def __init__(self, options: Label) -> None:
        self._column = options.column

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        return batch.changed(values=[v if v is None else {**v, self._column: "x"} for v in batch.values])


class LabelColumns:
    """Adds the columns to rows."""

    with_keys = with_headers = False

    def __init__(self, schema: Schema | None, transforms: Sequence[Label], *, fold: bool = False) -> None:
        self._transforms = transforms
        self._schema = schema or Schema()
        self.injected = frozenset(one.column for one in transforms)
        own = (field for field in self._schema.fields if field.name not in self.injected)
        self.record_schema = None if schema is None else Schema(*own)

    @property
    def full_names(self) -> frozenset[str]:
        return self.injected

    def needs(self) -> dict[Path, Proposal]:
        there = {field.name for field in self._schema.fields}
        return {(name,): "string" for name in sorted(self.injected - there)}

    def fill(self, rows: pa.Table, metadata: RecordMetadata) -> tuple[pa.Table, list[Refusal]]:
        refused = [
            row for row, offset in enumerate(metadata.offsets) if any(o.picky for o in self._transforms) and offset % 2
        ]
        rows = rows.take([row for row in range(rows.num_rows) if row not in refused]) if refused else rows
        wanted = schema_to_pyarrow(self._schema)
        arrays = [pa.array(["x"] * rows.num_rows, f.type) if f.name in self.injected else rows[f.name] for f in wanted]
        return pa.Table.from_arrays(arrays, schema=wanted), [(row, "Odd", "an odd offset") for row in refused]
