"""The dead letters of a slice: their table, those that are open, and the announced files of the table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from floe.control.announcement import TableAnnouncement
from floe.model.accounting import TableCounts
from floe.model.dead_letters import DeadLetterOffsets
from floe.slices.dead_letter_table import DeadLetterTable
from floe_job.contract.result import DeadLetterResult
from floe_job.contract.task import DeadLetterRules
from floe_job.driver.job import SliceJob
from floe_job.driver.slice_table import SliceTable
from floe_job.driver.write_check import check_writable


@dataclass(frozen=True)
class SliceDeadLetters:
    """The destination of the slice's dead letters. ``table``: None without one.

    ``open_dead_letters``: dead letters of the slice's offsets from earlier runs, which are not resolved yet.
    """

    table: SliceTable | None = None
    open_dead_letters: DeadLetterOffsets = field(default_factory=DeadLetterOffsets)

    @classmethod
    def of(cls, job: SliceJob, found: DeadLetterTable | None) -> "SliceDeadLetters":
        """Return the destination of the dead letters. Raises TableUnsuitable for a table that no file can be written for."""
        if found is None:
            return cls()
        table = SliceTable(found.state, found.new_offsets)
        check_writable(table.target(job))
        return cls(table, found.open_dead_letters)

    def rules(self, job: SliceJob) -> DeadLetterRules:
        """Return what tasks need to store dead letters."""
        policy = job.connector.errors
        return DeadLetterRules(
            policy=policy,
            connector=job.connector.name,
            commit_id=str(job.plan.commit_id),
            target=None if self.table is None else self.table.target(job),
            known=self.open_dead_letters,
            conf=job.settings.control if policy.topic is not None else {},
        )

    def counts(self, results: Iterable[DeadLetterResult]) -> TableCounts | None:
        """Return the record counts of the table; None without one."""
        return None if self.table is None else sum((result.counts for result in results), TableCounts())

    def announced(self, job: SliceJob, results: Sequence[DeadLetterResult]) -> TableAnnouncement | None:
        """Return what is announced of the table; None where there is none, or nothing for it."""
        counts = self.counts(results)
        if self.table is None or counts is None or not counts.assigned:
            return None
        written = [result.files for result in results if result.files and result.files.files]
        return TableAnnouncement(counts, self.table.written(job.connector, written))
