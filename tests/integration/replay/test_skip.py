"""Replays that skip what a table contains: what it lacks is filled, once."""

from __future__ import annotations

import json

from floe.catalogs.client import CatalogClient
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import orders, read_ids
from tests.support.runs.replays import drafted, drop, replay, trace


def test_dropped_table_is_refilled_once_and_no_position_moves(eaten: Pipeline) -> None:
    before = eaten.position()
    drop(eaten)
    plan = replay(eaten)
    assert eaten.column("id") == list(range(300))
    assert eaten.position() == before
    assert [s.kind for s in plan.slices] == ["skip"]
    assert drafted(eaten).plan.slices == ()


def test_a_skip_over_what_a_table_holds_has_nothing_to_do(eaten: Pipeline) -> None:
    before = trace(eaten)
    forecasts = drafted(eaten, ranges={"0": [10, 20], "2": [None, None]}).forecasts
    assert [(f.read, f.held, f.write) for f in forecasts] == [(0, 10, 0), (0, 100, 0)]
    assert replay(eaten, ranges={"0": [10, 20], "2": [None, None]}).slices == ()
    assert trace(eaten) == before


def test_overlapping_ranges_fill_the_table_without_duplicates(eaten: Pipeline) -> None:
    drop(eaten)
    replay(eaten, ranges={"1": [20, 50]})
    assert eaten.column("id") == list(range(120, 150))
    replay(eaten, ranges={"1": [0, 100], "0": [90, 100]})
    assert eaten.column("id") == list(range(90, 200))
    replay(eaten)
    assert eaten.column("id") == list(range(300))


def test_replay_is_cut_into_slices_with_one_snapshot_each(eaten: Pipeline) -> None:
    drop(eaten)
    plan = replay(eaten, max_records=70)
    assert [s.records for s in plan.slices] == [70, 70, 70, 70, 20]
    assert eaten.column("id") == list(range(300))
    snapshots = eaten.table().snapshots()
    assert len(snapshots) == 5
    for snapshot, slice_ in zip(snapshots, plan.slices, strict=True):
        assert snapshot.summary is not None
        found = snapshot.summary.additional_properties
        assert (found["floe.kind"], found["floe.slice"]) == ("skip", plan.slice_id(slice_))
        counts = json.loads(found["floe.books"])
        assert all(sum(found_counts.values()) == end - start for _, _, start, end, found_counts in counts["ranges"])
        assert sum(counts["table"].get(n, 0) for n in ("rows", "held", "dead", "owed")) == counts["table"]["assigned"]


def test_tombstones_and_aborts_are_counted_but_not_added(
    pipeline: MakePipeline,
) -> None:
    pizzas = pipeline()
    pizzas.produce(orders(0, 10))
    pizzas.abort(orders(10, 20), partition=0)
    pizzas.produce([None] * 5)
    pizzas.produce(orders(20, 30))
    pizzas.run()
    drop(pizzas)
    replay(pizzas, max_records=7)
    assert pizzas.column("id") == [*range(10), *range(20, 30)]
    assert replay(pizzas, ranges={"0": [10, 21]}, overlap="append").slices


def test_only_the_chosen_table_is_filled(pipeline: MakePipeline) -> None:
    both = pipeline(**{"iceberg.tables": "db.a,db.b"})
    both.produce(orders(0, 50))
    both.run()
    for table in ("db.a", "db.b"):
        drop(both, table)
    replay(both, tables=["db.b"])
    assert CatalogClient.of(both.connector).load("db.a") is None
    assert read_ids(both, "db.b") == list(range(50))
    replay(both)
    assert read_ids(both, "db.a") == read_ids(both, "db.b") == list(range(50))


def test_a_replay_for_two_tables_gives_each_what_it_lacks(pipeline: MakePipeline) -> None:
    both = pipeline(**{"iceberg.tables": "db.a,db.b"})
    both.produce(orders(0, 50))
    both.run()
    drop(both, "db.a")
    replay(both, tables=["db.a"], ranges={"0": [0, 20]})
    drop(both, "db.b")
    found = drafted(both).forecasts
    assert [(f.table, f.read, f.held, f.write) for f in found] == [("db.a", 50, 20, 30), ("db.b", 50, 0, 50)]
    replay(both)
    assert read_ids(both, "db.a") == read_ids(both, "db.b") == list(range(50))
