"""Status records as a deployment has them, and hostile ones."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from floe.model.offsets import Intervals
from floe.status.connector_status import Backlog, CommitStatus, ConnectorStatus, PartitionStatus, TableStatus
from floe.status.freshness import Freshness, TableFreshness
from floe.status.record import (
    ControlEvent,
    DeadLetterReason,
    DeadLetterSample,
    EventFile,
    HeldOffsets,
    Point,
    StatusRecord,
)

MINUTE = timedelta(minutes=1)
SCRIPT = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
TURNED = "\u202egnp.exe\u200b\x00\x1b[31m"
LONG = "n" * 10_000
HOSTILE = (SCRIPT, TURNED, LONG)

REPLAYS: list[tuple[str, dict[str, object], str | None]] = [
    ("queued", {"topic": "shop.orders", "ranges": {"1": [1_060_000, 1_061_000]}, "overlap": "skip"}, None),
    (
        "failed",
        {"topic": "shop.orders", "dead_letters": True},
        "table 'shop.orders' refuses the rows: column 'total' is required. Nothing was written. See FLOE-407.",
    ),
    ("success", {"topic": "shop.orders", "dead_letters": True, "dry_run": True}, None),
    ("success", {"topic": "shop.orders", "from_time": "2026-05-01T08:00:00Z", "overlap": "replace"}, None),
]
"""Runs of a replay DAG, the newest first: state, parameters, and the error of a task."""


def record(
    name: str,
    topic: str,
    table: str,
    *,
    partitions: int = 4,
    seconds: float = 20,
    lag: int = 1_240,
    holes: bool = False,
    letters: bool = False,
    problems: tuple[str, ...] = (),
    backlog: int = 0,
    since: int = 0,
    later: int = 0,
    refusal: str | None = None,
    late: bool = False,
    start: int = 1_000_000,
) -> StatusRecord:
    """Return a record that was collected ``seconds`` ago, with ``lag`` records unread in all.

    ``since``: offsets of each partition that were read after the table's last row; ``backlog``: of the first, that it lacks;
    ``later``: of each, that were read after its ledger was looked up. ``refusal``: why the next run would refuse the table.
    """
    at = datetime.now(UTC) - timedelta(seconds=seconds)
    each = [lag // partitions + (lag % partitions if index == 0 else 0) for index in range(partitions)]
    committed = [start + 41_381 * (index + 3) for index in range(partitions)]
    ends = [end - since - later - (0 if index else backlog) for index, end in enumerate(committed)]
    status = ConnectorStatus(
        name=name,
        group_id=f"connect-{name}",
        at=at,
        partitions=tuple(
            PartitionStatus(topic, index, committed[index], start - 90_000, committed[index] + each[index], each[index])
            for index in range(partitions)
        ),
        backlog=(Backlog(table, topic, 0, committed[0] - backlog, committed[0]),) if backlog else (),
        tables=(
            replace(_table(table, at, letters), problem=refusal),
            *((_dead_letter_table(at),) if letters else ()),
        ),
        problems=problems,
    )
    return StatusRecord(
        status,
        held=tuple(
            replace(_held(table, topic, index, start, ends[index], holes), committed=committed[index] - later)
            for index in range(partitions)
        ),
        events=_events(table, at),
        dead_letters=_letters(table, topic, start) if letters else (),
        history=_history(at, lag),
        lag_seconds=float(lag / 55) if lag else None,
        seconds_until_lost=561_000.0 if lag else None,
        dead_letters_at=at,
        rows=4_812_004,
        freshness=Freshness(600_000, at, (TableFreshness(table, at - 24 * MINUTE, True, True),)) if late else None,
    )


def hostile_record(name: str, text: str) -> StatusRecord:
    """Return a record in which every text is the one given."""
    at = datetime.now(UTC)
    commit = CommitStatus(2**63 - 1, at, text, text, 1, 1, {text[:50]: 1}, at)
    file = EventFile(text, text, 2**53 + 1, 2**62)
    sample = DeadLetterSample(text, 0, 7, text, SCRIPT.encode().hex(), 10**9)
    return StatusRecord(
        ConnectorStatus(
            name=name,
            group_id=text,
            at=at,
            partitions=(PartitionStatus(text, 0, None, 0, 10, 10, Intervals.of([(1, 2)]), text),),
            backlog=(Backlog(text, text, 0, 0, 5),),
            tables=(TableStatus(text, text, True, 1, (commit,), 3, text),),
            problems=(text,),
        ),
        held=(HeldOffsets(text, text, 0, Intervals.of([(0, 3), (5, 7)]), 4),),
        events=(ControlEvent(0, 1, at, text, text, text, (file,), 9),),
        dead_letters=(DeadLetterReason(text, text, text, 2, (sample,)),),
        history=(Point(at - timedelta(minutes=1), None, 0), Point(at, 10, 5)),
        lag_seconds=1e9,
        seconds_until_lost=3.0,
        freshness=Freshness(1, at, (TableFreshness(text, at - MINUTE, True),), 2),
        dead_letters_at=at,
    )


def _table(name: str, at: datetime, letters: bool) -> TableStatus:
    commits = tuple(
        CommitStatus(
            snapshot_id=6_912_004_118_274_003_113 - index * 77_310_941_113_007,
            at=at - timedelta(minutes=3 * index, seconds=35),
            kind="live",
            slice_id=f"3d3b09daf7014d5f9ce17d2b732edd8{index:x}/0",
            rows=9_120 + 613 * (index % 3),
            files=2,
            valid_through=at - timedelta(minutes=3 * index, seconds=41),
        )
        for index in range(6)
    )
    return TableStatus(name, "main", True, commits[0].snapshot_id, commits, 37 if letters else 0, rows=4_812_004)


def _dead_letter_table(at: datetime) -> TableStatus:
    commit = CommitStatus(4_004_118_274_003_113, at - timedelta(days=2), "live", "3d3b/0", 37, 1)
    return TableStatus(
        "shop.dead_letters", "main", True, commit.snapshot_id, (commit,), 37, rows=37, is_dead_letters=True
    )


def _held(table: str, topic: str, partition: int, start: int, end: int, holes: bool) -> HeldOffsets:
    spans = [(start, end)]
    if holes and partition in (1, 2):
        width = (end - start) // 9
        spans = [(start, start + 4 * width), (start + 5 * width + 700 * partition, end - 40), (end - 25, end)]
    return HeldOffsets(table, topic, partition, Intervals.of(spans), 3 if partition == 3 else 0)


def _events(table: str, at: datetime) -> tuple[ControlEvent, ...]:
    kinds = ("START_COMMIT", "DATA_WRITTEN", "DATA_COMPLETE", "COMMIT_TO_TABLE", "COMMIT_COMPLETE")
    found = []
    for index in range(20):
        run, kind = divmod(index, len(kinds))
        commit = f"{0x5B1E00 + run:08x}-77aa-5c1d-9f0e-2b9d9a4c1e{run:02x}"
        moment = at - timedelta(minutes=3 * (3 - run), seconds=50 - 9 * kind)
        slice_id = f"3d3b09daf7014d5f9ce17d2b732edd8{run:x}/0" if 0 < kind < 4 else None
        files = tuple(
            EventFile(table, f"s3://lake/{table.replace('.', '/')}/data/00{part}-{commit}.parquet", 4_560, 812_345)
            for part in (range(2) if kinds[kind] == "DATA_WRITTEN" else ())
        )
        found.append(ControlEvent(0, 88_100 + index, moment, kinds[kind], commit, slice_id, files))
    return tuple(found)


def _letters(table: str, topic: str, start: int) -> tuple[DeadLetterReason, ...]:
    bad = b'{"id": "abc", "store": 12, "total": "12,50", "note": "gr\xc3\xbc\xc3\x9fe \xff\x00"}'
    message = "column 'id': cannot convert string 'abc' to long"
    samples = tuple(
        DeadLetterSample(topic, 1, start + 21 + 4 * index, message, bad.hex(), len(bad)) for index in range(2)
    )
    not_json = DeadLetterSample(topic, 0, start + 77, "not JSON: unexpected end", b"\x00\x00\x00\x00\x05{".hex(), 2_048)
    tombstone = DeadLetterSample(topic, 2, start + 91, "not JSON: no value", None, 0)
    return (
        DeadLetterReason(table, "convert", "ValueNotConvertible", 31, samples),
        DeadLetterReason("", "decode", "NotJson", 6, (not_json, tombstone)),
    )


def _history(at: datetime, lag: int) -> tuple[Point, ...]:
    points = []
    for index in range(96):
        wave = 1 + 0.6 * math.sin(index / 9) + 0.3 * math.sin(index / 2.1)
        jump = 5 if 60 <= index < 66 else 1
        rows = 0 if 60 <= index < 66 else int(9_000 * wave * (4 if index == 66 else 1))
        moment = at - timedelta(minutes=3 * (95 - index))
        points.append(Point(moment, int(max(lag, 800) * wave * jump) if index < 95 else lag, rows))
    return tuple(points)


def deployment() -> list[tuple[str, StatusRecord | str | None, dict[str, object]]]:
    """Return connectors in each state: name, what is kept, and what the database has of the DAG."""
    good = {"runs": ["success"] * 6}
    found: list[tuple[str, StatusRecord | str | None, dict[str, object]]] = [
        (
            "orders",
            record("orders", "shop.orders", "shop.orders", holes=True, letters=True, partitions=6),
            {**good, "replays": REPLAYS},
        ),
        ("payments", record("payments", "payments", "finance.payments", lag=0), good),
        (
            "clickstream",
            record("clickstream", "web.clicks", "web.clicks", lag=4_120_400, partitions=12, seconds=48),
            good,
        ),
        (
            "inventory",
            record("inventory", "inventory", "stock.levels", lag=310, since=120, later=40),
            {**good, "paused": True},
        ),
        (
            "shipments",
            record(
                "shipments", "shipments", "stock.shipments", lag=0, refusal="table 'stock.shipments' was rolled back"
            ),
            good,
        ),
        (
            "refunds",
            record(
                "refunds",
                "refunds",
                "finance.refunds",
                lag=88_210,
                backlog=2_310,
                problems=("table finance.refunds refuses the rows: column 'total' is required and has no default",),
            ),
            {"runs": ["success", "failed"]},
        ),
        ("sensors", record("sensors", "iot.sensors", "iot.sensors", lag=52_000, seconds=4_000, late=True), good),
        (
            "sessions",
            record("sessions", "web.sessions", "web.sessions", lag=9_001),
            {"runs": ["success", "failed", "failed", "running"]},
        ),
        ("returns", None, {"broken": True, "runs": ["failed"]}),
        ("audit-log", "{this is no record", good),
        ("newcomer", None, {}),
    ]
    return [(name, kept, {"description": _words(kept), **more}) for name, kept, more in found]


def _words(kept: StatusRecord | str | None) -> str | None:
    """Return what floe's DAG says of a connector."""
    if not isinstance(kept, StatusRecord) or not (kept.status.partitions and kept.status.tables):
        return None
    return f"{kept.status.partitions[0].topic} into {kept.status.tables[0].name}"
