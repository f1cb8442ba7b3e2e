"""From the real Iceberg sink to floe, back to it, and to floe again: every record is in the table once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from floe.catalogs.client import CatalogClient
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import GroupInUse
from floe.model.exceptions import PlanRefused
from floe.model.ledger_codec import property_name, read_properties
from floe.takeover.hand_back import hand_back
from floe.takeover.sink_state import check_sink_is_stopped
from floe.takeover.take_over import take_over
from stack.progress import wait_until
from stack.services.kafka_connect import KafkaConnect
from stack.services.rest_catalog import RestCatalog
from tests.support.runs.pipeline import MakePipeline, Pipeline

QUICK = {"iceberg.control.commit.interval-ms": 1_000, "iceberg.control.commit.timeout-ms": 3_000}
NEVER = {"iceberg_control_commit_timeout__ms": 600_000}
"""A commit that waits for a task without records, and so for ever: what the other announced stays uncommitted."""


class Shared:
    """One connector that the sink and floe run in turn."""

    def __init__(self, pizzas: Pipeline, folder: Path) -> None:
        self.pizzas = pizzas
        self.sink = KafkaConnect(folder / "connect", pizzas.bootstrap, pizzas.connector.properties)
        self._produced = 0

    def produce(self, count: int, partition: int | None = None) -> None:
        numbers = range(self._produced, self._produced + count)
        self._produced += count
        self.pizzas.produce(({"id": i, "sauce": "extra"} for i in numbers), partition)

    def ids(self) -> list[int]:
        name = self.pizzas.connector.tables[0]
        table = CatalogClient.of(self.pizzas.connector).load(name)
        return sorted(table.scan().to_arrow().column("id").to_pylist()) if table is not None else []

    def expected(self) -> list[int]:
        return list(range(self._produced))

    def positions(self) -> dict[int, int]:
        return self.pizzas.position()

    def is_simple_group(self) -> bool:
        """Say whether the group was made by writing positions, and not by consumers."""
        group = self.pizzas.connector.group_id
        admin = AdminClient({"bootstrap.servers": self.pizzas.bootstrap})
        return bool(admin.describe_consumer_groups([group])[group].result(30).is_simple_consumer_group)

    def wait_until_alone(self) -> None:
        """Wait until the group has forgotten the sink's members."""
        cluster = Cluster.of_control(self.pizzas.settings)

        def is_alone() -> bool:
            try:
                check_sink_is_stopped(self.pizzas.connector, cluster)
            except GroupInUse:
                return False
            return True

        assert wait_until(is_alone, 60)


@pytest.fixture
def shared(
    pipeline: MakePipeline, rest_catalog: RestCatalog, topic: Callable[..., str], tmp_path: Path
) -> Iterator[Shared]:
    keys: dict[str, Any] = {
        **QUICK,
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": rest_catalog.uri,
        "iceberg.catalog.warehouse": rest_catalog.warehouse,
        "iceberg.control.topic": topic(name="control"),
        "iceberg.tables.default-partition-by": "sauce, bucket(id, 3)",
        "iceberg.tables": f"db.t{tmp_path.name.replace('-', '_')}",
    }
    one = Shared(pipeline(partitions=2, **keys), tmp_path)
    try:
        yield one
    finally:
        one.sink.kill()


def held(one: Shared) -> dict[int, dict[str, list[tuple[int, int]]]]:
    """Return the table's ledger: per partition the spans by "java" or "floe"."""
    connector = one.pizzas.connector
    table = CatalogClient.of(connector).require(connector.tables[0])
    ledger = read_properties(property_name(connector.group_id, "main"), table.properties)
    assert ledger is not None
    return {
        log_id.partition: {
            ("java" if route == "java" else "floe"): list(spans) for route, spans in holding.held.items()
        }
        for log_id, holding in ledger.holdings.items()
    }


def test_takeover_and_return_work_with_sink_killed_before_commit(shared: Shared) -> None:
    pizzas = shared.pizzas
    connector, settings = pizzas.connector, pizzas.settings

    # the sink commits 100 records, and is killed when it has announced 50 more and their positions moved
    shared.produce(50, partition=0)
    shared.produce(50, partition=1)
    shared.sink.start()
    shared.sink.wait_for(lambda: shared.ids() == shared.expected())
    shared.sink.stop()
    shared.sink.start(**NEVER)
    shared.produce(50, partition=0)
    shared.sink.wait_for(lambda: shared.positions() == {0: 100, 1: 50})
    with pytest.raises(GroupInUse, match="Stop it, then run again"):
        take_over(connector, settings)
    shared.sink.kill()
    shared.wait_until_alone()
    assert shared.ids() == list(range(100))
    with pytest.raises(PlanRefused, match="was not written by floe"):
        pizzas.plan()

    assert not shared.is_simple_group()
    report = take_over(connector, settings)
    # a group that a consumer left would lose all positions one retention after that, however often they are written
    assert shared.is_simple_group()
    assert [(t.files, t.rows) for t in report.tables] == [(3, 50)]  # one a bucket
    assert shared.ids() == shared.expected()
    assert held(shared) == {0: {"java": [(0, 100)]}, 1: {"java": [(0, 50)]}}
    assert take_over(connector, settings).already
    shared.produce(15, partition=0)
    shared.produce(15, partition=1)
    pizzas.run()
    assert shared.ids() == shared.expected()

    # a run that died after its announcement: the sink would commit that, and write its rows again
    shared.produce(20, partition=1)
    pizzas.write(pizzas.plan())
    before = shared.positions()
    handed = hand_back(connector, settings)
    assert all(snapshot is not None for snapshot in handed.tables.values())
    assert list(hand_back(connector, settings).tables.values()) == [None]
    shared.sink.start()
    shared.sink.wait_for(lambda: shared.ids() == shared.expected())
    shared.produce(40, partition=1)
    shared.sink.wait_for(lambda: shared.ids() == shared.expected())
    shared.sink.stop()
    shared.wait_until_alone()
    assert shared.positions() == {0: before[0], 1: before[1] + 60}

    assert not take_over(connector, settings).already
    spans = held(shared)
    assert spans[1]["java"] == [(0, 50), (before[1], before[1] + 60)]
    assert spans[1]["floe"] == [(50, before[1])]
    assert spans[0] == {"java": [(0, 100)], "floe": [(100, before[0])]}
    shared.produce(30)
    pizzas.run()
    assert shared.ids() == shared.expected()
