"""The dead letters of a slice: their table, those that are open, and the announced files of the table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from floe.config.sections.tables import TableSettings
from floe.control.announcement import TableFiles
from floe.kafka.admin import Cluster
from floe.kafka.dead_letter_topic import ensure_dead_letter_topic
from floe.model.accounting import TableCounts
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.intervals import Intervals
from floe.model.ranges import OffsetRange
from floe.tables.table_state import TableStates
from floe_job.contract.result import DeadLetterResult
from floe_job.contract.task import DeadLetterRules
from floe_job.dead_letters import DEAD_LETTERS_SCHEMA, check_suitable
from floe_job.driver.job import SliceJob
from floe_job.driver.slice_table import SliceTable
from floe_job.driver.write_check import check_writable


@dataclass(frozen=True)
class SliceDeadLetters:
    """The destination of the slice's dead letters. ``table``: None without one.

    ``scan_open_dead_letters``: dead letters of the slice's offsets from earlier runs, which are not resolved yet.
    """

    table: SliceTable | None = None
    scan_open_dead_letters: DeadLetterOffsets = field(default_factory=DeadLetterOffsets)

    @classmethod
    def open(cls, job: SliceJob, states: TableStates) -> "SliceDeadLetters":
        """Open the table and the topic of dead letters, created where they are missing. Raises the error that prevents it."""
        policy = job.connector.errors
        table = None if policy.table is None else _opened(job, states, policy.table)
        scan_open_dead_letters = DeadLetterOffsets() if table is None else _scan_dead_letters(states, table)
        if policy.topic is not None:
            ensure_dead_letter_topic(Cluster.of_control(job.settings), policy.topic, policy.topic_replication)
        return cls(table, scan_open_dead_letters)

    def rules(self, job: SliceJob) -> DeadLetterRules:
        """Return what tasks need to store dead letters."""
        policy = job.connector.errors
        return DeadLetterRules(
            policy=policy,
            connector=job.connector.name,
            commit_id=str(job.plan.commit_id),
            target=None if self.table is None else self.table.target(job),
            known=self.scan_open_dead_letters,
            conf=job.settings.control if policy.topic is not None else {},
        )

    def counts(self, results: Iterable[DeadLetterResult]) -> TableCounts | None:
        """Return the record counts of the table; None without one."""
        return None if self.table is None else sum((result.counts for result in results), TableCounts())

    def announced(self, job: SliceJob, results: Sequence[DeadLetterResult]) -> TableFiles | None:
        """Return the announced files of the table; None when nothing was written to it."""
        counts = self.counts(results)
        if self.table is None or counts is None:
            return None
        written = [result.files for result in results if result.files and result.files.files]
        return self.table.announced(job.connector, written, counts)


def _opened(job: SliceJob, states: TableStates, name: str) -> SliceTable:
    topics, uuid = job.topics, job.plan.tables
    state = states.one(name, topics, uuid=uuid)
    if state.table is None:
        states.client.create(name, DEAD_LETTERS_SCHEMA, TableSettings())
        state = states.one(name, topics, must_exist=True)
    check_suitable(name, state.required().schema())
    new = tuple((r, state.ledger.new_offsets(r, state.routes[r.topic])) for r in job.slice.ranges)
    table = SliceTable(state, new)
    check_writable(table.target(job))
    return table


def _scan_dead_letters(states: TableStates, dead_letters: SliceTable) -> DeadLetterOffsets:
    """Return the open dead letters of the offsets that the table has seen before.

    Those are read a second time because a run died, because a table that was behind is caught up, or by a replay.
    """
    seen = [
        OffsetRange(r.topic, r.topic_id, r.partition, start, end)
        for r, new in dead_letters.new_offsets
        for start, end in Intervals.of([(r.start, r.end)]) - new
    ]
    return states.open_dead_letters(seen, dead_letters.state)
