"""The announcement of a slice that was checked: put together, and sent once."""

import logging
import time
from collections import Counter
from dataclasses import replace

from floe.control.announcement import Announcement, TableAnnouncement, encode_announcement, next_offset
from floe.control.signature import signed
from floe.control.wire.events import TopicPartitionOffset
from floe.crash_points import CrashPoint, reach
from floe.kafka.transactions import TransactionalProducer
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.ranges import OffsetRange
from floe.model.slice_kind import SliceKind
from floe.modes.registry import mode_of
from floe_job.driver.announce_gate import AnnounceGate
from floe_job.driver.inputs import SliceInputs
from floe_job.driver.job import SliceJob
from floe_job.driver.resolved_dead_letters import ResolvedDeadLetters, resolve_dead_letters
from floe_job.driver.slice_check import CheckedSlice

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
