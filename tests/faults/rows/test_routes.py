"""Row 33: bad routes. Tables and dead letters are judged together."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.faults.harness import foreign
from tests.faults.harness.dead_letters import DEAD_LETTERS, DYNAMIC, dead_letters, resolved
from tests.faults.harness.sink import MakeSink, Sink
from tests.support.runs.poison import MALFORMED, Poison, spoiled


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
    assert dead_letters(sink) == {("route", None): 14, ("value_converter", None): 14}
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
