"""A status record as text, in the place where Airflow keeps it: what writes it and what reads it agree here."""

from __future__ import annotations

import heapq
import json
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from math import isfinite
from typing import Any, Final, NoReturn

from floe.config.secrets.mask import clip
from floe.model.offsets import Intervals
from floe.status.connector_status import CommitStatus, ConnectorStatus, TableStatus
from floe.status.record import ControlEvent, HeldOffsets, Point, StatusRecord

PREFIX: Final = "floe.status."
"""Of the variables' keys; what follows is the connector's name."""

MAX_KEY: Final = 250
"""Characters of a variable's key in Airflow's database."""

_HEAD: Final = 200
_DIGITS: Final = 32


def key_of(name: str) -> str:
    """Return the key of a connector's record. A name that is too long for a key is cut, and a hash of it follows."""
    key = PREFIX + name
    if len(key) <= MAX_KEY:
        return key
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{PREFIX}{name[:_HEAD]}~{digest}"  # no name of a connector has a tilde


def dump(record: StatusRecord) -> str:
    """Write a record as JSON of at most ``MAX_BYTES`` bytes; one that is larger loses what counts least."""
    return text_of(fit(record))


def parse(text: str) -> StatusRecord:
    """Read what :func:`dump` wrote. Raises ValueError for any other text."""
    if len(text) > 2 * MAX_BYTES:
        msg = f"a status record has at most {MAX_BYTES} bytes, this text has {len(text)} characters: run floe.status again"
        raise ValueError(msg)
    try:
        fields: Any = json.loads(text, parse_constant=_refuse)
        record = StatusRecord.from_json(fields)
        check_types(record)
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        msg = f"this is no status record ({type(error).__name__}: {str(error)[:200]}): run floe.status again"
        raise ValueError(msg) from error
    return record


def _refuse(constant: str) -> NoReturn:
    msg = f"a status record has no {constant}"
    raise ValueError(msg)


# The size of a status record: one that is too large loses, step by step, what counts least for who reads it.


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


# Checks of the values in a dataclass against its annotations: JSON that anyone may have written has any types.


MAX_INTEGER = 2**63 - 1
"""Of offsets, counts and snapshot ids."""


def check_types(value: object) -> None:
    """Raise ValueError unless each field of a dataclass, and of those in it, has a value of its annotated type.

    Whole numbers have 64 bits, other numbers are finite, and times have a time zone.
    """
    of_value: Any = type(value)
    for name, kind in _hints(of_value).items():
        found = getattr(value, name)
        if not _has_type(found, kind):
            msg = f"{name} of a {of_value.__name__} is {str(found)[:80]!r}, which is no {kind}"
            raise ValueError(msg)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _has_type(value: object, kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return any(_has_type(value, one) for one in typing.get_args(kind))
    if origin is tuple:
        return isinstance(value, tuple) and _has_items(value, typing.get_args(kind))
    if origin is Mapping:
        of_key, of_value = typing.get_args(kind)
        return isinstance(value, Mapping) and all(
            _has_type(key, of_key) and _has_type(one, of_value) for key, one in value.items()
        )
    return _is_plain(value, kind)


def _has_items(value: tuple[object, ...], of_items: tuple[Any, ...]) -> bool:
    if len(of_items) == 2 and of_items[1] is Ellipsis:
        return all(_has_type(one, of_items[0]) for one in value)
    return len(value) == len(of_items) and all(map(_has_type, value, of_items))


def _is_plain(value: object, kind: Any) -> bool:
    if is_dataclass(value):
        check_types(value)
        return isinstance(value, kind)
    if kind is int:
        return type(value) is int and abs(value) <= MAX_INTEGER
    if kind is float:
        return type(value) in (int, float) and isfinite(value) and abs(value) <= MAX_INTEGER  # type: ignore[arg-type]
    if kind is datetime:
        return isinstance(value, datetime) and value.tzinfo is not None
    return value is None if kind is type(None) else isinstance(value, kind)


# Lag and rows over time: a point a minute, the older ones joined, so that their number is bounded.


MAX_POINTS: Final = 240
STEP: Final = timedelta(seconds=50)
"""Least time between two points: a run every minute may be some seconds early."""

LONGEST: Final = timedelta(days=30)

_SLACK: Final = timedelta(minutes=5)
"""How far the clocks of two hosts may differ."""


def new_rows(former: StatusRecord | None, status: ConnectorStatus, dead_letters: str | None) -> int:
    """Return the rows of the commits that a former record did not have.

    ``dead_letters``: the dead-letter table, whose rows are not counted. Of a connector's first record, none are new.
    """
    if former is None or status.tables is None:
        return 0
    known = {(name, commit.snapshot_id) for name, commit in _commits(former.status)}
    since = former.status.at - (_SLACK if known else timedelta())
    return sum(
        commit.rows
        for name, commit in _commits(status)
        if name != dead_letters and (name, commit.snapshot_id) not in known and commit.at > since
    )


def with_point(history: tuple[Point, ...], at: datetime, lag: int | None, rows: int) -> tuple[Point, ...]:
    """Return the history with what is known now: as a new point, or in the last one where that is of this minute."""
    at = at.replace(microsecond=0)
    if history and timedelta() <= at - history[-1].at < STEP:
        last = history[-1]
        return (*history[:-1], replace(last, lag=lag, rows=last.rows + rows))
    kept = tuple(point for point in history if at - LONGEST <= point.at < at)
    return thinned((*kept, Point(at, lag, rows)), MAX_POINTS)


def thinned(history: tuple[Point, ...], most: int) -> tuple[Point, ...]:
    """Return at most so many points: in the older half, each two become one, again where that is not enough."""
    while len(history) > most:
        half = max(2, len(history) // 2 // 2 * 2)
        pairs = zip(history[0:half:2], history[1:half:2], strict=True)
        history = (*(_joined(first, second) for first, second in pairs), *history[half:])
    return history


def _joined(first: Point, second: Point) -> Point:
    lags = [lag for lag in (first.lag, second.lag) if lag is not None]
    return Point(second.at, max(lags, default=None), first.rows + second.rows)


def _commits(status: ConnectorStatus) -> Iterator[tuple[str, CommitStatus]]:
    return ((table.name, commit) for table in status.tables or () for commit in table.commits)
