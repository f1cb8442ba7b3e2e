"""Status records as metrics, in Prometheus' text format (version 0.0.4): records and a moment in, text out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from floe.status.record import StatusRecord

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[Mapping[str, str], float]
"""Labels and a value."""

_ESCAPES: Final = {"\\": r"\\", '"': r"\"", "\n": r"\n"}
_ESCAPED: Final = re.compile(r'[\\"\n]')


class Family(NamedTuple):
    """A metric: its name, its type, what it says, and the samples of one record."""

    name: str
    kind: str
    help: str
    samples: Callable[[StatusRecord, datetime], Iterator[Sample]]


def metrics(records: Iterable[StatusRecord], now: datetime) -> str:
    """Return the metrics of all records. What is not known has no sample.

    ``now``: an aware time, for the age of the records.
    """
    ordered = sorted(records, key=lambda record: record.status.name)
    return "".join(line for family in FAMILIES for line in _lines(family, ordered, now))


def _lines(family: Family, records: Iterable[StatusRecord], now: datetime) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n"
    for record in records:
        for labels, value in family.samples(record, now):
            named = {"connector": record.status.name, **labels}
            text = ",".join(f'{name}="{_escaped(label)}"' for name, label in named.items())
            yield f"{family.name}{{{text}}} {_number(value)}\n"


def _escaped(label: str) -> str:
    """Return a label's value as the format has it; what cannot be UTF-8 becomes a question mark."""
    text = label.encode("utf-8", "replace").decode("utf-8")
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], text)


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, int) else repr(float(value))


def _lag(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    for one in record.status.partitions or ():
        yield {"topic": one.topic, "partition": str(one.partition)}, one.lag


def _lost(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    for one in record.status.partitions or ():
        if one.lost:
            yield {"topic": one.topic, "partition": str(one.partition)}, one.lost.offsets


def _lag_seconds(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    if record.lag_seconds is not None:
        yield {}, record.lag_seconds
    elif record.status.lag == 0:
        yield {}, 0


def _until_lost(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    if record.seconds_until_lost is not None:
        yield {}, record.seconds_until_lost


def _backlog(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    if record.status.partitions is None:
        return  # the brokers did not answer: nothing is known of the backlog
    records = Counter({table.name: 0 for table in record.status.tables or ()})
    for one in record.status.backlog:
        records[one.table] += max(0, one.end - one.start)  # len() refuses what is no range of an index
    for table, count in records.items():
        yield {"table": table}, count


def _last_commit(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    for table in record.status.tables or ():
        if table.committed_at is not None:
            yield {"table": table.name}, table.committed_at.timestamp()


def _valid_through(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    for table in record.status.tables or ():
        if table.valid_through is not None:
            yield {"table": table.name}, table.valid_through.timestamp()


def _late(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    if record.freshness is not None:
        yield {}, record.freshness.late_count


def _dead_letters(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    if record.dead_letters is None:
        return
    counts: Counter[str] = Counter()
    for reason in record.dead_letters:
        counts[reason.table] += reason.count
    for table, count in (counts or {"": 0}).items():
        yield {"table": table}, count


def _rows(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    yield {}, record.rows


def _problems(record: StatusRecord, _: datetime) -> Iterator[Sample]:
    status = record.status
    of_parts = [*(one.problem for one in status.partitions or ()), *(one.problem for one in status.tables or ())]
    yield {}, len(status.problems) + sum(1 for problem in of_parts if problem)


def _age(record: StatusRecord, now: datetime) -> Iterator[Sample]:
    yield {}, max(0.0, (now - record.status.at).total_seconds())


FAMILIES: Final = (
    Family("floe_lag_records", "gauge", "Records at most that are there to be read.", _lag),
    Family("floe_lag_seconds", "gauge", "Age of the oldest unread record.", _lag_seconds),
    Family("floe_seconds_until_lost", "gauge", "Until retention removes an unread record.", _until_lost),
    Family("floe_lost_records", "gauge", "Offsets that were gone before they were read.", _lost),
    Family("floe_backlog_records", "gauge", "Offsets that a table lacks while others have them.", _backlog),
    Family("floe_last_commit_timestamp_seconds", "gauge", "When the connector last committed.", _last_commit),
    Family("floe_valid_through_timestamp_seconds", "gauge", "Up to when all partitions were read.", _valid_through),
    Family("floe_late_tables", "gauge", "Tables that are late by floe.freshness.max-ms.", _late),
    Family("floe_dead_letters_open", "gauge", "Open dead letters in the dead-letter table.", _dead_letters),
    Family("floe_rows_total", "counter", "Rows added while records are kept.", _rows),
    Family("floe_problems", "gauge", "Problems of the connector, its partitions and tables.", _problems),
    Family("floe_status_age_seconds", "gauge", "Age of what all of these say.", _age),
)
