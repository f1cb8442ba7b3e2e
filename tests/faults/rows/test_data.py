"""Rows 30, 31, 33 and 34: bad records, bad routes, and columns that two writers change at once.

Exactly once is judged over tables and dead letters together.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import confluent_kafka as ck
import pytest

from tests.faults.harness import foreign
from tests.faults.harness.run import STEPS
from tests.faults.harness.sink import MakeSink, Sink
from tests.faults.oracle.evidence import DEAD
from tests.faults.oracle.stamps import FOREIGN
from tests.faults.oracle.table_files import DeadLetter
from tests.support.runs.poison import MALFORMED, UNFIT, Poison, spoiled

DEAD_LETTERS = "dead.letters"
MEGABYTE = 1024 * 1024
POISON = {**MALFORMED, **UNFIT}


@pytest.fixture
def lettered(make_sink: MakeSink) -> Sink:
    """A sink of two partitions into one table whose columns are known, and a table of dead letters."""
    return known(make_sink(**{"floe.deadletter.table": DEAD_LETTERS}))


def known(sink: Sink) -> Sink:
    """Give the table its columns: ``n`` is a long, ``note`` a text."""
    mixed(sink, {})
    sink.run()
    return sink


def mixed(sink: Sink, kinds: dict[str, Poison], good: int = 40) -> None:
    """Produce poison of every kind, good records before, between and behind them, in both partitions."""
    for partition in (0, 1):
        for i in range(good):
            sink.producer.write(partition=partition, n=i, note="good")
        for kind, poison in kinds.items():
            sink.producer.write(poison, partition, key=b"k", headers=[("h", kind.encode()), ("h", None)], n=1, note="")
            sink.producer.write(partition=partition, n=1, note="a neighbour")
    sink.producer.flush()


def dead_letters(sink: Sink) -> Counter[tuple[str, str | None]]:
    """Count the dead letters by stage and table."""
    return Counter((one.stage, one.table) for one in letter_rows(sink) if one.kind == DEAD)


def resolved(sink: Sink) -> int:
    """Count the letters that are marked resolved."""
    return sum(one.kind == "resolved" for one in letter_rows(sink))


def letter_rows(sink: Sink) -> list[DeadLetter]:
    """Return what is in the table of dead letters."""
    table = sink.oracle.look_at(DEAD_LETTERS, sink.pointer(DEAD_LETTERS))
    paths = [entry.path for entry in sink.oracle.files.live(table.head)] if table.head else []
    return [dead_letter for path in paths for dead_letter in sink.oracle.files.dead_letters(path)]


# -- 30: poison -------------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_row_30_every_bad_record_becomes_dead_letter_others_rows(lettered: Sink) -> None:
    mixed(lettered, POISON)
    lettered.run()
    assert dead_letters(lettered) == {("decode", "db.t"): 2 * len(MALFORMED), ("convert", "db.t"): 2 * len(UNFIT)}
    lettered.assert_exactly_once()


@pytest.mark.ci
def test_row_30_of_a_key_given_twice_the_last_counts(lettered: Sink) -> None:
    for partition in (0, 1):
        for _ in range(20):
            whole = lettered.producer.next_value(n=7, note="twice")
            lettered.producer.write(partition=partition, value=b'{"n": "x", "seq": -5, "run": [{}], ' + whole[1:])
    lettered.producer.flush()
    lettered.run()
    assert dead_letters(lettered) == {}
    lettered.assert_exactly_once()


def test_row_30_records_of_many_megabytes_land_or_are_kept_whole(make_sink: MakeSink) -> None:
    sink = known(
        make_sink(
            topic_config={"max.message.bytes": str(32 * MEGABYTE)},
            largest=32 * MEGABYTE,
            **{"floe.deadletter.table": DEAD_LETTERS},
        )
    )
    large = "ü" * (6 * MEGABYTE)
    sink.producer.write(n=1, note=large)
    for kind in ("no JSON", "a fraction", "an array"):
        sink.producer.write(POISON[kind], n=2, note=large)
        sink.producer.write(n=3, note="a neighbour")
    sink.producer.flush()
    sink.run()
    assert dead_letters(sink).total() == 3
    sink.assert_exactly_once()


@pytest.mark.ci
@pytest.mark.parametrize("tables", [("db.a", "db.b")])
def test_row_30_each_table_judges_for_itself(make_sink: MakeSink, tables: tuple[str, ...]) -> None:
    sink = known(make_sink(tables=tables, **{"floe.deadletter.table": DEAD_LETTERS}))
    mixed(sink, POISON)
    sink.run()
    assert {table for _, table in dead_letters(sink)} == set(tables)
    sink.assert_exactly_once()


KILLS = [
    ("write", "write.files.closed"),
    ("write", "write.announced"),
    ("commit", "commit.table@1"),
    ("commit", "commit.table.landed@1"),
    ("commit", "commit.table@2"),
    ("commit", "commit.table@3"),
    ("commit", "commit.table.landed@3"),
    ("commit", "commit.positions"),
    ("commit", "commit.positions.moved"),
]
"""Of the commit's tables the letters are the first."""


@pytest.mark.parametrize(("step", "point"), KILLS)
@pytest.mark.parametrize("how", ["retried", "given up"])
def test_row_30_letters_are_neither_lost_nor_doubled_by_a_kill(
    make_sink: MakeSink, step: str, point: str, how: str
) -> None:
    sink = known(make_sink(tables=["db.a", "db.b"], **{"floe.deadletter.table": DEAD_LETTERS}))
    mixed(sink, POISON)
    run = sink.new_run()
    for before in STEPS[: STEPS.index(step)]:
        assert run.step(before).is_done
    assert run.step(step, crash=point).was_killed
    count = 2 * 2 * len(POISON)
    assert dead_letters(sink).total() == (0 if step == "write" or point == "commit.table@1" else count)
    mixed(sink, POISON)
    if how == "retried":
        assert all(run.persist(later).is_done for later in STEPS[STEPS.index(step) :])
    sink.assert_exactly_once()
    assert dead_letters(sink).total() == 2 * count


def test_row_30_dead_letter_commit_with_lost_answer_adds_once(lettered: Sink) -> None:
    mixed(lettered, POISON)
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    zombie = run.held("commit", "commit.table@1")
    assert run.step("commit").is_done
    zombie.go_on()
    zombie.finish()
    assert dead_letters(lettered).total() == 2 * len(POISON)
    lettered.assert_exactly_once()


@pytest.mark.parametrize("how", [foreign.drop, foreign.replace], ids=["dropped", "replaced"])
def test_row_30_without_the_letters_no_table_goes_past_them(lettered: Sink, how: Callable[[Sink, str], None]) -> None:
    mixed(lettered, POISON)
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    lettered.watcher.disturbed.add(DEAD_LETTERS)
    how(lettered, DEAD_LETTERS)
    before = lettered.snapshots(), lettered.positions()
    message = run.step("commit")
    assert message.is_refused, message
    assert DEAD_LETTERS in message.message
    assert (lettered.snapshots(), lettered.positions()) == before
    if how is foreign.replace:
        foreign.drop(lettered, DEAD_LETTERS)
    lettered.watcher.disturbed.clear()
    lettered.assert_exactly_once()
    assert dead_letters(lettered).total() == 2 * len(POISON)


def test_row_30_a_table_that_owes_is_judged_once_for_the_letters(make_sink: MakeSink) -> None:
    sink = known(make_sink(tables=["db.a", "db.b"], **{"floe.deadletter.table": DEAD_LETTERS}))
    with foreign.broken_ledger(sink, "db.b"):
        mixed(sink, POISON)
        assert sink.new_run().carry_out()[-1].is_refused
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash="commit.table.landed@1").was_killed
    sink.settle()
    assert dead_letters(sink).total() == 2 * 2 * len(POISON)
    sink.assert_exactly_once()


@pytest.mark.parametrize(("step", "point"), [("write", "write.announce"), ("commit", "commit.table@1")])
def test_row_30_killed_run_leaves_dead_letters_at_least_once(make_sink: MakeSink, step: str, point: str) -> None:
    topic = "letters-of-row-30-" + step
    more = {"errors.deadletterqueue.topic.name": topic, "errors.deadletterqueue.topic.replication.factor": 1}
    sink = known(make_sink(**more, **{"floe.deadletter.table": DEAD_LETTERS}))
    mixed(sink, POISON)
    run = sink.new_run()
    for before in STEPS[: STEPS.index(step)]:
        assert run.step(before).is_done
    assert run.step(step, crash=point).was_killed
    sink.assert_exactly_once()
    there = Counter(values_of(sink.bootstrap, topic))
    expected = Counter(values_of(sink.bootstrap, sink.topic, only_keyed=True))
    assert there.keys() == expected.keys()
    assert all(there[value] >= count for value, count in expected.items())


def values_of(bootstrap: str, topic: str, *, only_keyed: bool = False) -> list[tuple[bytes | None, bytes | None]]:
    """Read key and value of all records of a topic."""
    conf = {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.partition.eof": True}
    consumer = ck.Consumer({**conf, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([ck.TopicPartition(topic, partition, 0) for partition in partitions])
    found: list[Any] = []
    ended: set[int | None] = set()
    while len(ended) < len(partitions):
        for message in consumer.consume(1000, 0.5):
            if message.error() is not None:
                ended.add(message.partition())
            elif message.key() is not None or not only_keyed:
                found.append((message.key(), message.value()))
    consumer.close()
    return found


@pytest.mark.parametrize("point", [None, "commit.table@1", "commit.marks", "commit.marks.landed", "commit.positions"])
@pytest.mark.parametrize("how", ["retried", "given up"])
def test_row_30_dead_letter_of_fixed_table_is_resolved_once(lettered: Sink, point: str | None, how: str) -> None:
    foreign.add_column(lettered, name="extra", kind="boolean")
    for partition in (0, 1):
        lettered.producer.write(partition=partition, n=1)
        lettered.producer.write(partition=partition, n=1, extra=5, doubtful=True)
    lettered.producer.flush()
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash="commit.table.landed@1").was_killed
    assert dead_letters(lettered) == {("convert", "db.t"): 2}
    foreign.drop_column(lettered, "extra")
    if point is not None:
        again = lettered.new_run()
        assert again.step("plan").is_done
        assert again.step("write").is_done
        assert again.step("commit", crash=point).was_killed
        if how == "retried":
            assert again.persist("commit").is_done
    lettered.assert_exactly_once()
    assert resolved(lettered) == 2


def test_row_33_dead_letter_of_table_created_since_is_resolved(make_sink: MakeSink) -> None:
    sink = make_sink(tables=("db.x", "db.y"), **DYNAMIC, **{"iceberg.tables.auto-create-enabled": False})
    foreign.create(sink, "db.x")
    for partition in (0, 1):
        sink.producer.write(partition=partition, meant=["db.x"], to="db.x")
        sink.producer.write(partition=partition, meant=["db.y"], to="db.y", doubtful=True)
    sink.producer.flush()
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash="commit.table.landed@1").was_killed
    assert dead_letters(sink) == {("route", None): 2}
    foreign.create(sink, "db.y")
    sink.assert_exactly_once()
    assert resolved(sink) == 2


# -- 31: nothing but poison -------------------------------------------------------------------------------------------


def only_poison(sink: Sink, times: int = 3) -> int:
    """Produce poison of every kind and nothing else; return how many records that is."""
    for _ in range(times):
        for partition in (0, 1):
            for poison in POISON.values():
                sink.producer.write(poison, partition, n=1, note="")
    sink.producer.flush()
    return 2 * times * len(POISON)


@pytest.mark.ci
def test_row_31_range_of_bad_records_moves_position(lettered: Sink) -> None:
    before, snapshots = sum(lettered.positions().values()), lettered.snapshots()
    count = only_poison(lettered)
    lettered.run()
    assert sum(lettered.positions().values()) == before + count
    assert lettered.snapshots() == snapshots
    assert dead_letters(lettered).total() == count
    mixed(lettered, {})
    lettered.assert_exactly_once()


def test_row_31_poison_before_any_table_exists_makes_none(make_sink: MakeSink) -> None:
    sink = make_sink(**{"floe.deadletter.table": DEAD_LETTERS})
    for partition in (0, 1):
        for poison in MALFORMED.values():
            sink.producer.write(poison, partition, n=1)
    sink.producer.flush()
    sink.run()
    assert sink.pointers["db.t"].location() is None
    assert sum(sink.positions().values()) == 2 * len(MALFORMED)
    mixed(sink, {})
    sink.assert_exactly_once()


@pytest.mark.parametrize("point", ["commit.table@1", "commit.table.landed@1", "commit.positions"])
@pytest.mark.parametrize("how", ["retried", "given up"])
def test_row_31_letters_of_nothing_but_poison_survive_a_kill(lettered: Sink, point: str, how: str) -> None:
    count = only_poison(lettered)
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash=point).was_killed
    if how == "retried":
        assert run.persist("commit").is_done
    else:
        count += only_poison(lettered)
    lettered.assert_exactly_once()
    assert dead_letters(lettered).total() == count


@pytest.mark.ci
def test_row_31_bad_records_above_ratio_fail_before_announcing(make_sink: MakeSink) -> None:
    sink = known(make_sink(**{"floe.deadletter.table": DEAD_LETTERS, "floe.deadletter.max-ratio": "0.3"}))
    mixed(sink, POISON, good=10)
    before, announced = sink.positions(), len(sink.announcements())
    run = sink.new_run()
    assert run.step("plan").is_done
    refused = run.step("write")
    assert refused.is_refused, refused
    assert refused.error == "TooManyDeadLetters"
    assert "max-ratio is 0.3" in refused.message
    assert len(sink.announcements()) == announced
    assert sink.positions() == before
    assert dead_letters(sink) == {}
    sink.keys["floe.deadletter.max-ratio"] = "0.9"
    sink.assert_exactly_once()
    assert dead_letters(sink).total() == 2 * len(POISON)


# -- 33: routes -------------------------------------------------------------------------------------------------------

DYNAMIC = {
    "iceberg.tables": None,
    "iceberg.tables.dynamic-enabled": True,
    "iceberg.tables.route-field": "to",
    "floe.deadletter.table": DEAD_LETTERS,
}
MALICIOUS = (
    "../../etc/passwd", "a.../../../x", "db/../../x.t", "db.t/../../../x", "..", ".", "a..b", "db.", ".t", "/etc.passwd",
    "db.%2e%2e%2fx", "db.t\0", "db.t\n", "db.t ", " db.t", "db.t;drop table x", "db.'t'", "c:\\db.t", "file:///tmp/x.t",
    "db.\u0455ecret", "db.\uff54", "\u2025.t", "db." + "t" * 129, "d" * 2000 + ".t", "db.1t", "system.t$snapshots",
    DEAD_LETTERS, DEAD_LETTERS.upper(), "dead.letters.files", "t", "", "db.t.snapshots",
)  # fmt: skip
UNROUTABLE = Poison(spoiled(), "route", "")


def catalog_of(sink: Sink) -> tuple[set[str], set[str]]:
    """Return the namespaces and the tables in the catalog."""
    with closing(sqlite3.connect(sink.folder / "catalog.db")) as database:
        namespaces = {row[0] for row in database.execute("SELECT DISTINCT namespace FROM iceberg_namespace_properties")}
        tables = {
            f"{row[0]}.{row[1]}" for row in database.execute("SELECT table_namespace, table_name FROM iceberg_tables")
        }
    return namespaces, tables


def folders_of(sink: Sink) -> set[str]:
    """Return the folders in the warehouse, two levels deep, and what is new beside it."""
    warehouse = sink.folder / "warehouse"
    inside = {str(path.relative_to(warehouse)) for path in warehouse.glob("*/*")}
    beside = {path.name for path in sink.folder.iterdir() if not path.name.startswith("run-")}
    assert beside == {"warehouse", "catalog.db"}, beside
    return inside


@pytest.mark.ci
def test_row_33_malicious_routes_make_dead_letters_and_no_table(make_sink: MakeSink) -> None:
    tables = ("db.t", "app.events.t")
    sink = make_sink(tables=tables, **DYNAMIC)
    for partition in (0, 1):
        for i, route in enumerate(MALICIOUS):
            sink.producer.write(UNROUTABLE, partition, to=route, n=i)
            sink.producer.write(partition=partition, meant=["db.t"], to="DB.t", n=i)
            sink.producer.write(partition=partition, meant=["app.events.t"], to="app.events.t", n=i)
        for route in (None, {"a": 1}, ["db.t"], True, 7, 1.5):
            sink.producer.write(UNROUTABLE, partition, to=route)
        sink.producer.write(UNROUTABLE, partition, n=1)
    sink.producer.flush()
    sink.run()
    assert dead_letters(sink) == {("route", None): 2 * (len(MALICIOUS) + 7)}
    namespaces, there = catalog_of(sink)
    assert there == {*tables, DEAD_LETTERS}
    assert namespaces == {"db", "app", "app.events", "dead"}
    assert folders_of(sink) == {"db/t", "app.events/t", "dead/letters"}
    sink.assert_exactly_once()


@pytest.mark.ci
def test_row_33_static_tables_filter_unroutable_is_dead_letter(
    make_sink: MakeSink,
) -> None:
    sink = make_sink(
        tables=("db.a", "db.ab"),
        **{
            "iceberg.tables.route-field": "to",
            "iceberg.table.db.a.route-regex": "a",
            "iceberg.table.db.ab.route-regex": "[ab]",
            "floe.deadletter.table": DEAD_LETTERS,
        },
    )
    meant = {"a": ["db.a", "db.ab"], "b": ["db.ab"], "c": [], "A": [], "a\n": [], "ab": [], "": []}
    for i in range(140):
        route = list(meant)[i % len(meant)]
        sink.producer.write(partition=i % 2, meant=meant[route], to=route)
        if i % 10 == 0:
            sink.producer.write(UNROUTABLE, i % 2, **({} if i % 20 else {"to": None}))
            sink.producer.write(MALFORMED["an array"], i % 2, to="a")
    sink.producer.flush()
    sink.run()
    assert dead_letters(sink) == {("route", None): 14, ("decode", None): 14}
    sink.assert_exactly_once()


@pytest.mark.parametrize("point", ["commit.table@1", "commit.table.landed@1", "commit.table.landed@2"])
def test_row_33_unknown_table_without_auto_create_survives_kill(make_sink: MakeSink, point: str) -> None:
    tables = ("db.x", "db.y")
    sink = make_sink(tables=tables, **DYNAMIC)
    for i in range(20):
        sink.producer.write(partition=i % 2, meant=[tables[i % 3 % 2]], to=tables[i % 3 % 2])
    sink.producer.flush()
    sink.run()
    sink.keys["iceberg.tables.auto-create-enabled"] = False
    unknown = Poison(spoiled(), "route", "does not exist")
    for i in range(40):
        sink.producer.write(partition=i % 2, meant=[tables[i % 2]], to=tables[i % 2])
        sink.producer.write(unknown, i % 2, to=f"db.other{i % 5}")
        sink.producer.write(unknown, i % 2, to=f"new{i % 5}.x")
    sink.producer.flush()
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash=point).was_killed
    sink.assert_exactly_once()
    namespaces, there = catalog_of(sink)
    assert there == {*tables, DEAD_LETTERS}
    assert namespaces == {"db", "dead"}


# -- 34: columns ------------------------------------------------------------------------------------------------------


def columns_of(sink: Sink) -> dict[str, str]:
    """Return the columns of the table by another reader, with their types."""
    with foreign.opened(sink) as table:
        return {field.name: str(field.field_type) for field in table.schema().fields}


def values_in(sink: Sink, column: str) -> list[Any]:
    """Read a column by another reader, sorted; nulls are left out."""
    with foreign.opened(sink) as table:
        found = table.scan(selected_fields=(column,)).to_arrow().column(column).to_pylist()
    return sorted(value for value in found if value is not None)


def numbers(sink: Sink, *values: Any, field: str = "n", poison: Poison | None = None) -> None:
    """Produce a record for each value, in both partitions."""
    for partition in (0, 1):
        for value in values:
            sink.producer.write(poison, partition, **{field: value})
    sink.producer.flush()


def test_row_34_int_column_is_widened_within_an_interval(lettered: Sink) -> None:
    foreign.add_column(lettered, name="size", kind="int")
    numbers(lettered, 1, 2, field="size")
    lettered.run()
    assert columns_of(lettered)["size"] == "int"
    numbers(lettered, 3, 3_000_000_000, 4, field="size")
    numbers(lettered, "no", True, 2**63, field="size", poison=Poison(spoiled(), "convert", "column 'size'"))
    lettered.run()
    assert columns_of(lettered)["size"] == "long"
    assert values_in(lettered, "size") == sorted([1, 2, 3, 3_000_000_000, 4] * 2)
    lettered.assert_exactly_once()


def test_row_34_column_widened_by_others_before_commit_is_kept(lettered: Sink) -> None:
    foreign.add_column(lettered, name="size", kind="int")
    numbers(lettered, 1, 2, field="size")
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    foreign.widen(lettered, "size")
    assert run.step("commit").is_done
    numbers(lettered, 3_000_000_000, field="size")
    lettered.run()
    assert values_in(lettered, "size") == sorted([1, 2, 3_000_000_000] * 2)
    lettered.assert_exactly_once()


@pytest.mark.parametrize("kind", ["long", "string", "boolean", "int"])
def test_row_34_column_added_by_others_during_evolution_is_used(lettered: Sink, kind: str) -> None:
    unfit = Poison(spoiled(), "convert", "column 'extra'")
    numbers(lettered, 1, 2, 3, field="extra", poison=unfit if kind == "boolean" else None)
    run = lettered.new_run()
    assert run.step("plan").is_done
    attempt = run.held("write", "write.schema")
    foreign.add_column(lettered, name="extra", kind=kind)
    attempt.go_on()
    assert attempt.finish().is_done
    assert run.step("commit").is_done
    assert columns_of(lettered)["extra"] == kind
    numbers(lettered, 4, field="extra", poison=unfit if kind == "boolean" else None)
    expected = {"boolean": [], "string": sorted("1234" * 2)}.get(kind, sorted([1, 2, 3, 4] * 2))
    lettered.assert_exactly_once()
    assert values_in(lettered, "extra") == expected


@pytest.mark.parametrize("theirs", ["long", "text"])
def test_row_34_two_connectors_change_one_table_at_once(make_sink: MakeSink, theirs: str) -> None:
    ours = known(make_sink(**{"floe.deadletter.table": DEAD_LETTERS}))
    catalog = {key: value for key, value in ours.keys.items() if key.startswith("iceberg.catalog")}
    other = make_sink(folder=ours.folder, **catalog, **{"floe.deadletter.table": "dead.others"})
    value = {"long": 7, "text": "seven"}[theirs]
    poison = Poison(spoiled(), "convert", "column 'both'") if theirs == "text" else None
    for partition in (0, 1):
        for i in range(20):
            ours.producer.write(partition=partition, n=i, mine=i, both=i)
            other.producer.write(poison, partition, n=i, theirs="x", both=value)
            other.producer.write(partition=partition, n=i, theirs="x")
    ours.producer.flush()
    other.producer.flush()
    runs = [one.new_run() for one in (ours, other)]
    assert all(run.step("plan").is_done for run in runs)
    attempts = [run.held("write", "write.schema") for run in runs]
    for attempt in attempts:
        attempt.go_on()
        if theirs == "text":
            assert attempt.finish().is_done  # the first one decides
    assert all(attempt.finish().is_done for attempt in attempts)
    commits = [run.start("commit") for run in runs]
    assert all(commit.finish().is_done for commit in commits)
    columns = columns_of(ours)
    assert [columns[name] for name in ("n", "mine", "both", "theirs")] == ["long", "long", "long", "string"]
    assert len(columns) == len(set(columns))
    for one, neighbour in ((ours, other), (other, ours)):
        acks = neighbour.producer.acks
        one.foreign["db.t"] = [stamp for stamp in acks.places if stamp not in acks.poison and stamp.run != FOREIGN]
        one.assert_exactly_once()
