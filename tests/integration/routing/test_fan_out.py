"""One topic fans out to a hundred tables: columns grow, one record in a hundred is bad, two tables refuse for a while."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, NamedTuple

import pytest
from pyiceberg.table import Table

from floe.catalogs.client import CatalogClient
from floe.control.announcement import Announcement
from floe.model.accounting import RangeCounts, check_range_counts
from floe.model.plan import Plan
from floe.tables.exceptions import TablesBehind
from tests.support.runs.mishaps import break_ledger, replace_table, run_to_the_end
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.poison import MALFORMED, UNFIT, Poison, spoiled

NAMESPACES = ("north", "east", "south")
TABLES = tuple(f"{NAMESPACES[i % 3]}.t{i:02d}" for i in range(100))
BROKEN, REPLACED = TABLES[0], TABLES[99]
"""One whose ledger breaks, one that is new in the second run and another by the time of its commit."""

DEAD_LETTERS = "dead.letters"
PARTITIONS = 4
PER_TABLE = 26
PER_KIND = 2


KINDS = {
    **{kind: MALFORMED[kind] for kind in ("no JSON", "empty", "not UTF-8", "an array", "a depth bomb", "not a number")},
    "no route": Poison(spoiled(to={}), "route", "no route value"),
    "a null route": Poison(spoiled(to=None), "route", "no route value"),
    "a path for a route": Poison(spoiled(to={"table": "../../etc/passwd"}), "route", "is no table's name"),
    "a route through a text": Poison(spoiled(to=REPLACED), "route", "cannot be read"),
    **{kind: UNFIT[kind] for kind in ("too large", "a boolean", "a fraction")},
}
OF_TABLES = {kind for kind, bad in KINDS.items() if bad.stage == "coerce"}


class Place(NamedTuple):
    partition: int
    offset: int


@dataclass
class Feed:
    """What was produced, and where each record belongs: a table, or the letters for a reason."""

    one: Pipeline
    good: dict[str, dict[Place, dict[str, Any]]] = field(default_factory=lambda: defaultdict(dict))
    bad: dict[Place, tuple[str, str, bytes]] = field(default_factory=dict)
    ends: list[int] = field(default_factory=lambda: [0] * PARTITIONS)

    def send(self, tables: Iterable[str], per_table: int, kinds: list[str], **more: Any) -> None:
        """Produce good records for every table, bad ones between them, a tombstone and aborted ones."""
        values: list[list[bytes | None]] = [[] for _ in range(PARTITIONS)]
        partitions = cycle(range(PARTITIONS))
        wanted = [table for _ in range(per_table) for table in tables]
        every = (len(wanted) - len(TABLES)) // (len(kinds) + 1)
        next_bad = len(TABLES)
        for i, table in enumerate(wanted):
            p = next(partitions)
            place = Place(p, self.ends[p] + len(values[p]))
            record = {"p": p, "o": place.offset, "n": i, "note": "good", "to": {"table": table}}
            self.good[table][place] = {**record, **more}
            values[p].append(json.dumps({**record, **more}).encode())
            # a table that is new has no types yet that a value could not have
            if kinds and i >= next_bad and table != REPLACED:
                next_bad += every
                kind = kinds.pop()
                value = KINDS[kind].make({**record, **more, "o": place.offset + 1})
                self.bad[Place(p, place.offset + 1)] = (kind, table, value)
                values[p].append(value)
        assert not kinds
        values[1].append(None)
        for p, some in enumerate(values):
            self.one.produce(some, partition=p)
            self.ends[p] += len(some)
        self.one.abort([{"p": 2, "o": -1, "to": {"table": BROKEN}}] * 3, partition=2)
        self.ends[2] += 4


# -- the books --------------------------------------------------------------------------------------------------------


def check_books(announcements: Iterable[Announcement], letters_before: int, one: Pipeline) -> RangeCounts:
    """Check that every offset, every row and every letter is accounted for; return the books of all ranges."""
    total = RangeCounts()
    for announced in announcements:
        for r, counts in announced.counts:
            check_range_counts(r, counts)
            parts = (counts.routed, counts.dead, counts.filtered, counts.tombstones, counts.dropped, counts.invisible)
            assert sum(parts) == r.end - r.start
            total += counts
        found = {name: one.counts for name, one in announced.tables.items()}
        tables = {name: counts for name, counts in found.items() if name != DEAD_LETTERS}
        for name, counts in tables.items():
            assert counts.assigned == counts.rows + counts.dead + counts.held + counts.backlog, name
        dead = sum(counts.dead for _, counts in announced.counts) + sum(counts.dead for counts in tables.values())
        dead_letters = found.get(DEAD_LETTERS)
        assert (
            (dead_letters.assigned, dead_letters.rows + dead_letters.held) == (dead, dead)
            if dead_letters
            else dead == 0
        )
        letters_before += dead_letters.rows if dead_letters else 0
    assert one.table(DEAD_LETTERS).scan().count() == letters_before
    return total


def written(one: Pipeline) -> tuple[Plan, list[Announcement]]:
    plan = one.plan()
    return plan, one.write(plan)


# -- the tables -------------------------------------------------------------------------------------------------------


def rows(table: Table, snapshot_id: int | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.scan(snapshot_id=snapshot_id).to_arrow().to_pylist()
    return found


def places(table: Table, snapshot_id: int) -> list[Place]:
    found = table.scan(snapshot_id=snapshot_id, selected_fields=("p", "o")).to_arrow()
    return [Place(p, o) for p, o in zip(found["p"].to_pylist(), found["o"].to_pylist(), strict=True)]


def check_rows(feed: Feed, tables: Iterable[str]) -> None:
    """Check that each good record has one row, in its table, whole."""
    for name in tables:
        table = feed.one.table(name)
        there = rows(table)
        found = {Place(row["p"], row["o"]): row for row in there}
        assert len(there) == len(found), name
        expected = feed.good[name]
        assert found.keys() == expected.keys(), name
        columns = {field.name for field in table.schema().fields}
        for place, row in found.items():
            assert row == {**dict.fromkeys(columns), **expected[place]}, name


def check_letters(feed: Feed) -> None:
    """Check that each bad record has one letter, with its bytes and the right reason."""
    there = rows(feed.one.table(DEAD_LETTERS))
    found = {Place(row["partition"], row["offset"]): row for row in there}
    assert len(there) == len(found) == len(feed.bad)
    assert found.keys() == feed.bad.keys()
    for place, (kind, table, value) in feed.bad.items():
        dead_letter, bad = found[place], KINDS[kind]
        assert (dead_letter["value"], dead_letter["stage"], dead_letter["kind"]) == (value, bad.stage, "dead"), kind
        assert re.search(bad.reason, dead_letter["reason"]), kind
        assert dead_letter["table"] == (table if kind in OF_TABLES else None), kind


def check_no_hole(feed: Feed, tables: Iterable[str]) -> int:
    """Check that every snapshot shows, of each partition, the first records of the table; return how many there are."""
    looked_at = 0
    for name in tables:
        table = feed.one.table(name)
        expected = [sorted(place for place in feed.good[name] if place.partition == p) for p in range(PARTITIONS)]
        for snapshot in table.snapshots():
            looked_at += 1
            found = places(table, snapshot.snapshot_id)
            for p in range(PARTITIONS):
                seen = sorted(place for place in found if place.partition == p)
                assert seen == expected[p][: len(seen)], (name, snapshot.snapshot_id)
    return looked_at


# -- the test ---------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_fan_out_to_hundred_tables_keeps_every_record_once(pipeline: MakePipeline) -> None:
    one = pipeline(
        PARTITIONS,
        **{
            "iceberg.tables": None,
            "iceberg.tables.dynamic-enabled": True,
            "iceberg.tables.route-field": "to.table",
            "floe.deadletter.table": DEAD_LETTERS,
        },
    )
    feed = Feed(one)

    # the first run makes the tables; a column that is new takes fractions too
    feed.send(TABLES[:-1], PER_TABLE, [kind for kind in KINDS if kind != "a fraction"] * PER_KIND)
    plan, announced = written(one)
    one.commit(plan)
    total = check_books(announced, 0, one)
    unrouted = sum(kind not in OF_TABLES for kind, *_ in feed.bad.values())
    assert total == RangeCounts(
        routed=99 * PER_TABLE + len(feed.bad) - unrouted, dead=unrouted, tombstones=1, invisible=4
    )
    check_rows(feed, TABLES[:-1])
    check_letters(feed)

    # in the second all get new columns; two refuse what was written for them
    bad_before = len(feed.bad)
    feed.send(TABLES, PER_TABLE, [*KINDS] * PER_KIND, more={"ratio": 0.5, "deep": [{"x": 1}]}, tags=["a", "b"])
    plan, announced = written(one)
    repair = break_ledger(one, BROKEN)
    replace_table(one, REPLACED)
    with pytest.raises(TablesBehind) as message:
        one.commit(plan)
    for name, why in ((BROKEN, "is not a ledger"), (REPLACED, "was replaced")):
        assert re.search(
            rf"table '{name}' is behind on 4 partition\(s\): [^;]*because [^;]*{why}", str(message.value)
        ), message.value
    assert {frozenset(backlogs) for backlogs in one.backlogs().values()} == {frozenset((BROKEN, REPLACED))}
    assert one.position() == dict(enumerate(feed.ends))
    check_books(announced, bad_before, one)
    check_letters(feed)
    check_rows(feed, TABLES[1:-1])

    # in the third one of them catches up, the other one is still behind and takes nothing newer
    feed.send(TABLES, 4, [])
    plan = one.plan()
    assert Counter(slice_.kind for slice_ in plan.slices) == {"catch-up": 2, "live": 1}
    assert [type(error).__name__ for error in one.try_write(plan)] == ["LedgerUnreadable"]
    announced = list(one.committer(plan).announcements([]).values())
    with pytest.raises(TablesBehind, match=f"{BROKEN}.*is behind") as message:
        one.committer(plan).commit([])
    assert REPLACED not in str(message.value)
    check_books(announced, len(feed.bad), one)
    check_letters(feed)

    repair()
    run_to_the_end(one)
    assert one.backlogs() == {}
    assert one.position() == dict(enumerate(feed.ends))
    check_rows(feed, TABLES)
    check_letters(feed)
    assert check_no_hole(feed, TABLES) >= 3 * len(TABLES) - 3
    namespaces = {name for (name,) in CatalogClient.of(one.connector).catalog.list_namespaces()}
    assert namespaces == {*NAMESPACES, "dead"}
