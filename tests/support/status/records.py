"""Status records as values: small ones by hand, and any by Hypothesis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from floe.model.offsets import Intervals
from floe.status.connector_status import Backlog, CommitStatus, ConnectorStatus, PartitionStatus, TableStatus
from floe.status.freshness import MAX_TABLES, Freshness, TableFreshness
from floe.status.record import (
    ControlEvent,
    DeadLetterReason,
    DeadLetterSample,
    EventFile,
    HeldOffsets,
    Point,
    StatusRecord,
)
from floe.status.record_codec import MAX_INTEGER

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def commit(snapshot_id: int, at: datetime = NOW, rows: int = 10) -> CommitStatus:
    return CommitStatus(snapshot_id, at, "live", "p/0", rows, 1, {"rows": rows}, at)


def table(name: str = "db.t", *commits: CommitStatus) -> TableStatus:
    return TableStatus(name, "main", True, commits[0].snapshot_id if commits else None, commits)


def status(at: datetime = NOW, lag: int = 5, *tables: TableStatus, name: str = "one") -> ConnectorStatus:
    partitions = (PartitionStatus("pizzas", 0, 10, 0, 10 + lag, lag),)
    return ConnectorStatus(name, f"connect-{name}", at, partitions, tables=tables or (table(),))


def large(partitions: int, topic: str = "pizzas", tables: int = 1) -> StatusRecord:
    """Return a record of a connector that has as much of everything as is collected."""
    path = "s3://warehouse/" + "x" * 250
    commits = tuple(CommitStatus(2**60 + i, NOW, "live", "p" * 34, 10, 1, {"rows": 10}, NOW) for i in range(20))
    return StatusRecord(
        ConnectorStatus(
            "one",
            "connect-one",
            NOW,
            tuple(PartitionStatus(topic, p, 10**9, 10**8, 10**9 + p, p) for p in range(partitions)),
            (),
            tuple(TableStatus(f"db.t{t}", "main", True, 2**60, commits) for t in range(tables)),
        ),
        tuple(
            HeldOffsets(f"db.t{t}", topic, p, Intervals(tuple((i * 100, i * 100 + 9) for i in range(20))), 3)
            for t in range(tables)
            for p in range(min(partitions, 2_000 // tables))
        ),
        tuple(
            ControlEvent(0, i, NOW, "DATA_WRITTEN", "c" * 36, "s" * 34, (EventFile("db.t", path, 10, 10),) * 20)
            for i in range(30)
        ),
        (DeadLetterReason("db.t", "coerce", "E", 9, (DeadLetterSample("t", 0, 1, "why", "00" * 256, 256),) * 3),) * 20,
        tuple(Point(NOW + i * MINUTE, 10, 10) for i in range(240)),
        freshness=Freshness(
            1000, NOW, tuple(TableFreshness(f"db.t{t}", NOW, True, True) for t in range(tables))[:MAX_TABLES]
        ),
    )


_integers = st.integers(-MAX_INTEGER, MAX_INTEGER)
_texts = st.text(max_size=20)
_maybe_texts = st.none() | st.text(min_size=1, max_size=20)
_times = st.datetimes(timezones=st.just(UTC))
_spans = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=4).map(Intervals.of)
_counts = st.dictionaries(_texts, _integers, max_size=3)
_commits = st.builds(CommitStatus, _integers, _times, _texts, _texts, _integers, _integers, _counts, st.none() | _times)
_tables = st.builds(
    TableStatus,
    _texts,
    _texts,
    st.booleans(),
    st.none() | _integers,
    st.lists(_commits, max_size=2).map(tuple),
    st.none() | _integers,
    _maybe_texts,
)
_partitions = st.builds(
    PartitionStatus, _texts, _integers, st.none() | _integers, _integers, _integers, _integers, _spans, _maybe_texts
)
_statuses = st.builds(
    ConnectorStatus,
    _texts,
    _texts,
    _times,
    st.none() | st.lists(_partitions, max_size=3).map(tuple),
    st.lists(st.builds(Backlog, _texts, _texts, _integers, _integers, _integers), max_size=2).map(tuple),
    st.none() | st.lists(_tables, max_size=2).map(tuple),
    st.lists(_texts, max_size=2).map(tuple),
)
_files = st.builds(EventFile, _texts, _texts, _integers, _integers)
_events = st.builds(
    ControlEvent,
    _integers,
    _integers,
    _times,
    _texts,
    _maybe_texts,
    _maybe_texts,
    st.lists(_files, max_size=2).map(tuple),
    _integers,
)
_samples = st.builds(DeadLetterSample, _texts, _integers, _integers, _texts, _maybe_texts, _integers)
_reasons = st.builds(DeadLetterReason, _texts, _texts, _texts, _integers, st.lists(_samples, max_size=2).map(tuple))
_freshnesses = st.builds(
    Freshness,
    _integers,
    st.none() | _times,
    st.lists(st.builds(TableFreshness, _texts, _times, st.booleans(), st.booleans()), max_size=2).map(tuple),
    st.integers(0, 100),
)
_seconds = st.none() | st.floats(0, 10**9)

RECORDS = st.builds(
    StatusRecord,
    _statuses,
    st.lists(st.builds(HeldOffsets, _texts, _texts, _integers, _spans, _integers), max_size=2).map(tuple),
    st.lists(_events, max_size=2).map(tuple),
    st.none() | st.lists(_reasons, max_size=2).map(tuple),
    st.lists(st.builds(Point, _times, st.none() | _integers, _integers), max_size=2).map(tuple),
    _seconds,
    _seconds,
    st.none() | _times,
    _integers,
    st.none() | _freshnesses,
)
