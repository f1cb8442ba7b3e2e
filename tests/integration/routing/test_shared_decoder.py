"""Tables of one shape, decoded together: they get what each would have got by itself, in rows, letters and books."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from floe.catalogs.client import CatalogClient
from floe.model.accounting import TableCounts
from floe_job.routing.shared_decode import DecodedTogether, SharedDecoder
from floe_job.source.record_batch import Records
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.replays import drop, replay

KINDS = ["a", "b", "c"]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[DecodedTogether | None]:
    """What was decoded together so far; None where it turned out not to be possible."""
    found: list[DecodedTogether | None] = []
    perform = SharedDecoder.decode

    def decode(self: SharedDecoder, records: Records) -> DecodedTogether | None:
        found.append(perform(self, records))
        return found[-1]

    monkeypatch.setattr(SharedDecoder, "decode", decode)
    return found


def order(i: int, kind: Any, **more: Any) -> dict[str, Any]:
    return {"id": i, "to": {"kind": kind}, "note": f"n{i}", **more}


def seen(one: Pipeline, namespace: str) -> dict[str, Any]:
    """Read all that a connector has made: rows by table, letters, and the books of its last snapshots."""
    catalog = CatalogClient.of(one.connector)
    found: dict[str, Any] = {}
    for name in sorted(catalog.names(namespace)):
        table = catalog.require(name)
        rows = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
        snapshot = table.current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        found[name.split(".")[1]] = rows, snapshot.summary["floe.books"]
    dead_letters = one.table(f"letters.{namespace}").scan().to_arrow().to_pylist()
    found["letters"] = sorted(
        (
            *(row[name] for name in ("partition", "offset", "value", "stage", "error")),
            *((row[name] or "").replace(f"{namespace}.", "") for name in ("table", "reason")),
        )
        for row in dead_letters
    )
    return found


UNUSUAL: list[Any] = [
    None,
    b"{not json",
    b"[]",
    {"to": {"kind": "b"}, "id": "no number"},
    {"to": {"kind": 7}, "id": 1},
    {"to": {"kind": None}, "id": 2},
    {"to": None, "id": 3},
    {"to": "a", "id": 4},
    {"to": {"kind": {"deep": 1}}, "id": 5},
    {"to": {"kind": "../b"}, "id": 6},
    {"to": {"kind": "x" * 300}, "id": 7},
    {"to": {"kind": "new"}, "id": 8},
    {"id": 9},
    b'{"id":10,"to":{"kind":"a"},"to":{"kind":"b"}}',
    b'{"id":11,"to":{"kind":"\\u0061"}}',
    b'{"id":2.5,"to":{"kind":"c"}}',
    b'{"id":12,"to":{"kind":"c"},"note":7}',
    b"\xff",
]


@pytest.mark.parametrize("late", [{}, {"late": 1}], ids=["same columns", "a column that comes late"])
def test_it_makes_no_difference_to_rows_letters_and_books(
    pipeline: MakePipeline,
    topic: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    decoded: list[DecodedTogether | None],
    late: dict[str, Any],
) -> None:
    keys = {"iceberg.tables": None, "iceberg.tables.route-field": "to.kind", "tasks.max": 1}
    name = topic(2)
    one, two = (
        pipeline(
            topic=name,
            **keys,
            **{"floe.route.template": f"{to}.{{value}}", "floe.deadletter.table": f"letters.{to}"},
        )
        for to in ("one", "two")
    )
    one.produce([order(i, kind) for i, kind in enumerate(KINDS)], partition=0)
    one.run()
    two.run()
    for partition in range(2):
        clean = [order(100 + i, KINDS[i % 3]) for i in range(partition * 300, partition * 300 + 300)]
        one.produce([*clean[:250], *UNUSUAL, order(1, "b", **late), *clean[250:]], partition=partition)
    one.run()
    before = len(decoded)
    monkeypatch.setattr(SharedDecoder, "of", classmethod(lambda *_: None))
    two.run()
    found = seen(one, "one"), seen(two, "two")
    assert found[0] == found[1]
    assert before == len(decoded)
    assert any(part is None for part in decoded) == bool(late)
    assert any(part is not None and len(part.records) > 200 for part in decoded) == (not late)
    assert {"a", "b", "c", "new"} <= found[0].keys()
    assert len(found[0]["letters"]) > len(UNUSUAL)


def test_table_with_some_rows_is_checked_record_by_record(
    pipeline: MakePipeline, decoded: list[DecodedTogether | None]
) -> None:
    keys = {"iceberg.tables": "db.a,db.t", "iceberg.tables.route-field": "kind"}
    one = pipeline(**keys, **{f"iceberg.table.db.{t}.route-regex": ".*" for t in "at"})
    one.produce([{"id": i, "kind": "x"} for i in range(5)])
    one.run()
    schema = one.table("db.a").schema()
    drop(one, "db.a")
    CatalogClient.of(one.connector).create("db.a", schema)
    one.produce([{"id": i, "kind": "x"} for i in range(5, 10)])
    one.run(dropped_tables={"db.a": "continue"})
    plan = replay(one)
    assert [part is not None for part in decoded][-1]
    assert one.column("id", "db.a") == one.column("id", "db.t") == list(range(10))
    (announcement,) = one.committer(plan).announcements([plan.slice_id(s) for s in plan.slices]).values()
    counts = {name: one.counts for name, one in announcement.tables.items()}
    assert counts == {"db.a": TableCounts(assigned=5, rows=5), "db.t": TableCounts(assigned=5, held=5)}


def test_where_most_go_nowhere_it_is_not_worth_its_while(
    pipeline: MakePipeline, decoded: list[DecodedTogether | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("floe_job.source.range_reader.BATCH_RECORDS", 100)
    monkeypatch.setattr("floe_job.source.range_reader.POLL_RECORDS", 100)
    keys = {"iceberg.tables": "db.a,db.t", "iceberg.tables.route-field": "kind"}
    one = pipeline(**keys, **{f"iceberg.table.db.{t}.route-regex": t for t in "at"})
    one.produce([{"id": i, "kind": "at"[i % 2]} for i in range(4)])
    one.run()
    before = len(decoded)
    one.produce([{"id": i, "kind": "o"} for i in range(4, 900)])
    one.run()
    assert len(decoded) == before + 1
    assert one.column("id", "db.a") == [0, 2]
    assert one.column("id", "db.t") == [1, 3]
