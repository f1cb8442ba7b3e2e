"""How often a run asks the catalog for a table, which is the slowest of its calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from floe.catalogs.client import CatalogClient
from tests.support.runs.pipeline import MakePipeline

TABLE, DEAD_LETTERS = "db.t", "db.dead"


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the loads of each table. What a catalog's own client does in a commit is not counted."""
    counted: Counter[str] = Counter()
    load = CatalogClient.load

    def counting(self: CatalogClient, name: str) -> object:
        counted[name] += 1
        return load(self, name)

    monkeypatch.setattr(CatalogClient, "load", counting)
    return counted


def test_each_task_of_a_live_run_loads_a_table_once(pipeline: MakePipeline, loads: Counter[str]) -> None:
    pizzas = pipeline(**{"floe.deadletter.table": DEAD_LETTERS, "errors.tolerance": "all"})

    def of(task: Callable[[], object]) -> dict[str, int]:
        loads.clear()
        task()
        return dict(loads)

    pizzas.produce([{"id": 1}, b"{"])
    pizzas.run()
    pizzas.produce([{"id": 2}])
    plan = pizzas.plan()
    assert of(pizzas.plan) == {TABLE: 1, DEAD_LETTERS: 1}
    assert of(lambda: pizzas.write(plan)) == {TABLE: 1, DEAD_LETTERS: 1}
    assert of(lambda: pizzas.commit(plan)) == {TABLE: 1}
