"""A clock that steps back: Java opens every version of the table's metadata all the same."""

from __future__ import annotations

import datetime as real
import time
from collections.abc import Callable

import pytest
from pyiceberg.types import LongType

from floe.catalogs.client import CatalogClient
from tests.support.runs.mishaps import roll_back
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids
from tests.support.runs.replays import replay
from tests.support.tables.java_metadata import said_by_java

StepClock = Callable[[float], None]


@pytest.fixture
def step_clock(monkeypatch: pytest.MonkeyPatch) -> StepClock:
    """Put the time of day of this process off by seconds, for floe and for PyIceberg; elapsed time stays as it is."""
    from pyiceberg.table import metadata, update

    true_time = time.time

    def step(seconds: float) -> None:
        class Shifted(real.datetime):
            @classmethod
            def now(cls, tz: real.tzinfo | None = None) -> Shifted:
                return cls.fromtimestamp(true_time() + seconds, tz)

        monkeypatch.setattr(time, "time", lambda: true_time() + seconds)
        monkeypatch.setattr(update, "datetime", Shifted)
        monkeypatch.setattr(metadata.datetime, "datetime", Shifted, raising=False)

    return step


def times(pizzas: Pipeline) -> list[int]:
    metadata = pizzas.table().metadata
    return [*(entry.timestamp_ms for entry in metadata.metadata_log), metadata.last_updated_ms]


def test_java_opens_a_table_whose_clock_stepped_back(
    pipeline: MakePipeline, step_clock: StepClock, caplog: pytest.LogCaptureFixture
) -> None:
    origin = "org.apache.iceberg.connect.transforms.KafkaMetadataTransform"
    pizzas = pipeline(**{"transforms": "meta", "transforms.meta.type": origin})
    pizzas.produce(ids(0, 10))
    pizzas.run()
    step_clock(-180)
    pizzas.produce(ids(10, 20))
    pizzas.run()
    assert "this host's clock says" in caplog.text
    step_clock(-400)
    pizzas.produce([{"id": 20, "new": 1}])  # a schema update, then a snapshot
    pizzas.run()
    step_clock(-3600)
    replay(pizzas, overlap="replace", ranges={"0": [0, 5]})
    with pizzas.table().update_schema() as update:
        update.add_column("more", LongType())
    assert said_by_java(pizzas.table()) == {"ok"}
    found = times(pizzas)
    assert found == sorted(set(found))
    step_clock(0)
    pizzas.produce(ids(21, 30))
    pizzas.run()
    assert said_by_java(pizzas.table()) == {"ok"}
    assert pizzas.column("id") == list(range(30))


def test_decisions_of_a_clock_that_stepped_back_are_dated(
    pipeline: MakePipeline, step_clock: StepClock, caplog: pytest.LogCaptureFixture
) -> None:
    pizzas = pipeline()
    for start in (0, 10):
        pizzas.produce(ids(start, start + 10))
        pizzas.run()
    first = pizzas.table().metadata.snapshots[0].snapshot_id
    step_clock(-2 * 86_400)
    roll_back(pizzas, first, "db.t")
    pizzas.run(rolled_back={"db.t": "replay"})
    assert "more than a day ahead" in caplog.text
    assert pizzas.column("id") == list(range(20))
    assert said_by_java(pizzas.table()) == {"ok"}


def test_a_commit_over_a_later_change_is_of_a_later_time(pipeline: MakePipeline, step_clock: StepClock) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 10))
    pizzas.run()
    pizzas.produce(ids(10, 20))
    plan = pizzas.plan()
    pizzas.write(plan)
    old = CatalogClient.of(pizzas.connector)
    load, stale = CatalogClient.load, old.require("db.t")
    step_clock(300)
    with pizzas.table().transaction() as change:
        change.set_properties({"of": "a host whose clock is ahead"})
    step_clock(0)
    with pytest.MonkeyPatch.context() as patch:
        # as it was loaded just before the other change
        patch.setattr(CatalogClient, "load", lambda tables, name: stale if name == "db.t" else load(tables, name))
        pizzas.commit(plan)
    found = times(pizzas)
    assert found == sorted(set(found))
    assert said_by_java(pizzas.table()) == {"ok"}
