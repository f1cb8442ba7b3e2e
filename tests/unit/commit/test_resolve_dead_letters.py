"""Marks of resolved letters: once, of what is open, whoever commits in between and whatever the catalog answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from floe.commit.resolve_dead_letters import append_resolved_markers
from floe.control.announcement import Announcement
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.offsets import Intervals
from floe.model.plan import Plan
from floe.tables.dead_letter_schema import DEAD_LETTERS_SCHEMA
from floe.tables.exceptions import TableNotCommitted
from floe.tables.open_dead_letters import scan_open_dead_letters
from tests.support.tables.lake import TABLE, TOPIC, TOPIC_ID, Lake
from tests.support.tables.slices import make_announcement, make_plan
from tests.support.tables.wire import Wire, fails_first, once

DEAD_LETTERS = "rpc.letters"
LOG = LogId(TOPIC, TOPIC_ID, 0)
Row = tuple[str, int, str | None]


def add(lake: Lake, rows: Sequence[Row], connector: str | None = "pizzas", branch: str = "main") -> None:
    """Append rows (kind, offset, table) as some earlier run did."""
    table = lake.load(DEAD_LETTERS)
    fields = [
        {
            "topic": TOPIC,
            "topic_id": TOPIC_ID,
            "partition": 0,
            "offset": o,
            "kind": k,
            "table": t,
            "connector": connector,
        }
        for k, o, t in rows
    ]
    table.append(pa.Table.from_pylist(fields, schema=schema_to_pyarrow(table.schema())), branch=branch)


def rows(lake: Lake) -> list[Row]:
    found = lake.load(DEAD_LETTERS).scan().to_arrow().to_pylist()
    return sorted(((row["kind"], row["offset"], row["table"]) for row in found), key=str)


def slice_with(*resolved: tuple[str | None, int]) -> tuple[Plan, Announcement]:
    plan = make_plan((0, 0, 100), kind="redrive")
    dead_letters = DeadLetterOffsets.of((table, LOG, Intervals(((o, o + 1),))) for table, o in resolved)
    return plan, replace(make_announcement(plan), resolved=dead_letters)


def mark(lake: Lake, *resolved: tuple[str | None, int], catalog: Catalog | None = None, timeout_s: float = 20) -> None:
    append_resolved_markers(lake.opened(catalog), *slice_with(*resolved), DEAD_LETTERS, "main", timeout_s)


@pytest.fixture
def dead_letters(lake: Lake) -> Lake:
    """A lake with three letters."""
    lake.create(schema=DEAD_LETTERS_SCHEMA, name=DEAD_LETTERS)
    add(lake, [("dead", 1, TABLE), ("dead", 2, TABLE), ("dead", 3, None)])
    return lake


def test_open_dead_letter_is_resolved_once_however_often_asked(dead_letters: Lake) -> None:
    for _ in range(3):
        mark(dead_letters, (TABLE, 1), (None, 3), (TABLE, 77))
    assert rows(dead_letters) == [
        *(("dead", 1, TABLE), ("dead", 2, TABLE), ("dead", 3, None)),
        *(("resolved", 1, TABLE), ("resolved", 3, None)),
    ]


def test_reopened_dead_letter_is_not_resolved_by_an_old_slice(dead_letters: Lake) -> None:
    mark(dead_letters, (TABLE, 1))
    add(dead_letters, [("dead", 1, TABLE)])
    mark(dead_letters, (TABLE, 1))
    assert rows(dead_letters).count(("resolved", 1, TABLE)) == 1


def test_dead_letter_resolved_by_others_is_not_resolved_twice(dead_letters: Lake) -> None:
    catalog = dead_letters.catalog()
    wire = Wire(catalog, before=once(lambda: add(dead_letters, [("resolved", 1, TABLE)])))
    mark(dead_letters, (TABLE, 1), (TABLE, 2), catalog=catalog)
    assert wire.sent == 2
    assert [row for row in rows(dead_letters) if row[0] == "resolved"] == [
        ("resolved", 1, TABLE),
        ("resolved", 2, TABLE),
    ]


def test_a_lost_answer_is_looked_at_again(dead_letters: Lake) -> None:
    catalog = dead_letters.catalog()
    Wire(catalog, after=fails_first(ConnectionError("reset")))
    mark(dead_letters, (TABLE, 1), catalog=catalog)
    assert rows(dead_letters).count(("resolved", 1, TABLE)) == 1


def test_a_catalog_that_stays_away_is_said_in_the_end(dead_letters: Lake) -> None:
    catalog = dead_letters.catalog()
    Wire(catalog, before=fails_first(ConnectionError("reset"), times=99))
    with pytest.raises(TableNotCommitted, match="reset"):
        mark(dead_letters, (TABLE, 1), catalog=catalog, timeout_s=0.3)


def test_a_table_that_is_gone_or_has_partitions_is_no_obstacle(lake: Lake) -> None:
    lake.create()
    mark(lake, (TABLE, 1))
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "topic"))
    lake.create(schema=DEAD_LETTERS_SCHEMA, name=DEAD_LETTERS, spec=spec)
    mark(lake, (TABLE, 1))
    add(lake, [("dead", 1, TABLE)])
    mark(lake, (TABLE, 1))
    assert rows(lake) == [("dead", 1, TABLE), ("resolved", 1, TABLE)]


def test_open_dead_letters_are_per_connector_log_and_branch(dead_letters: Lake) -> None:
    add(dead_letters, [("dead", 5, TABLE)], connector="another")
    add(dead_letters, [("resolved", 2, TABLE)], connector=None)
    (slice_,) = make_plan((0, 0, 100)).slices
    (other,) = make_plan((1, 0, 100)).slices
    table = dead_letters.load(DEAD_LETTERS)
    expected = DeadLetterOffsets.of([(TABLE, LOG, Intervals(((1, 2),))), (None, LOG, Intervals(((3, 4),)))])
    assert scan_open_dead_letters(table, "main", "pizzas", slice_.ranges) == expected
    assert scan_open_dead_letters(table, "not-there-yet", "pizzas", slice_.ranges) == expected
    assert not scan_open_dead_letters(table, "main", "pizzas", other.ranges)
