"""A connector that writes to a branch of a new table: main stays empty, and Java opens every version of it."""

from __future__ import annotations

from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids
from tests.support.tables.java_metadata import said_by_java


def on_branch(pizzas: Pipeline) -> list[int]:
    return sorted(pizzas.table().scan().use_ref("audit").to_arrow().column("id").to_pylist())


def test_java_opens_a_table_whose_main_is_empty(pipeline: MakePipeline) -> None:
    pizzas = pipeline(**{"iceberg.tables.default-commit-branch": "audit"})
    for start in (0, 10):
        pizzas.produce(ids(start, start + 10))
        pizzas.run()
    metadata = pizzas.table().metadata
    assert (set(metadata.refs), metadata.current_snapshot(), len(metadata.snapshots)) == ({"audit"}, None, 2)
    pizzas.table().manage_snapshots().create_branch(metadata.refs["audit"].snapshot_id, "main").commit()
    pizzas.produce([{"id": i, "new": 1} for i in range(20, 30)])
    pizzas.run()
    assert pizzas.column("id") == list(range(20))
    assert on_branch(pizzas) == list(range(30))
    assert said_by_java(pizzas.table()) == {"ok"}
