"""The driver's part of the job: one slice, in four steps.

``prepare`` reads the catalog and Kafka's offsets. ``run_rounds`` runs the tasks, which read and write. ``check`` compares
what they did with their input. ``announce`` sends the announcement once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from floe.control.announcement import Announcement, TableAnnouncement, encode_announcement, next_offset
from floe.control.signature import signed
from floe.control.wire.events import TopicPartitionOffset
from floe.crash_points import CrashPoint, reach
from floe.kafka.transactions import TransactionalProducer
from floe.model.dead_letters import MAX_SPANS, DeadLetterOffsets
from floe.model.exceptions import WriteTimeout
from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import SliceKind
from floe.modes.write_modes import mode_of
from floe_job.contract.dead_letter import DeadLetterOutcomes, Offsets
from floe_job.driver.inputs import SliceInputs, logs_after_reading, prepare
from floe_job.driver.job import SliceJob
from floe_job.driver.rounds import RunTasks, run_rounds
from floe_job.driver.slice_check import CheckedSlice, check
from floe_job.exceptions import SliceRefused

__all__ = ["AnnounceGate", "RunTasks", "SliceJob", "write_slice"]


def write_slice(job: SliceJob, run_tasks: RunTasks, gate: AnnounceGate | None = None) -> Announcement:
    """Read a slice, write its files and announce them. Raises only before anything is announced.

    ``run_tasks`` runs tasks on Spark and returns the results of those attempts that succeeded. ``gate``: entered before
    anything is sent, and raises if nothing may be.
    """
    begun = time.monotonic()
    inputs = prepare(job)
    outcome = run_rounds(inputs, run_tasks)
    producer = TransactionalProducer.connecting(job.settings, job.transactional_id)  # while what was written is checked
    checked = check(inputs, outcome, logs_after_reading(inputs.job))
    return announce(inputs, checked, gate or AnnounceGate(), begun, producer)


# The announcement of a slice that was checked: put together, and sent once.


log = logging.getLogger(__name__)


def announce(
    inputs: SliceInputs, checked: CheckedSlice, gate: AnnounceGate, begun: float, producer: TransactionalProducer
) -> Announcement:
    """Put the announcement together, enter the gate and send it.

    ``begun``: when the write began, by the monotonic clock. ``producer``: of the slice's id. Raises SliceRefused, and what
    the gate raises, before anything is sent.
    """
    job = inputs.job
    announcement = announcement_of(inputs, checked)
    if inputs.is_limited:
        announcement = replace(announcement, write_ms=round(1000 * (time.monotonic() - begun)))
    gate.begin()
    _send(job, announcement, producer)
    return announcement


def announcement_of(inputs: SliceInputs, checked: CheckedSlice) -> Announcement:
    """Put the announcement of a slice together. Raises SliceRefused when it would have to name too much."""
    job, dead_letters = inputs.job, inputs.dead_letters
    announced = {name: _announced(job, checked, name) for name in checked.tables}
    of_dead_letters = dead_letters.announced(job, checked.dead_letter_results)
    if job.plan.dead_letters and of_dead_letters is not None:
        announced[job.plan.dead_letters] = of_dead_letters
    tables = checked.slice_tables.by_name
    resolved = _resolved(inputs, checked)
    names_dead_letters = any(mode_of(job.scope, name).names_dead_letters for name in tables)
    return Announcement(
        slice_id=job.slice_id,
        commit_id=job.plan.commit_id,
        kind=job.slice.kind,
        ranges=job.slice.ranges,
        tables=announced,
        counts=checked.ranges,
        assignments=_assignments(job, checked),
        lost=_lost(job),
        recovered=resolved.recovered,
        resolved=resolved.resolved,
        reasons=_reasons(job, checked),
        known=dead_letters.open_dead_letters if names_dead_letters else DeadLetterOffsets(),
    )


def _announced(job: SliceJob, checked: CheckedSlice, name: str) -> TableAnnouncement:
    """Return what is announced of one table; one that refuses is behind, unless its records became dead letters."""
    of_table = [result.tables[name] for result in checked.results if name in result.tables]
    written = [found.files for found in of_table if found.files and found.files.files]
    table, counts = checked.slice_tables.by_name[name], checked.tables[name]
    is_behind = table.problem is not None and not table.is_for_dead_letters
    return TableAnnouncement(counts, table.written(job.connector, written), str(table.problem) if is_behind else None)


def _reasons(job: SliceJob, checked: CheckedSlice) -> dict[str, int]:
    """Return, for a redrive, how many records failed again, by error: they get no second dead letter."""
    reasons: Counter[str] = Counter()
    for result in checked.dead_letter_results if job.is_redrive else ():
        reasons.update(result.reasons)
    return dict(sorted(reasons.items()))


def _resolved(inputs: SliceInputs, checked: CheckedSlice) -> ResolvedDeadLetters:
    """Return which open dead letters the slice resolves."""
    open_dead_letters, tables = inputs.dead_letters.open_dead_letters, checked.slice_tables.by_name
    if not open_dead_letters and not any(table.names_dead_letters and table.recovered for table in tables.values()):
        return ResolvedDeadLetters()
    outcomes = {n: [result.tables[n].outcomes for result in checked.results if n in result.tables] for n in tables}
    recovered = {name: table.recovered for name, table in tables.items()}
    return resolve_dead_letters(open_dead_letters, outcomes, recovered, is_whole=inputs.job.rejects_records)


def _lost(job: SliceJob) -> tuple[OffsetRange, ...]:
    """Return the ranges accepted as lost, below the ranges of a live slice, that no snapshot contains yet."""
    if job.slice.kind is not SliceKind.LIVE:
        return ()
    lost = {p.tp: p.metadata_fields.lost for p in job.plan.positions if '"lost"' in p.metadata}
    return tuple(
        OffsetRange(r.topic, r.topic_id, r.partition, start, end)
        for r in job.slice.ranges
        for start, end in lost.get(r.tp, ())
    )


def _assignments(job: SliceJob, checked: CheckedSlice) -> tuple[TopicPartitionOffset, ...]:
    """Return every partition of the connector, those read with next offset and last timestamp, as the sink does."""
    read = {
        r.tp: next_offset(r, next((p.timestamp for p in reversed(range_parts) if p.timestamp is not None), None))
        for r, range_parts in checked.range_parts.items()
    }
    return tuple(read.get(p.tp, TopicPartitionOffset(p.tp.topic, p.tp.partition)) for p in job.plan.positions)


def _send(job: SliceJob, announcement: Announcement, producer: TransactionalProducer) -> None:
    producer.fence()
    reach(CrashPoint.WRITE_ANNOUNCE)
    records = signed(job.key, encode_announcement(job.plan, announcement))
    producer.send(job.plan.control_topic, job.plan.group_id, records)
    reach(CrashPoint.WRITE_ANNOUNCED)
    for name, one in announcement.tables.items():
        log.info("slice %s announced: table %s, %s", announcement.slice_id, name, one.counts)


# The last moment to stop a slice: before its announcement has begun it can be prevented, after that it is waited for.


class AnnounceGate:
    """Lets one announcement begin unless the time for its slice is over. Used by two threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_announcing = self._is_closed = False

    def begin(self) -> None:
        """Begin the announcement. Raises WriteTimeout once the gate is closed."""
        with self._lock:
            if self._is_closed:
                msg = "the time for this slice is over: it is not announced"
                raise WriteTimeout(msg)
            self._is_announcing = True

    def close(self) -> bool:
        """Close the gate unless the announcement has begun; return whether it is closed."""
        with self._lock:
            self._is_closed = not self._is_announcing
            return self._is_closed


# Which open dead letters a slice resolves, from what became of their records in each table.


class ResolvedDeadLetters(NamedTuple):
    """``recovered``: open dead letters whose records are rows of this slice, by table. ``resolved``: those to be marked."""

    recovered: DeadLetterOffsets = DeadLetterOffsets()
    resolved: DeadLetterOffsets = DeadLetterOffsets()


def resolve_dead_letters(
    dead_letters: DeadLetterOffsets,
    outcomes: Mapping[str, Sequence[DeadLetterOutcomes]],
    recovered_before: Mapping[str, Offsets],
    *,
    is_whole: bool,
) -> ResolvedDeadLetters:
    """Return which of the open ``dead_letters`` are resolved by what became of records in each table.

    A dead letter of a table is resolved once its record is a row there. A dead letter of no table is resolved once each
    table that the record reaches has its row or a dead letter of its own; only a slice for all tables can determine that.
    ``recovered_before``: by table, dead letters whose records are rows according to its ledger. Raises SliceRefused when
    they are more than an announcement can name.
    """
    joined = {name: _joined(several) for name, several in outcomes.items()}
    recovered = DeadLetterOffsets.of(
        (name, log_id, offsets) for name, one in joined.items() for log_id, offsets in _of(one.rows)
    )
    of_tables, rerouted, unresolved = [], [], []
    for name, one in joined.items():
        before = recovered_before.get(name, {})
        known_rows = {log_id: offsets & before.get(log_id, Intervals()) for log_id, offsets in one.passed.items()}
        rows = [*_of(one.rows), *_of(known_rows)]
        of_tables += [(name, log_id, offsets & dead_letters.at(name, log_id)) for log_id, offsets in rows]
        rerouted += [
            (None, log_id, offsets & dead_letters.at(None, log_id)) for log_id, offsets in [*rows, *_of(one.dead)]
        ]
        unresolved += [(None, log_id, offsets - known_rows[log_id]) for log_id, offsets in one.passed.items()]
    of_none = DeadLetterOffsets.of(rerouted) - DeadLetterOffsets.of(unresolved) if is_whole else DeadLetterOffsets()
    resolved = ResolvedDeadLetters(recovered, DeadLetterOffsets.of(of_tables) | of_none)
    if max(resolved.recovered.spans, resolved.resolved.spans) > MAX_SPANS:
        msg = (
            f"{resolved.resolved.count} records with open dead letters become rows, in {resolved.resolved.spans} spans of "
            f"offsets: an announcement names at most {MAX_SPANS}. Nothing was announced; run again with a smaller "
            "max_records"
        )
        raise SliceRefused(msg)
    return resolved


def _joined(several: Sequence[DeadLetterOutcomes]) -> DeadLetterOutcomes:
    return DeadLetterOutcomes(
        _union(one.rows for one in several), _union(one.dead for one in several), _union(one.passed for one in several)
    )


def _union(parts: Iterable[Offsets]) -> dict[LogId, Intervals]:
    joined: dict[LogId, list[tuple[int, int]]] = {}
    for part in parts:
        for log_id, offsets in part.items():
            joined.setdefault(log_id, []).extend(offsets)
    return {log_id: Intervals.of(spans) for log_id, spans in joined.items()}


def _of(offsets: Offsets) -> Iterable[tuple[LogId, Intervals]]:
    return offsets.items()
