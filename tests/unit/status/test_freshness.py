"""When a table is late: by records that are unread, not by topics that are idle; once, and until it has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from floe.status.connector_status import Backlog, ConnectorStatus, PartitionStatus
from floe.status.freshness import MAX_TABLES, Freshness, TableFreshness, freshness_of
from tests.support.status.records import MINUTE, NOW, status

MAX_MS = 600_000
LONG = timedelta(milliseconds=MAX_MS) + MINUTE


def look(
    now: ConnectorStatus,
    age: timedelta | None = None,
    former: Freshness | None = None,
    names: Sequence[str] = ("db.t",),
) -> Freshness:
    """Return the freshness by a status; ``age``: of the oldest unread record."""
    return freshness_of(names, now, None if age is None else age.total_seconds(), MAX_MS, former)


def away(at: datetime) -> ConnectorStatus:
    """A status without an answer of the brokers."""
    return replace(status(at), partitions=None)


def late(freshness: Freshness) -> list[tuple[str, datetime]]:
    return [(one.table, one.through) for one in freshness.late]


def test_table_is_late_once_an_old_record_is_unread() -> None:
    for age, expected in ((LONG - MINUTE, []), (LONG, [("db.t", NOW - LONG)])):
        assert late(look(status(NOW), age)) == expected


def test_idle_topic_makes_no_table_late() -> None:
    idle = look(status(NOW, lag=0))
    assert (idle.through, idle.tables) == (NOW, ())
    assert late(look(status(NOW + 100 * LONG, lag=0), None, idle)) == []


def test_old_timestamps_of_new_records_are_not_late() -> None:
    idle = look(status(NOW, lag=0))
    loaded = look(status(NOW + MINUTE), 1000 * LONG, idle)
    assert (loaded.through, late(loaded)) == (NOW, [])
    assert late(look(status(NOW + LONG), 1000 * LONG, loaded)) == [("db.t", NOW)]


def test_new_connector_has_the_whole_time_for_old_records() -> None:
    new = replace(status(NOW), partitions=(PartitionStatus("pizzas", 0, None, 0, 10, 10),))
    first = look(new, 1000 * LONG)
    assert (first.through, late(first)) == (NOW, [])
    assert late(look(replace(new, at=NOW + LONG), 1000 * LONG, first)) == [("db.t", NOW)]


def test_brokers_that_do_not_answer_make_the_table_late_in_time() -> None:
    known = look(status(NOW, lag=0))
    assert late(look(away(NOW + LONG - MINUTE), None, known)) == []
    assert late(look(away(NOW + LONG), None, known)) == [("db.t", NOW)]
    assert look(away(NOW)) == Freshness(MAX_MS)  # nothing is known yet


def test_age_that_is_not_known_leaves_the_last_one() -> None:
    known = look(status(NOW), MINUTE)
    assert look(status(NOW + MINUTE), None, known).through == NOW - MINUTE
    assert look(status(NOW), None).through is None


def test_table_that_is_behind_is_late_and_no_other() -> None:
    both = ("db.t", "db.u")
    known = look(status(NOW, lag=0), names=both)
    behind = replace(status(NOW + MINUTE, lag=0), backlog=(Backlog("db.u", "pizzas", 0, 2, 6),))
    before = look(behind, None, known, both)
    assert before.tables == (TableFreshness("db.u", NOW, is_late=False),)
    assert late(look(replace(behind, at=NOW + LONG), None, before, both)) == [("db.u", NOW)]
    assert late(look(away(NOW + LONG), None, before, both)) == [("db.u", NOW)], "the other is late a minute later"
    assert look(status(NOW + LONG, lag=0), None, before, both).tables == ()


def test_late_table_is_alerted_of_once_until_it_recovers() -> None:
    first = look(status(NOW), LONG)
    assert [one.table for one in first.unalerted] == ["db.t"]
    said = Freshness.from_json(first.with_alerts().to_json())
    assert look(status(NOW + MINUTE), LONG, said).unalerted == ()
    recovered = look(status(NOW + MINUTE), MINUTE, said)
    assert (recovered.tables, recovered.late_count) == ((), 0)
    assert look(status(NOW + 2 * LONG), LONG, recovered).unalerted != ()


@pytest.mark.parametrize("most", [0, 3, MAX_TABLES])
def test_many_late_tables_are_counted_and_alerted_of_once(most: int) -> None:
    names = [f"db.t{i}" for i in range(MAX_TABLES + 7)]
    first = look(status(NOW), LONG, names=names)
    assert (first.late_count, len(first.late)) == (len(names), MAX_TABLES)
    said = first.with_alerts().with_most(most)
    assert said.late_count == len(names)
    assert look(status(NOW + MINUTE), LONG, said, names[::-1]).unalerted == ()
