"""What the tasks of a slice did, checked against their input before anything is announced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from floe.model.accounting import RangeCounts, TableCounts, balance_tables, check_range_counts
from floe.model.offsets import OffsetRange, PartitionLog, TopicPartition
from floe_job.contract.result import DeadLetterResult, RangePartResult, TaskResult
from floe_job.dead_letters.limits import check_ratio
from floe_job.driver.inputs import SliceInputs
from floe_job.driver.job import SliceJob
from floe_job.driver.rounds import Done
from floe_job.driver.slice_tables import SliceTables
from floe_job.exceptions import RangeLost

RangeParts = Mapping[OffsetRange, Sequence[RangePartResult]]
"""What was read of each range, in the order of its offsets."""


@dataclass(frozen=True)
class CheckedSlice:
    """The slice as it was read and written, with record counts that add up.

    ``tables``: the counts by table, without tables that no record reached where records name them; ``dead_letter_counts``:
    those of the dead-letter table.
    """

    slice_tables: SliceTables
    results: tuple[TaskResult, ...]
    range_parts: RangeParts
    ranges: tuple[tuple[OffsetRange, RangeCounts], ...]
    tables: Mapping[str, TableCounts]
    dead_letter_counts: TableCounts | None

    @property
    def dead_letter_results(self) -> list[DeadLetterResult]:
        """The dead letters of each task."""
        return [result.dead_letters for result in self.results]


def check(inputs: SliceInputs, done: Done, logs: Mapping[TopicPartition, PartitionLog]) -> CheckedSlice:
    """Check what was read and written; ``logs``: as they are after reading.

    Raises RangeLost, CountsDoNotAddUp and TooManyDeadLetters.
    """
    job, results = inputs.job, done.results
    range_parts = _range_parts(job, results)
    _check_topics(job, range_parts, logs)
    checked = CheckedSlice(
        slice_tables=done.tables,
        results=results,
        range_parts=range_parts,
        ranges=tuple((r, sum((p.counts for p in read), RangeCounts())) for r, read in range_parts.items()),
        tables=_table_counts(job, done),
        dead_letter_counts=inputs.dead_letters.counts(result.dead_letters for result in results),
    )
    for r, counts in checked.ranges:
        check_range_counts(r, counts)
    deliveries = sum(read.deliveries for result in results for read in result.range_parts)
    balance_tables([counts for _, counts in checked.ranges], checked.tables, deliveries, checked.dead_letter_counts)
    if not job.is_redrive:  # a redrive reads records that were dead before
        _check_ratio(job, checked)
    return checked


def _range_parts(job: SliceJob, results: Sequence[TaskResult]) -> RangeParts:
    range_parts: dict[OffsetRange, list[RangePartResult]] = {r: [] for r in job.slice.ranges}
    for read in (part for result in results for part in result.range_parts):
        range_parts[read.part.range].append(read)
    return {r: sorted(found, key=lambda p: p.part.start) for r, found in range_parts.items()}


def _table_counts(job: SliceJob, done: Done) -> dict[str, TableCounts]:
    counts = {
        name: sum((result.tables[name].counts for result in done.results if name in result.tables), TableCounts())
        for name in done.tables.by_name
    }
    return counts if job.slice.tables else {name: found for name, found in counts.items() if found.assigned}


def _check_topics(job: SliceJob, range_parts: RangeParts, logs: Mapping[TopicPartition, PartitionLog]) -> None:
    """Raise RangeLost for ranges whose topic was re-created, or whose start was removed, while they were read."""
    for r in job.slice.ranges:
        now = logs.get(r.tp)
        if now is None or now.topic_id != r.topic_id:
            msg = f"topic {r.topic!r} was re-created while {r} was read. Nothing was announced"
            raise RangeLost(msg)
        first = min((p.first_offset for p in range_parts[r] if p.first_offset is not None), default=None)
        if (first is None or first > r.start) and now.log_start > r.start:
            msg = (
                f"{r} begins with a gap and the log of {r.tp} begins at {now.log_start} by now: records may have "
                "been removed before they were read. Nothing was announced; the next plan says what is lost."
            )
            raise RangeLost(msg)


def _check_ratio(job: SliceJob, checked: CheckedSlice) -> None:
    """Raise TooManyDeadLetters when more of the checked records are dead than the connector allows."""
    ranges, tables = [counts for _, counts in checked.ranges], checked.tables.values()
    dead = sum(counts.dead for counts in ranges) + sum(counts.dead for counts in tables)
    examined = sum(counts.dead + counts.dropped for counts in ranges) + sum(counts.assigned for counts in tables)
    named = [dead_letter for result in checked.dead_letter_results for dead_letter in result.named]
    check_ratio(dead, examined, job.connector.errors.max_ratio, named)
