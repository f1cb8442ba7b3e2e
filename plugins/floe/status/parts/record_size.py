"""The size of a status record: one that is too large loses, step by step, what counts least for who reads it."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from floe.config.secrets.mask import clip
from floe.model.intervals import Intervals
from floe.status.model import ConnectorStatus, TableStatus
from floe.status.parts.history import thinned
from floe.status.record import ControlEvent, HeldOffsets, StatusRecord

MAX_BYTES: Final = 256_000
"""Of a record as JSON. Airflow keeps it in one row, and a page reads those of all connectors."""

_ROOM: Final = 500
"""Bytes that the note of what is left out takes at most."""

_STEPS: Final = (
    # of each table, the commits; of each event, the files; of each partition, the spans
    (10, 5, 10),
    (5, 2, 4),
    (3, 0, 2),
    (1, 0, 1),
)
_POINTS: Final = 60
_MOST: Final = ((2_000, 1_000), (2_000, 300), (2_000, 0), (1_000, 300), (500, 200), (200, 100), (50, 20), (10, 0))
"""Entries of each list, and of held offsets, that are left where all of the above is not enough."""


def text_of(record: StatusRecord) -> str:
    """Write a record as compact JSON, in ASCII: its bytes are its characters."""
    return json.dumps(record.to_json(), separators=(",", ":"))


def fit(record: StatusRecord) -> StatusRecord:
    """Return the record, made small enough for ``MAX_BYTES``; entries that are left out are counted in its problems.

    First of the details there are fewer: commits, files, spans, points. Then entries are left out, those last that are
    behind, unread or broken.
    """
    if _fits(record):
        return record
    for smaller in _smaller(record):
        if _fits(smaller):
            return smaller
    status, problem = record.status, "this connector has more topics and tables than a status record has room for"
    least = ConnectorStatus(status.name[:250], status.group_id[:250], status.at, problems=(problem,))
    return StatusRecord(least, freshness=record.freshness and record.freshness.with_most(0))


def with_most_spans(every: Iterable[HeldOffsets], most: int) -> tuple[HeldOffsets, ...]:
    """Return the entries that have the most spans, and so the most holes between them, by table and partition."""
    chosen = heapq.nlargest(most, every, key=lambda one: len(one.spans.spans) + one.more)
    return tuple(sorted(chosen, key=lambda one: (one.table, one.topic, one.partition)))


def _fits(record: StatusRecord) -> bool:
    return len(text_of(record)) <= MAX_BYTES - _ROOM


def _smaller(record: StatusRecord) -> Iterator[StatusRecord]:
    """Yield the record ever smaller."""
    for commits, files, spans in _STEPS:
        record = _fewer_details(record, commits, files, spans)
        yield record
    record = replace(record, events=record.events[-10:], history=thinned(record.history, _POINTS))
    yield record
    record = _shorter_problems(record)
    yield record
    for most, held in _MOST:
        yield _fewer_entries(record, most, held)


def _fewer_details(record: StatusRecord, commits: int, files: int, spans: int) -> StatusRecord:
    tables = record.status.tables
    if tables is not None:
        tables = tuple(replace(one, commits=one.commits[:commits]) for one in tables)
    return replace(
        record,
        status=replace(record.status, tables=tables),
        events=tuple(_with_files(event, files) for event in record.events),
        held=tuple(_with_spans(one, spans) for one in record.held),
    )


def _with_files(event: ControlEvent, files: int) -> ControlEvent:
    left_out = max(0, len(event.files) - files)
    return replace(event, files=event.files[:files], more_files=event.more_files + left_out)


def _with_spans(held: HeldOffsets, spans: int) -> HeldOffsets:
    kept = held.spans.spans[-spans:]
    return replace(held, spans=Intervals(kept), more=held.more + len(held.spans.spans) - len(kept))


def _shorter_problems(record: StatusRecord) -> StatusRecord:
    status = record.status
    partitions, tables = status.partitions, status.tables
    if partitions is not None:
        partitions = tuple(replace(one, problem=one.problem and clip(one.problem, 60)) for one in partitions)
    if tables is not None:
        tables = tuple(replace(one, problem=one.problem and clip(one.problem, 60)) for one in tables)
    problems = tuple(clip(one, 200) for one in status.problems[:50])
    return replace(record, status=replace(status, partitions=partitions, tables=tables, problems=problems))


def _fewer_entries(record: StatusRecord, most: int, most_held: int) -> StatusRecord:
    status = record.status
    partitions, tables, backlog = status.partitions, status.tables, status.backlog
    if partitions is not None:
        worst = heapq.nlargest(most, partitions, key=lambda one: (one.problem is not None, one.lag))
        partitions = tuple(sorted(worst, key=lambda one: one.tp))
    if tables is not None:
        tables = tuple(sorted(heapq.nlargest(most, tables, key=_weight), key=lambda one: one.name))
    note = _note(status, most)
    smaller = replace(
        status,
        partitions=partitions,
        tables=tables,
        backlog=tuple(heapq.nlargest(most, backlog, key=len)),
        problems=(*status.problems[:most], *((note,) if note else ())),
    )
    dead_letters = record.dead_letters
    return replace(
        record,
        status=smaller,
        events=record.events[-min(most, 10) :],
        held=with_most_spans(record.held, most_held),
        dead_letters=None if dead_letters is None else tuple(replace(one, samples=()) for one in dead_letters[:most]),
        history=thinned(record.history, min(most, _POINTS)),
        freshness=record.freshness and record.freshness.with_most(most),
    )


def _weight(table: TableStatus) -> tuple[bool, float]:
    return table.problem is not None, 0.0 if table.committed_at is None else table.committed_at.timestamp()


def _note(status: ConnectorStatus, most: int) -> str:
    """Say which entries a record does not have; the lag of all partitions is in it."""
    found = (
        (len(status.partitions or ()), "partitions"),
        (len(status.tables or ()), "tables"),
        (len(status.backlog), "backlogs"),
    )
    cut = [f"{most:,} of {count:,} {noun}" for count, noun in found if count > most]
    lag = "" if status.lag is None else f"; the lag of all is {status.lag:,} records"
    return f"a status record has no room for all of this connector: it has {', '.join(cut)}{lag}" if cut else ""
