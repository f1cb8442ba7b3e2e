"""One task's rows for one table: records are decoded to its columns, written, and counted."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from floe.catalogs.exceptions import TableRefused
from floe.model.accounting import TableCounts
from floe.model.offsets import Intervals, OffsetRange
from floe.parquet.budget import WriteBudget
from floe_job.contract.dead_letter import DeadLetter, OutcomeRecorder, Rejected, dead_letters_of
from floe_job.contract.task import TableResult, TableTarget
from floe_job.convert.base import Converters, Decoded
from floe_job.convert.column_limits import ChunkPart, in_parts
from floe_job.exceptions import TABLE, TRANSFORM, Unconvertible
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.limits import reserved_names
from floe_job.source.record_batch import UNREADABLE, Records
from floe_job.transform.chain import Chain
from floe_job.transform.record_metadata import metadata_of
from floe_job.write.partition_limits import PartitionLimits
from floe_job.write.task_files import RowSink, TargetFiles

REFUSED = TableRefused.__name__
"""The error of such records, whatever kept the table from taking them."""


class TableRows:
    """Takes records in the order of their offsets; the files are complete after ``close``."""

    def __init__(
        self,
        target: TableTarget,
        task_index: int,
        converters: Converters,
        budget: WriteBudget | None = None,
        sink: RowSink | None = None,
        chain: Chain | None = None,
    ) -> None:
        """Write rows to files of this task, or else pass them to ``sink``. ``converters``: of the task's values.

        ``chain``: the task's, which may leave transforms of fields to each table.
        """
        self._target = target
        schema = target.metadata.schema() if target.metadata is not None else None
        chain = chain or Chain.of(target.transforms)
        self._columns = chain.columns_of(schema, fold=target.rules.case_insensitive)
        specs = () if target.metadata is None else target.metadata.partition_specs
        rules = replace(
            target.rules,
            injected=self._columns.injected,
            taken=self._columns.full_names,
            reserved=frozenset() if schema is None else reserved_names(specs, schema),
        )
        self._decoder = converters.for_table(
            self._columns.record_schema,
            rules,
            create=target.metadata is None,
            name_mapping=target.metadata.name_mapping() if target.metadata is not None else None,
        )
        has_mapping = target.metadata is not None and target.metadata.name_mapping() is not None
        planned = None if has_mapping else self._columns.record_schema
        self._field_rows = chain.field_rows(planned, rules, self._decoder, converters)
        grows = target.rules.evolve or target.metadata is None
        self._missing = self._columns.needs() if grows else {}
        self._limits = PartitionLimits(target.metadata.spec(), schema) if schema and target.metadata else None
        self._files: RowSink = sink or TargetFiles(target, task_index, budget)
        self._assigned = self._held = self._backlog = self._dead = self._fast = 0
        self._watch = OutcomeRecorder(target.dead_letters)

    @property
    def name(self) -> str:
        return self._target.name

    @property
    def needs(self) -> SchemaChanges:
        """What the table lacks."""
        needs = self._decoder.needs
        if self._assigned > self._held + self._backlog + self._dead:
            needs.update(self._missing)
        return needs

    def take(self, records: Records, *, is_final: bool = True) -> list[DeadLetter]:
        """Make rows of the records that the table does not contain yet; return the dead letters. Raises WriteFailed.

        Without ``is_final``, none is returned once a column is missing: the task runs again, and finds them again.
        """
        self._assigned += len(records)
        part_range = records.part.range
        if part_range in self._target.backlog:
            self._backlog += len(records)
            self._watch.passed(part_range, records.offsets)
            return []
        held = self._target.held.get(part_range, Intervals())
        if held:
            fresh = records.select([i for i, offset in enumerate(records.offsets) if not held.has(offset)])
            self._watch.passed(part_range, (offset for offset in records.offsets if held.has(offset)))
            self._held += len(records) - len(fresh)
            records = fresh
        if not len(records):
            return []
        if self._target.refusal is not None:
            return self._refuse(records, self._target.refusal)
        dead_letters: list[DeadLetter] = []
        for part, decoded in in_parts(len(records), lambda part: self._decode(_some(records, part))):
            dead_letters += self._take_decoded(_some(records, part), decoded, is_final=is_final)
        return dead_letters

    def _decode(self, records: Records) -> Decoded:
        return self._decoder.decode(records.content) if self._field_rows is None else self._field_rows.decode(records)

    def _take_decoded(self, records: Records, decoded: Decoded, *, is_final: bool) -> list[DeadLetter]:
        """Write what was decoded of some records; return the dead letters."""
        part_range = records.part.range
        self._fast += decoded.fast_rows
        if self._decoder.needs and not is_final:
            self.abort()
            self._dead += len(decoded.rejected)
            return []
        dead_letters = dead_letters_of(records, decoded.rejected, self.name)
        dead_letters += self._write(records, decoded)
        self._dead += len(dead_letters)
        if self._target.dead_letters:
            refused = {dead_letter.offset for dead_letter in dead_letters}
            self._watch.refused(part_range, sorted(refused))
            self._watch.written(part_range, (offset for offset in records.offsets if offset not in refused))
        return dead_letters

    def is_plain(self, part_range: OffsetRange) -> bool:
        """Return whether rows of a range may be passed decoded.

        That requires that none is already written, in a backlog, watched, filled in, or without a partition.
        """
        target = self._target
        special = (
            part_range in target.backlog or target.held.get(part_range) or target.dead_letters or self._columns.injected
        )
        return not special and target.refusal is None and not self._limits and not self._decoder.needs

    def take_rows(self, rows: pa.Table, *, fast: bool) -> None:
        """Take rows of as many records, of a plain range; ``fast``: they took the columnar path. Raises WriteFailed."""
        self._assigned += rows.num_rows
        self._fast += rows.num_rows if fast else 0
        self._files.write(rows)

    def close(self, *, complete: bool) -> TableResult:
        """Close the files and count their rows from their footers; without ``complete`` nothing is kept."""
        if not complete:
            self.abort()
            return TableResult(needs=self.needs or None)
        files, rows = self._files.close()
        counts = TableCounts(
            assigned=self._assigned, rows=rows, dead=self._dead, held=self._held, backlog=self._backlog
        )
        return TableResult(counts, files, fast=self._fast, outcomes=self._watch.outcomes())

    def abort(self) -> None:
        """Drop what is not closed yet."""
        self._files.abort()

    def _refuse(self, records: Records, reason: str) -> list[DeadLetter]:
        """Make dead letters of all records, as the table refuses; none of them is decoded."""
        refused = (Rejected(i, TABLE, reason, REFUSED) for i in range(len(records)))
        self._dead += len(records)
        self._watch.refused(records.part.range, records.offsets)
        return dead_letters_of(records, refused, self.name)

    def _write(self, records: Records, decoded: Decoded) -> Sequence[DeadLetter]:
        """Write rows until a column turns out to be missing; then the task only reads on. Return the dead letters."""
        if self._decoder.needs or self._missing:
            self.abort()
            return []
        rows = decoded.table
        if rows is None or len(decoded.rejected) == len(records):
            return []
        dead_letters: list[DeadLetter] = []
        if self._columns.injected or self._limits:
            records = records.without([r.index for r in decoded.rejected])
        if self._columns.injected:
            if self._columns.with_headers:
                rows, records, dead_letters = self._without_unreadable(rows, records)
            metadata = metadata_of(records, keys=self._columns.with_keys, headers=self._columns.with_headers)
            rows, refused = self._columns.fill(rows, metadata)
            dead_letters += dead_letters_of(
                records, (Rejected(i, TRANSFORM, why, error) for i, error, why in refused), self.name
            )
            records = records.without([index for index, _, _ in refused])
        if self._limits and rows.num_rows:
            rows, placeless = self._without_placeless(rows, records, self._limits)
            dead_letters += placeless
        if rows.num_rows:
            self._files.write(rows)
        return dead_letters

    def _without_placeless(
        self, rows: pa.Table, records: Records, limits: PartitionLimits
    ) -> tuple[pa.Table, list[DeadLetter]]:
        """Take out the rows that have no partition."""
        refused = limits.refused(rows)
        if not refused:
            return rows, []
        stage, error = Unconvertible.stage, Unconvertible.__name__
        dead_letters = dead_letters_of(
            records, (Rejected(i, stage, refused[i], error) for i in sorted(refused)), self.name
        )
        return rows.take(np.delete(np.arange(len(records)), list(refused))), dead_letters

    def _without_unreadable(self, rows: pa.Table, records: Records) -> tuple[pa.Table, Records, list[DeadLetter]]:
        """Take out the records whose headers cannot become a column."""
        bad = [index for index in range(len(records)) if records.headers(index) is None]
        if not bad:
            return rows, records, []
        dead_letters = dead_letters_of(
            records, (Rejected(i, TRANSFORM, UNREADABLE, "Unconvertible") for i in bad), self.name
        )
        kept = np.delete(np.arange(len(records)), bad)
        return (rows.take(kept) if rows.num_columns else rows), records.without(bad), dead_letters


def _some(records: Records, part: ChunkPart) -> Records:
    return records if part == (0, len(records)) else records.select(range(*part))
